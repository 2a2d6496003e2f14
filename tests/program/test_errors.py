"""What an error contains: the line, a message, and what to do."""

import time

import pytest

from explorer.program import ProgramError, ProgramStopped
from tests.program.compare import ours, refusal

pytestmark = pytest.mark.fast

T = "import torch\n"

#: program -> (line, part of the message, part of the hint)
ERRORS = {
    "open('x')": (1, "There is no file x here", "Write the data into the program"),
    "import torch.nn.functionl as F\nF.relu(1)": (2, "torch.nn.functionl", "torch.nn.functional"),
    T + "torch.load('x')": (2, "There is no file x here", "Write the data"),
    T + "torch.ranndn(2)": (2, "torch has no ranndn", "Did you mean torch.randn?"),
    T + "torch.gels(1, 2)": (2, "torch has no gels", "Use torch.linalg.lstsq."),
    T + "torch.Linear(1, 1)": (2, "torch has no Linear", "Did you mean torch.nn.Linear?"),
    T + "torch.nn.relu(1)": (2, "torch.nn has no relu", "Did you mean torch.relu?"),
    "import numpy as np\nnp.float(2)": (2, "numpy has no float", "Use float."),
    "import tensorflow as tf\nt = tf.GradientTape()": (
        2,
        "tensorflow.GradientTape is not",
        "loss.backward()",
    ),
    "import torhc\ntorhc.ones(2)": (2, "torhc.ones is not available here", "Did you mean torch?"),
    "import my_utils as u\nu.f()": (2, "my_utils.f is not", "in place of the import"),
    T + "x = torch.ones(2)\nx.sun()": (3, "Tensor has no attribute sun", "Did you mean .sum?"),
    "x = nn.Linear(1, 1)": (1, "The name nn is not defined", "from torch import nn"),
    "total = 1\nprint(totl)": (2, "The name totl is not defined", "Did you mean total?"),
    "x = (1,\ny = 2": (1, "not valid Python", "brackets"),
    "if x = 1:\n    pass": (1, "not valid Python", "=="),
    "def f():\nreturn 1": (2, "not valid Python", "Indent"),
    "return 1": (1, "not allowed here", "function"),
    "def f():\n    f()\nf()": (2, "calls itself without end", "condition"),
    T + "x = torch.ones(2, requires_grad=True)\nx.backward()": (3, "single number", ".sum()"),
    T + "x = torch.ones(2, requires_grad=True)\nx += 1": (3, "leaf", "no_grad"),
    T + "x = torch.tensor([1], requires_grad=True)": (2, "floating-point", "decimal point"),
    T + "torch.ones(2, 3) @ torch.ones(2, 3)": (2, "(2, 3) @ (2, 3)", ".T"),
    T + "torch.ones(2) + torch.ones(3)": (2, "sizes 2 and 3", "Reshape"),
    T + "x = torch.ones(2, requires_grad=True)\nx.grad[0]": (3, "is None", "set_to_none=False"),
    T + "torch.ones(1).repeat(2**30, 2**30, 2**30)": (2, "more memory", "smaller"),
    "x = 1\nfor i in range(2):\n    x.y = i": (3, "int has no attribute y", ""),
}


@pytest.mark.parametrize("source", ERRORS)
def test_line_message_and_hint(source):
    line, message, hint = ERRORS[source]
    error = refusal(source)
    assert error.line == line
    assert message in error.message
    assert hint in error.hint
    assert error.text == source.split("\n")[line - 1]


def test_the_innermost_line_of_the_program_is_reported():
    error = refusal("def f(x):\n    return 1 / x\n\ndef g():\n    return f(0)\n\ng()\n")
    assert (error.line, error.text) == (2, "    return 1 / x")
    assert "ZeroDivisionError" in error.detail


def test_an_exception_with_a_broken_str_is_still_explained():
    for body in ("raise ValueError", "return 5", "while True:\n            pass"):
        source = f"class E(Exception):\n    def __str__(self):\n        {body}\nraise E"
        assert refusal(source, deadline=time.monotonic() + 3).text == "raise E"
    assert refusal("raise NameError('x', name=['list'])").line == 1


def test_a_lone_surrogate_does_not_reach_the_page():
    error = ProgramError("a\ud800b", text="\udc00", hint="\ud8ff", detail="fine é")
    assert (error.message, error.text, error.hint, error.detail) == ("a?b", "?", "?", "fine é")
    assert refusal("raise ValueError('\\ud800')").detail == "ValueError: ?"


def test_a_stop_is_not_caught_by_the_program():
    for catch in ("except:", "except Exception:"):
        error = refusal(
            f"try:\n    while True:\n        pass\n{catch}\n    x = 1", deadline=time.monotonic()
        )
        assert "too long" in error.message
    swallow = "class A:\n    def __enter__(self):\n        pass\n    __exit__ = lambda *a: True\n"
    source = swallow + "while True:\n    with A():\n        while True:\n            pass"
    error = refusal(source, deadline=time.monotonic() + 0.1)
    assert "too long" in error.message


def test_the_reader_may_stop_a_program():
    def stop(watcher):
        if watcher.run_counts[2] > 1000:
            raise ProgramStopped("Enough.", by_reader=True)

    error = refusal("while True:\n    pass", on_pulse=stop)
    assert (error.message, error.line, error.stopped) == ("Enough.", 2, True)
    assert not refusal("1 / 0").stopped


def test_a_lot_of_output_is_cut_in_the_middle():
    output, _ = ours("for i in range(20000):\n    print(i)")
    lines = output.split("\n")
    cut = next(line for line in lines if line.startswith("…"))
    assert cut == f"… {sum(len(f'{i}') + 1 for i in range(20000)) - 50_000:,} characters " + (
        "are left out here …"
    )
    assert (lines[0], lines[-2]) == ("0", "19999")
    assert len(output) == 50_000 + len(cut) + 2
