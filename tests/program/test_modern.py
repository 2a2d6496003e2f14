"""They do here what they do in plain PyTorch, and their backward passes are seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer import run

HERE = Path(__file__).parent / "modern"
PROGRAMS = sorted(p for p in HERE.glob("*.py") if p.name not in ("__init__.py", "plain.py"))
#: What differs, and why.
DIFFERENT = {
    "dispatch_mode": "the mode sees that a gradient is copied, because hooks have looked at it",
}
#: Programs without a backward pass: they ask torch.func, or only for values.
WITHOUT_PASS = {
    "flex_attention", "forward_ad_dual", "func_grad_vmap", "higher_order_ops",
    "jacrev_jacfwd_hessian", "linearize_and_jvp", "make_fx_of_a_gradient",
}  # fmt: skip


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What each program prints in plain PyTorch."""
    command = [sys.executable, str(HERE / "plain.py"), *map(str, PROGRAMS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_does_what_it_does_in_plain_pytorch(path: Path, printed: dict[str, str]) -> None:
    trace = run(path.read_text(encoding="utf-8"))
    assert trace.error is None
    assert (trace.output == printed[path.stem]) is (path.stem not in DIFFERENT)
    assert bool(trace.passes) is (path.stem not in WITHOUT_PASS)
    for one in trace.passes:
        assert one.steps
        assert all(step.name for step in one.steps)
