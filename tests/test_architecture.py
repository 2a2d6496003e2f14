"""Imports go one way, and Streamlit stays out of the library."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: From the top of the house to its foundation. A package may import what stands after it.
ORDER = ["ui", "vision", "networks", "training", "trace", "language"]
#: What stands beside the order, and what it may use.
BESIDE = {"sandbox": {"vision", "networks", "training", "trace", "language"}}
#: Who may know the sandbox.
KNOWS_SANDBOX = {"ui"}


def imported(path: Path) -> set[str]:
    """Full names of all modules a file imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def packages(path: Path) -> set[str]:
    """The packages of explorer a file imports."""
    parts = [name.split(".") for name in imported(path)]
    return {p[1] for p in parts if p[0] == "explorer" and len(p) > 1 and p[1] in (*ORDER, *BESIDE)}


def files(package: str) -> list[Path]:
    return sorted((ROOT / "explorer" / package).rglob("*.py"))


@pytest.mark.parametrize("package", ORDER)
def test_imports_go_down_only(package):
    allowed = set(ORDER[ORDER.index(package) :])
    if package in KNOWS_SANDBOX:
        allowed.add("sandbox")
    assert files(package)
    for path in files(package):
        assert packages(path) <= allowed, path


@pytest.mark.parametrize("package", BESIDE)
def test_what_stands_beside(package):
    assert files(package)
    for path in files(package):
        assert packages(path) <= BESIDE[package] | {package}, path


def test_streamlit_is_in_the_pages_and_in_ui_only():
    library = [p for p in (ROOT / "explorer").rglob("*.py") if "ui" not in p.parts]
    assert len(library) > 20
    for path in library:
        assert not any(name.split(".")[0] == "streamlit" for name in imported(path)), path


def test_one_module_runs_text_as_code():
    """`exec` and `compile` see the rewritten tree, in one place."""
    callers = set()
    for path in (ROOT / "explorer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            function = node.func if isinstance(node, ast.Call) else None
            if isinstance(function, ast.Name) and function.id in ("exec", "eval", "compile"):
                callers.add(path.relative_to(ROOT).as_posix())
    assert callers == {"explorer/language/program.py"}
