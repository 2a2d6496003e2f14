"""Every form gives what plain CPython gives: same output, same values."""

import pytest

from tests.program.compare import compare, ours
from tests.program.forms import FORMS
from tests.program.programs import PROGRAMS

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", FORMS)
def test_form(name):
    compare(FORMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    compare(PROGRAMS[name])


def test_a_pasted_session_is_read_without_its_prompts():
    session = """\
>>> import torch
>>> x = torch.tensor([1.0, 2.0],
...                  requires_grad=True)
>>> for i in range(2):
...     print(i)
...
0
1
>>> y = x.sum()
>>> print(y)
tensor(3., grad_fn=<SumBackward0>)
"""
    output, variables = ours(session)
    assert output == "0\n1\ntensor(3., grad_fn=<SumBackward0>)\n"
    assert variables["y"].item() == 3


def test_a_prompt_inside_a_docstring_is_no_session():
    output, _ = ours('def f():\n    """\n    >>> f()\n    """\n    return 1\nprint(f())\n')
    assert output == "1\n"
