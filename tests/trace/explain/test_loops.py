"""Which loops run a line of a program."""

import ast

import pytest

from explorer.program.draft import Draft
from explorer.trace.explain.loops import loops_around

pytestmark = pytest.mark.fast

CLASS = (
    "class C{0}(Base):\n    def __init__(self):\n        super().__init__()\n        self.n = 0\n"
)


@pytest.mark.parametrize("length", [1, 3, 8])
def test_a_loop_runs_what_is_called_in_it(length: int) -> None:
    calls = "".join(f"def f{i}():\n    f{i + 1}()\n" for i in range(length))
    source = f"{calls}def f{length}():\n    while True:\n        pass\nfor x in y:\n    f0()\n"
    line = source[: source.index("pass")].count("\n") + 1
    loops = loops_around(Draft(source), line)
    assert [type(loop) for loop in loops] == [ast.For, ast.While]


def test_functions_that_call_each_other_in_no_loop() -> None:
    assert loops_around(Draft("def f():\n    g()\ndef g():\n    f()\n"), 2) == []


def test_each_call_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    statement = Draft.statement

    def noted(draft: Draft, line: int | None) -> ast.stmt | None:
        searched.append(line)
        return statement(draft, line)

    monkeypatch.setattr(Draft, "statement", noted)
    source = "".join(CLASS.format(i) for i in range(40))
    assert loops_around(Draft(source), 4) == []
    assert sorted(searched) == [3, 4, *range(7, 160, 4)]
