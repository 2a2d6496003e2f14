"""What an error contains: the line, a message, and what to do."""

import time

import pytest

from explorer.language import ProgramError, ProgramStopped
from tests.language.compare import guarded, refusal

pytestmark = pytest.mark.fast

T = "import torch\n"

#: program -> (line, part of the message, part of the hint)
ERRORS = {
    "open('x')": (1, "There are no files here", "Write the data into the program"),
    "import subprocess\nsubprocess.run('x')": (
        2,
        "subprocess.run is not available here (imported on line 1)",
        "cannot access the system",
    ),
    "import torch.nn.functionl as F\nF.relu(1)": (2, "torch.nn.functionl", "torch.nn.functional"),
    T + "torch.load('x')": (2, "There are no files here", "Write the data"),
    T + "torch.ranndn(2)": (2, "torch has no ranndn", "Did you mean torch.randn?"),
    T + "torch.solve(torch.ones(2, 2))": (2, "torch.solve is not", "Use torch.linalg.solve."),
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
    "x = 2 ** 9999999": (1, "integer", "smaller"),
    T + "torch.ones(10**6, 10**6)": (2, "of 3,814,697 MB", "smaller"),
    T + "torch.zeros(65 * 2**20, dtype=torch.float64)": (2, "of 520 MB", "smaller"),
    T + "x = torch.ones(2, requires_grad=True)\nx.backward()": (3, "single number", ".sum()"),
    T + "x = torch.ones(2, requires_grad=True)\nx += 1": (3, "leaf", "no_grad"),
    T + "x = torch.tensor([1], requires_grad=True)": (2, "floating-point", "decimal point"),
    T + "torch.ones(2, 3) @ torch.ones(2, 3)": (2, "(2, 3) @ (2, 3)", ".T"),
    T + "torch.ones(2) + torch.ones(3)": (2, "sizes 2 and 3", "Reshape"),
    T + "x = torch.ones(2, requires_grad=True)\nx.grad[0]": (3, "is None", "set_to_none=False"),
    T + "x = torch.ones(1)\nx.name_ = 3": (3, "Tensor.name_ cannot be assigned", "variable"),
    T + "x = torch.ones([2] * 20)\nprint(x)": (3, "too large to print", "shape"),
    "class A(int):\n    pass": (1, "cannot be derived from int", "class of your own"),
    "f'{1:99999}'": (1, "width is too large", "9,999"),
    "'{0.real}'.format(1)": (1, "but no attributes", "Pass the value"),
    T + "torch.nn.Module().add_module('__array__', None)": (
        2,
        "cannot have this name",
        "printable",
    ),
    T + "o = torch.optim.SGD([torch.ones(1)])\no.state[1] = print\no.step()": (
        4,
        "cannot work with a function",
        "numbers and tensors",
    ),
    T + "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.variable = x\nF.apply(torch.ones(1))": (5, "variable cannot be assigned", ""),
    T + "torch.ones(1).repeat(2**30, 2**30, 2**30)": (2, "more memory", "smaller"),
    "x = 1\nfor i in range(2):\n    x.y = i": (3, "int.y cannot be assigned", ""),
}


@pytest.mark.parametrize("source", ERRORS)
def test_line_message_and_hint(source):
    line, message, hint = ERRORS[source]
    error = refusal(source)
    assert error.line == line
    assert message in error.message
    assert hint in error.hint
    assert error.text == source.split("\n")[line - 1]


@pytest.mark.parametrize(
    "line", ["def f[T: print(1)](x): pass", "class C[T: print(1)]: pass", "type X = print(1)"]
)
def test_type_parameters_are_refused(line):
    """Python 3.12 made them valid; they would be evaluated outside the guard."""
    error = refusal(line)
    assert (error.line, error.text) == (1, line)
    assert error.message in (
        "This line is not valid Python.",  # 3.11
        "This kind of statement is not supported here.",
    )


def test_the_innermost_line_of_the_program_is_reported():
    error = refusal("def f(x):\n    return 1 / x\n\ndef g():\n    return f(0)\n\ng()\n")
    assert (error.line, error.text) == (2, "    return 1 / x")
    assert "ZeroDivisionError" in error.detail


def test_an_exception_with_a_broken_str_is_still_explained():
    for body in ("raise ValueError", "return 5", "while True:\n            pass"):
        source = f"class E(Exception):\n    def __str__(self):\n        {body}\nraise E"
        assert refusal(source, deadline=time.monotonic() + 0.2).text == "raise E"
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
    output, _ = guarded("for i in range(20000):\n    print(i)")
    lines = output.split("\n")
    cut = next(line for line in lines if line.startswith("…"))
    assert cut == f"… {sum(len(f'{i}') + 1 for i in range(20000)) - 50_000:,} characters " + (
        "are left out here …"
    )
    assert (lines[0], lines[-2]) == ("0", "19999")
    assert len(output) == 50_000 + len(cut) + 2
