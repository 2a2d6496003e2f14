"""The recipes of docs/extending.md, followed word by word in a copy of the project."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text()
#: What is compiled is copied too, but for what another process is writing.
IGNORED = shutil.ignore_patterns("*.pyc.*", "_screens", "pictures")
#: Words in the names of the tests for what the recipes add.
ADDED = (
    "product",
    "saturated",
    "Element by element",
    r"residual\]",  # not the deep network of that name
    "kink",
    "Signum",
    "uphill",
    "activations",
    "statements",
    "Outputs",
    "Histogram",
    "norms",
)
COPIED = (
    *("explorer", "pages", "tests", "docs", "benchmarks", "deploy"),
    *("app.py", "pyproject.toml", ".streamlit"),
)
#: A line that names a file, then a block: a whole new file or a change.
BLOCK = re.compile(
    r"^(?:(New file )?`([\w/.]+)`:\n\n)?```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


def apply_diff(text: str, diff: str, path: str) -> str:
    """The text with one change made. The changed lines must occur exactly once."""
    lines = diff.splitlines()
    assert all(line[:1] in " +-" for line in lines), diff
    old = "\n".join(line[1:] for line in lines if line[0] in " -")
    new = "\n".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(old) == 1, f"docs/extending.md: not exactly once in {path}:\n{old}"
    return text.replace(old, new)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with every recipe followed."""
    folder = tmp_path_factory.mktemp("project")
    for name in COPIED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=IGNORED)
        else:
            shutil.copy(path, folder / name)
    path = ""
    for is_new, file_name, kind, body in BLOCK.findall(PAGE):
        path = file_name or path
        if kind == "diff":
            file = folder / path
            file.write_text(apply_diff(file.read_text(), body, path))
        elif is_new:
            assert not (folder / path).exists()
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(body)
    return folder


def commands() -> list[list[str]]:
    """The words of every command, without `python -m`."""
    blocks = [body for _, _, kind, body in BLOCK.findall(PAGE) if kind == "sh"]
    lines = [shlex.split(line) for body in blocks for line in body.splitlines()]
    assert all(line[:2] == ["python", "-m"] for line in lines)
    return [line[2:] for line in lines]


def run(folder: Path, *arguments: str) -> str:
    """What `python -m …` prints in a folder. Fails if the command fails."""
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    said = [line for line in done.stdout.splitlines() if not line.startswith("PASSED")]
    assert done.returncode == 0, "\n".join(said)[-10_000:] + done.stderr[-3000:]
    return done.stdout


def test_every_block_is_followed():
    assert PAGE.count("```") == 2 * len(BLOCK.findall(PAGE))
    assert len(commands()) >= 8


@pytest.mark.thorough
def test_the_commands_succeed(copy):
    """The tests they name run in one process: starting one takes longer than most tests."""
    files: list[str] = []
    selected: list[str] = []
    for name, *arguments in commands():
        if name != "pytest":
            run(copy, name, *arguments)
        elif "-k" in arguments:
            at = arguments.index("-k")
            files += arguments[:at]
            selected.append(f"({arguments[at + 1]})")
        else:
            files += arguments
            selected += [Path(file).name for file in arguments]
    printed = run(copy, "pytest", *dict.fromkeys(files), "-k", " or ".join(selected), "-rpfE")
    for word in ADDED:
        assert re.search(rf"PASSED .*\[.*{word}", printed), word
    assert "test_scripts_repeat_the_numbers[Signum]" in printed  # as plain PyTorch


def test_what_was_added_is_well_formed(copy):
    """By the rules for the rest of the project."""
    changed = {path for _, path, _, _ in BLOCK.findall(PAGE) if path}
    run(copy, "ruff", "check", *changed)
    run(copy, "ruff", "format", "--check", *changed)
