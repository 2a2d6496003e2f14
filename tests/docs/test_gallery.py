"""docs/gallery: its pages are there, linked, and small; `python -m docs.gallery` makes them."""

from pathlib import Path

import pytest

from docs.gallery import FOLDER, GALLERY, Entry

pytestmark = pytest.mark.fast

README = (Path(__file__).parents[2] / "README.md").read_text()
#: Most bytes of a page; those of these networks may be larger.
_MOST, _OF_NETWORKS = 300_000, {"resnet18": 600_000, "vit": 600_000, "gpt2": 3_000_000}


def test_the_gallery_has_these_pages_and_scripts():
    assert {entry.path for entry in GALLERY} == set(FOLDER.glob("*.html"))
    assert {path.stem for path in FOLDER.glob("*.py")} <= {entry.name for entry in GALLERY}


@pytest.mark.parametrize("entry", GALLERY, ids=lambda entry: entry.name)
def test_a_page_is_linked_and_small(entry: Entry):
    text = " ".join(README.split())
    assert f"[{entry.sentence}](docs/gallery/{entry.name}.html)" in text
    page = entry.path.read_text()
    assert len(page) <= _OF_NETWORKS.get(entry.name, _MOST)
    assert "default-src 'none'" in page
    assert "http-equiv" in page
