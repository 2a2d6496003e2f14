"""The net whose weights are all 0.1, in three variants, and the article's last line."""

from pathlib import Path

import pytest

from explorer.trace import run
from tests.programs import programs

pytestmark = pytest.mark.fast

PROGRAMS = programs(Path(__file__).with_name("programs") / "constant_init.py")

HEAD = PROGRAMS["head"]
STEP = PROGRAMS["step"]
OLD = PROGRAMS["old"]
TODAY = PROGRAMS["today"]
DOUBLE = PROGRAMS["double"]


def outcome(variant: str, rest: str = STEP):
    trace = run(HEAD + variant + rest)
    assert trace.error is None, trace.error
    return trace, trace.output.splitlines()


def test_the_old_log_softmax_prints_the_published_numbers():
    _, lines = outcome(OLD)
    assert lines[0] == "before None"
    assert lines[1] == "tensor([-0.0782, -0.0842, -0.0782], dtype=torch.float64)"
    assert lines[3] == "tensor([0.1782, 0.1842, 0.1782])"
    assert lines[4] == "True"


@pytest.mark.parametrize(("variant", "most"), [(TODAY, 1e-6), (DOUBLE, 1e-12)])
def test_they_were_rounding_noise(variant, most):
    trace, lines = outcome(variant)
    assert 0 <= trace.variables["largest"] < most
    assert lines[2] == "0.6000 1.9440 -36.936 -11.4000"
    assert lines[4] == "True"


def test_the_last_line_fails_today_and_says_what_to_do():
    last = PROGRAMS["the last line fails today and says what to do"]
    trace = run(HEAD + OLD + STEP + last)
    assert trace.error is not None
    assert trace.error.text == "print(net.conv1.weight.grad[0][0][0])"
    assert "zero_grad(set_to_none=False)" in trace.error.hint
    assert "NoneType" in trace.error.detail
    assert trace.output.splitlines()[3] == "tensor([0.1782, 0.1842, 0.1782])"  # up to that line
    cured = last.replace("zero_grad()", "zero_grad(set_to_none=False)")
    _, lines = outcome(OLD, STEP + cured)
    assert lines[-1] == "tensor([0., 0., 0.])"
