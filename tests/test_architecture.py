"""Every file follows the table of docs/architecture.md."""

import ast
import importlib
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import explorer
from explorer.program import devices, downloads, figures, saved_hooks, watched_calls

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parent.parent
#: Where explorer is: the same folder, or that of installed packages.
SITE = Path(explorer.__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def place(path: str) -> Path:
    """Where a path of the table or the page is."""
    return (SITE if path.startswith("explorer/") else ROOT) / path


@dataclass(frozen=True)
class Row:
    """A row of the table: paths, and the packages and libraries that files there may import."""

    paths: tuple[str, ...]
    packages: frozenset[str]
    libraries: frozenset[str]

    @property
    def name(self) -> str:
        return Path(self.paths[-1]).name

    def files(self) -> list[Path]:
        paths = [place(path) for path in self.paths]
        return [f for path in paths for f in ([path] if path.is_file() else path.rglob("*.py"))]


def _rows() -> list[Row]:
    table = re.search(r"\| package \|.*?\n\|[-|]+\n(.*?)\n\n", PAGE, re.DOTALL)[1]
    rows = []
    for line in table.splitlines():
        paths, _, packages, libraries = line.strip("|").split("|")
        inside, outside = (frozenset(re.findall(r"\w+", text)) for text in (packages, libraries))
        rows.append(Row(tuple(re.findall("`(.+?)`", paths)), inside, outside))
    return rows


ROWS = _rows()
KNOWN = {row.name for row in ROWS}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imported(path: Path) -> frozenset[str]:
    """Full names of all modules a file imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            assert node.module
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def packages(path: Path) -> set[str]:
    """The packages of explorer a file imports."""
    parts = [name.split(".") for name in imported(path)]
    return {p[1] for p in parts if p[0] == "explorer" and len(p) > 1 and p[1] in KNOWN}


def libraries(path: Path) -> set[str]:
    """The top-level packages a file imports, other than Python's and the project's."""
    first = {name.split(".")[0] for name in imported(path)}
    return first - set(sys.stdlib_module_names) - {"explorer"}


def test_every_package_is_in_the_table():
    folders = {path.parent.name for path in (SITE / "explorer").glob("*/__init__.py")}
    assert {*folders, "pages"} == KNOWN


def test_imports_go_one_way():
    """A row imports only from rows below it."""
    below: set[str] = set()
    for row in reversed(ROWS):
        assert row.packages <= below, row.name
        below.add(row.name)


#: A notebook asks a Trace or a Report how it is drawn: they import what draws them when asked.
EXCEPTIONS = {
    place("explorer/trace/records.py"): {"view"},
    place("explorer/networks/records.py"): {"view"},
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_files_import_what_their_row_allows(row):
    assert row.files()
    for path in row.files():
        excepted = EXCEPTIONS.get(path, set())
        assert packages(path) - excepted <= row.packages | {row.name}, path
        assert libraries(path) <= row.libraries, path


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_lists_only_libraries_it_uses(row):
    assert set().union(*map(libraries, row.files())) == row.libraries


def test_a_pages_folder_imports_no_other_pages():
    """Code that two pages need is in explorer/ui/widgets, or server."""
    ui = place("explorer/ui")
    folders = {path.parent.name for path in ui.glob("*/__init__.py")}
    shared = {"widgets", "server"}
    assert shared <= folders
    for path in ui.rglob("*.py"):
        folder = path.parent.name
        parts = [name.split(".") for name in imported(path)]
        others = {p[2] for p in parts if p[:2] == ["explorer", "ui"] and len(p) > 2} & folders
        assert others <= {*shared, folder}, path


def callers(*functions: str) -> set[str]:
    """The files of the library that call one of these built-ins."""
    files = set()
    for path in (SITE / "explorer").rglob("*.py"):
        for node in ast.walk(tree(path)):
            function = node.func if isinstance(node, ast.Call) else None
            if isinstance(function, ast.Name) and function.id in functions:
                files.add(path.relative_to(SITE).as_posix())
    return files


#: What compiles the reader's own code, and runs their script.
OF_THE_READER = {"explorer/__main__.py", "explorer/program/parsing.py"}


def test_exec_and_torchvision_are_used_where_they_should():
    """The files that the page names."""
    runs = {"explorer/program/execution.py"}
    assert callers("exec", "eval", "compile") == runs | OF_THE_READER
    imports = {
        path.relative_to(SITE).as_posix()
        for path in (SITE / "explorer").rglob("*.py")
        if "torchvision" in libraries(path)
    }
    assert imports == {"explorer/torchvision_guard.py"}
    assert all(f"`{path}` alone" in PAGE for path in runs | imports)


def test_names_on_the_page_exist():
    """Every module, type, function and path that the page names."""
    for name in set(re.findall(rf"`((?:{'|'.join(KNOWN)})\.[A-Za-z_.]+)`", PAGE)):
        parts = name.split(".")
        value = importlib.import_module(f"explorer.{parts[0]}")
        for count, part in enumerate(parts[1:], 2):
            if not hasattr(value, part):
                importlib.import_module(".".join(["explorer", *parts[:count]]))
            value = getattr(value, part)
    for path in set(re.findall(r"`((?:tests|docs|explorer|benchmarks|pages)/[\w/.]*)`", PAGE)):
        assert place(path).exists(), path


def test_every_module_of_answers_is_on_the_page():
    """Beside the question that it answers."""
    table = PAGE.partition("In `explorer/trace/explain` a family")[2].partition("\n## ")[0]
    files = {path.stem for path in (SITE / "explorer/trace/explain").glob("[a-z]*.py")}
    named = set(re.findall(r"`([a-z_]+)`", table))
    assert named == files, "docs/architecture.md: the table of families names other modules"


def test_each_call_of_torch_is_watched_once():
    """Whoever wants to know of a call reads the log of the one patch that reports it."""
    lists = [
        watched_calls.watched_calls(),
        [watched_calls.APPLY],
        saved_hooks.saved_hook_patches(),
        devices.device_patches(),
        devices.accelerator_patches(),
        downloads.download_patches(),
        figures.figure_patches(),
        figures.notebook_patches("tqdm"),
    ]
    patched = [(id(patch.owner), patch.name) for patches in lists for patch in patches]
    assert len(set(patched)) == len(patched)


def test_only_patches_replace_what_torch_has():
    """Nothing else assigns to a module or class of torch."""
    for path in (SITE / "explorer").rglob("*.py"):
        if path.name in ("process_state.py", "torchvision_guard.py"):  # put back what is there
            continue
        for node in ast.walk(tree(path)):
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [ast.unparse(t) for t in targets if isinstance(t, ast.Attribute)]
            own = [n for n in names if n.startswith(("torch.", "nn."))]
            assert not [n for n in own if not n.startswith("torch.backends.")], path  # a setting
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called == "setattr":
                assert not ast.unparse(node.args[0]).startswith(("torch", "nn.")), path


def test_each_limit_is_set_once():
    """In one table a second value would take the place of the first, for whoever reads it."""
    tree = ast.parse((SITE / "explorer/limits.py").read_text())
    stored = [
        name.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    ]
    assert len(set(stored)) == len(stored) > 100
