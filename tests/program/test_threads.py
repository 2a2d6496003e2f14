"""What a program does in threads of its own runs, and is not watched."""

import pytest

from explorer import run

pytestmark = pytest.mark.fast

PROGRAM = """\
import torch
from concurrent.futures import ThreadPoolExecutor
def work(k):
    total = torch.zeros(1)
    for i in range(300):
        total = total + i
        parts = [total]
    return float(total) + k
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(work, range(4))))
w = torch.ones(2, requires_grad=True)
for turn in range(3):
    (w * w).sum().backward()
print(w.grad)
"""


def test_threads_of_a_program_run_and_its_own_is_watched() -> None:
    pulses = []
    trace = run(PROGRAM, on_pulse=pulses.append)
    assert pulses
    assert trace.error is None
    assert trace.output == "[44850.0, 44851.0, 44852.0, 44853.0]\ntensor([6., 6.])\n"
    assert [one.line for one in trace.passes] == [13, 13, 13]
    assert {record.line for record in trace.tensors} == {11, 13}
