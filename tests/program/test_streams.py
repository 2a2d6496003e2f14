"""Standard streams, tracebacks and `builtins`, as a script finds them."""

from __future__ import annotations

import pytest

from explorer import sandbox
from explorer.trace import run
from explorer.trace.rules import statement
from explorer.trace.text import as_on_a_terminal

pytestmark = pytest.mark.fast

STREAMS = """\
import sys
sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
sys.stdout.buffer.write("é".encode()[:1])
sys.stdout.buffer.write("é".encode()[1:])
print(sys.stdout.name, sys.stdout.encoding, sys.stdout.isatty(), sys.stdin.buffer.read())
print("to the first", file=sys.__stdout__)
sys.stderr.writelines(["a", "b\\n"])
"""
FAILS = """\
import traceback
import torch

def items():
    yield 1
    1 / 0

try:
    for item in items():
        torch.ones(2) + item
except ZeroDivisionError:
    traceback.print_exc()
try:
    torch.nn.Linear(2, 2)(torch.ones(3))
except RuntimeError:
    traceback.print_exc()
w = torch.ones(2, requires_grad=True)
try:
    (w * w).backward()
except RuntimeError:
    traceback.print_exc()
"""
PATCHED = """\
import builtins
from unittest import mock
first = builtins.print
builtins.print = lambda *args: first("patched", *args)
print(1)
with mock.patch("builtins.input", return_value="typed"):
    print(input())
builtins.shared = 2
print(eval("shared"))
"""


def test_streams_are_those_of_a_script() -> None:
    trace = run(STREAMS)
    assert trace.error is None
    assert trace.output == "é<stdout> utf-8 False b''\nto the first\nab\n"


def test_a_traceback_has_the_frames_of_the_program_and_of_libraries_alone() -> None:
    trace = run(FAILS)
    assert trace.error is None
    assert trace.output.count("Traceback") == 3
    assert "explorer" not in trace.output
    assert "torch/nn/modules/linear.py" in trace.output


def test_what_is_set_in_builtins_counts_in_a_child() -> None:
    trace = sandbox.run(PATCHED)
    assert trace.error is None
    assert trace.output == "patched 1\npatched typed\npatched 2\n"
    assert sandbox.run("print(1)").output == "1\n"


def test_of_a_line_that_is_written_again_the_last_state_is_shown() -> None:
    assert as_on_a_terminal("\r1/3\r2/3\r3/3\nnext\r\n\x1b[31mred\x1b[0m") == "3/3\nnext\r\nred"


def test_what_the_explorer_logs_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:

    monkeypatch.setattr(statement, "_state", lambda *args: 1 / 0)
    source = "import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n"
    assert run(source + "print(x.grad)\n").output == "tensor([2., 2.])\n"
    assert "the rule of SumBackward0 failed" in caplog.text
    caplog.clear()
