"""Threads parse one at a time: CPython miscounts the depth if they parse at the same time."""

from __future__ import annotations

import argparse
import ast
import inspect
import threading
from pathlib import Path

import pytest

import explorer
from explorer.program import parsing
from explorer.start import FOLDER

pytestmark = pytest.mark.fast

PACKAGE = Path(explorer.__file__).parent
ALONE = {"parse", "compile", "literal_eval", "getsource", "getsourcelines"}


def _parsing_calls(file: Path) -> set[str]:
    """The calls of a file that make or compile a syntax tree."""
    calls = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            owner, _, name = text.rpartition(".")
            if name in ALONE and owner in ("", "ast", "inspect") and text != "parse":
                calls.add(text)
    return calls


def test_trees_are_only_made_with_the_lock() -> None:
    files = [FOLDER / "app.py", *FOLDER.glob("pages/*.py"), *PACKAGE.rglob("*.py")]
    assert len(files) > 100
    by_file = {path: calls for path in files if (calls := _parsing_calls(path))}
    assert by_file == {
        PACKAGE / "program/execution.py": {"compile"},
        PACKAGE / "program/parsing.py": {
            *("ast.parse", "ast.literal_eval", "inspect.getsource", "compile"),
        },
    }


@pytest.mark.parametrize("make", [parsing.parse_tree, parsing.parse_literal])
def test_waits_for_a_thread_that_parses(make) -> None:
    parsed = threading.Event()

    def other() -> None:
        make("1")
        parsed.set()

    with parsing.AST_LOCK:
        thread = threading.Thread(target=other)
        thread.start()
        assert not parsed.wait(0.1)
    thread.join(10)
    assert parsed.is_set()


def test_many_threads_at_once() -> None:
    source = inspect.getsource(argparse)
    expected = len(list(ast.walk(ast.parse(source))))
    counts: list[object] = []

    def work() -> None:
        try:
            counts.append(len(list(ast.walk(parsing.parse_tree(source)))))
        except SystemError as error:
            counts.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [expected] * 8
