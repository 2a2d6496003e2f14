"""README.md and docs/: the pictures and linked files exist, the code runs."""

import contextlib
import io
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from docs.pictures import FOLDER, PICTURES, WIDTH
from explorer.ui.pages import PAGES

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
TEXTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
TAKEN = {file for picture in PICTURES for file in picture.files}


def test_the_script_takes_the_pictures_the_readme_shows():
    shown = re.findall(r"(?:src|srcset)=\"docs/pictures/([^\"]+)\"", README)
    assert sorted(shown) == sorted(TAKEN) == sorted(path.name for path in FOLDER.iterdir())


def test_every_page_has_a_picture_and_every_picture_an_alt_text():
    sections = set(re.findall(r"^### (.+?): ", README, re.MULTILINE))
    titles = {page.key: page.title for page in PAGES}
    assert {titles[picture.page] for picture in PICTURES} == sections
    pictures = re.findall(r"<img [^>]*>", README)
    assert len(pictures) == len(PICTURES)
    for picture in pictures:
        assert len(re.search(r'alt="([^"]*)"', picture)[1]) > 40, picture


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_pictures_are_complete_and_small(name):
    path = FOLDER / name
    with Image.open(path) as picture:
        picture.load()
        assert picture.width == WIDTH
    assert path.stat().st_size < 150_000


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_linked_files_exist(path):
    links = re.findall(r"\]\(([^)]+)\)", path.read_text())
    for link in links:
        target, _, _ = link.partition("#")
        assert link.startswith("https://") or (path.parent / target).exists(), link


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_examples_print_what_their_comments_say(code, tmp_path, monkeypatch):
    script = tmp_path / "readme.py"
    script.write_text(code)
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script))
    assert printed.getvalue().strip() == re.search(r"# (.*)", code)[1]


def test_the_commands_name_files_that_exist():
    """One that runs the app, one that tests it; the third installs a smaller torch first."""
    commands = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    runs, torch, tests = commands
    assert runs.endswith("streamlit run app.py")
    assert tests.endswith("-m pytest")
    for file in re.findall(r"-r (\S+)", runs + tests):
        assert (ROOT / file).exists()
    pinned = re.search(r"torch==[\d.]+", torch)[0]
    assert pinned in (ROOT / "requirements.txt").read_text().split()


def test_commands_named_in_the_texts_exist():
    text = "".join(path.read_text() for path in TEXTS)
    names = set(re.findall(r"`python -m ((?:docs|benchmarks|explorer|tests)[\w.]*)", text))
    assert len(names) >= 4
    for name in names:
        found = find_spec(name)
        assert found is not None, name
        assert not found.submodule_search_locations or find_spec(f"{name}.__main__"), name
