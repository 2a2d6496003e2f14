"""The process that lays out one graph after the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from explorer import limits
from explorer.view.graphviz import DotProcess, start

pytestmark = [
    pytest.mark.fast,
    pytest.mark.skipif(shutil.which("dot") is None, reason="the dot program is not installed"),
]
_COMMAND = ["dot", "-Kdot", "-Tsvg"]
_ENV = dict(os.environ)


@pytest.fixture
def process() -> Iterator[DotProcess]:
    one = DotProcess()
    yield one
    one.end()


def _graph(word: str) -> str:
    return f'digraph g {{ n1 [id="n1" label="{word} <&> é"] n1 -> n2 }}'


def _alone(dot: str) -> bytes:
    return subprocess.run(_COMMAND, input=dot.encode(), capture_output=True, check=True).stdout


def test_every_picture_is_that_of_a_process_of_its_own(process: DotProcess) -> None:
    for word in ("first", "second", "third"):
        assert process.svg(_COMMAND, _ENV, _graph(word)) == _alone(_graph(word))


@pytest.mark.parametrize(
    "evil",
    [
        "",
        "digraph { n1 [",
        "digraph { a } digraph { b }",
        'digraph { a } digraph { b [label="',
        "digraph { a } /*",
        "digraph { a } garbage",
    ],
)
def test_a_text_that_is_not_one_graph_shifts_nothing(process: DotProcess, evil: str) -> None:
    assert process.svg(_COMMAND, _ENV, evil, 0.5) is None
    assert process.svg(_COMMAND, _ENV, _graph("next")) == _alone(_graph("next"))


@pytest.mark.parametrize("layout", ["neato", "circo", "nop2", "patchwork"])
def test_no_graph_chooses_the_layout_of_the_next(process: DotProcess, layout: str) -> None:
    process.svg(_COMMAND, _ENV, f"digraph g {{ layout={layout}; a -> b -> c -> a }}")
    assert process.svg(_COMMAND, _ENV, _graph("next")) == _alone(_graph("next"))


def test_without_a_process_there_is_no_picture(process: DotProcess) -> None:
    assert process.svg(["no-such-program"], _ENV, _graph("a")) is None
    assert process.svg(_COMMAND, _ENV, _graph("b")) == _alone(_graph("b"))


def test_a_process_that_has_died_is_replaced(process: DotProcess) -> None:
    assert process.svg(_COMMAND, _ENV, _graph("a"))
    assert process._process is not None
    process._process.kill()
    process._process.wait()
    answers = [process.svg(_COMMAND, _ENV, _graph("b")) for _ in range(2)]
    assert answers[-1] == _alone(_graph("b"))


def test_a_large_graph_is_left_to_another_process(process: DotProcess) -> None:
    assert process.svg(_COMMAND, _ENV, f"digraph {{ {'a -> b; ' * limits.DOT_SMALL} }}") is None
    assert process._process is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_a_graph_that_needs_gigabytes_ends_its_process_alone() -> None:
    steps = "".join(f"{i} -> {i + 1}; {i} -> 1500; " for i in range(1500))
    with start(_COMMAND, _ENV) as process:
        drawn, _ = process.communicate(f"digraph {{ {steps} }}".encode(), timeout=60)
    assert process.returncode != 0
    assert not drawn


def test_threads_get_their_own_pictures(process: DotProcess) -> None:
    wrong: list[str] = []

    def draw(word: str) -> None:
        for _ in range(5):
            drawn = process.svg(_COMMAND, _ENV, _graph(word))
            if drawn is not None and f"{word} &lt;".encode() not in drawn:
                wrong.append(word)

    threads = [threading.Thread(target=draw, args=(f"word{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
