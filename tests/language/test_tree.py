"""Readers' threads make syntax trees one at a time: CPython miscounts when they do so together."""

from __future__ import annotations

import argparse
import ast
import inspect
import threading
from pathlib import Path

import pytest

from explorer.language import tree

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parent.parent.parent
ALONE = {"parse", "compile", "literal_eval", "getsource", "getsourcelines"}


def _called(file: Path) -> set[str]:
    """The calls of a file that make or compile a syntax tree."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            owner, _, name = text.rpartition(".")
            if name in ALONE and owner in ("", "ast", "inspect") and text != "parse":
                found.add(text)
    return found


def test_nobody_makes_trees_by_himself() -> None:
    files = [*ROOT.glob("*.py"), *ROOT.glob("pages/*.py"), *ROOT.glob("explorer/**/*.py")]
    assert len(files) > 100
    found = {str(f.relative_to(ROOT)): calls for f in files if (calls := _called(f))}
    assert found == {
        "explorer/language/program.py": {"compile"},
        "explorer/language/tree.py": {"ast.parse", "ast.literal_eval"},
        "explorer/networks/source.py": {"inspect.getsource"},
    }


@pytest.mark.parametrize("make", [tree.tree_of, tree.literal])
def test_waits_for_a_thread_that_parses(make) -> None:
    made = threading.Event()

    def other() -> None:
        make("1")
        made.set()

    with tree.PARSING:
        thread = threading.Thread(target=other)
        thread.start()
        assert not made.wait(0.1)
    thread.join(10)
    assert made.is_set()


def test_many_threads_at_once() -> None:
    source = inspect.getsource(argparse)
    right = len(list(ast.walk(ast.parse(source))))
    found: list[object] = []

    def work() -> None:
        try:
            found.append(len(list(ast.walk(tree.tree_of(source)))))
        except SystemError as error:
            found.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [right] * 8
