"""Recording code where it stands: `explorer.record`

Around one step of training, zero_grad to optimizer.step with AdamW in training mode, compared with
the same step alone, in the same process. Another iteration stands inside `record(step=…)`, which
asks for a later one: entering and leaving that is included. Seconds are those of the processor,
which are the same on a busy machine. Memory is the peak of a fresh process.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import explorer
from benchmarks.measure import Budget, Row, compare, process_memory
from benchmarks.models import GPT2
from explorer.torchvision_guard import torchvision

#: An iteration that is not reached.
LATER = 1000
#: Steps after which what was learned is compared.
STEPS = 20
_ALONE = "the step alone"


@dataclass(frozen=True, eq=False)
class Training:
    """A model in training, with one batch."""

    model: nn.Module
    x: Tensor
    y: Tensor
    optimizer: torch.optim.Optimizer

    @classmethod
    def of(cls, model: nn.Module, x: Tensor, classes: int) -> Training:
        y = torch.randint(classes, (x.numel() if x.dim() == 2 else len(x),))
        return cls(model, x, y, torch.optim.AdamW(model.parameters(), lr=1e-3))

    def step(self) -> float:
        self.optimizer.zero_grad()
        output = self.model(self.x)
        loss = F.cross_entropy(output.flatten(0, -2), self.y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def recorded_step(self) -> float:
        with explorer.record() as rec:
            loss = self.step()
        assert rec.trace.error is None, rec.trace.error
        assert rec.trace.pass_count == 1
        return loss

    def other_step(self) -> None:
        with explorer.record(step=LATER):
            self.step()


def resnet18(batch: int = 8, side: int = 224) -> Training:
    model = torchvision.models.resnet18()
    return Training.of(model, torch.randn(batch, 3, side, side), 1000)


def gpt2(batch: int = 2, length: int = 128) -> Training:
    return Training.of(GPT2(), torch.randint(50257, (batch, length)), 50257)


def small_gpt2() -> Training:
    model = GPT2(vocabulary=512, length=64, width=64, heads=4, blocks=4)
    return Training.of(model, torch.randint(512, (2, 32)), 512)


def small_resnet18() -> Training:
    return resnet18(batch=4, side=64)


#: Name, what makes it, and how often it is measured.
MODELS: tuple[tuple[str, Callable[[], Training], int], ...] = (
    ("resnet18, batch 8 of 224 × 224", resnet18, 9),
    ("GPT-2 small, batch 2 of 128 tokens", gpt2, 5),
)
#: A step that takes little time for each of its operations.
SMALL = "GPT-2 of 4 blocks of width 64, dropout 0.1, batch 2 of 32 tokens"
LEARNED = (("resnet18, batch 4 of 64 × 64", small_resnet18), (SMALL, small_gpt2))


def rows(most: int) -> Iterator[Row]:
    for name, make, runs in MODELS:
        yield from measure(name, make(), min(runs, most), Budget(3, "ratio"))
    yield from measure(SMALL, small_gpt2(), min(25, most), None)
    for name, make, _ in MODELS:
        recorded, plain = memory(make, "recorded_step"), memory(make, "step")
        yield Row(f"{name}: peak memory", recorded, _ALONE, plain, unit="MB")
    for name, make in LEARNED:
        what = f"{name}: numbers of loss and state that differ after {STEPS} recorded steps"
        yield Row(what, differences(make), budget=Budget(0, "absolute"), unit="")


def measure(name: str, training: Training, runs: int, budget: Budget | None) -> Iterator[Row]:
    """A recorded iteration and another one. After one without a recording, which makes the
    optimizer's state."""
    training.step()
    other = budget and Budget(1.02, "ratio")
    for what, ours, limit in (
        ("the recorded iteration", training.recorded_step, budget),
        ("another iteration", training.other_step, other),
    ):
        what, clock = f"{name}: {what}", time.process_time
        yield compare(what, ours, _ALONE, training.step, limit, runs=runs, clock=clock)


def memory(make: Callable[[], Training], method: str) -> float:
    """The peak, in MB, of a fresh process that makes two steps, the second as `method` does."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_memory, make, method).result()


def _memory(make: Callable[[], Training], method: str) -> float:
    training = make()
    training.step()
    getattr(training, method)()
    return process_memory("VmHWM")


def differences(make: Callable[[], Training]) -> int:
    """How many numbers of the losses and of the state of a model are not bitwise the same, after
    steps that are recorded and the same that are not."""
    ours, theirs = (learned(make, kind) for kind in (Training.recorded_step, Training.step))
    assert ours.keys() == theirs.keys()
    return sum(int((ours[name] != theirs[name]).sum()) for name in ours)


def learned(make: Callable[[], Training], step: Callable[[Training], float]) -> dict[str, Tensor]:
    """The losses and the state of a model after `STEPS` steps from the same start."""
    torch.manual_seed(0)
    training = make()
    losses = [step(training) for _ in range(STEPS)]
    return {"losses": torch.tensor(losses, dtype=torch.float64), **training.model.state_dict()}
