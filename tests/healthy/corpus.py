"""All healthy programs by name, and how one is run in plain PyTorch and in the explorer."""

from __future__ import annotations

from types import ModuleType

from explorer import prove, run
from tests.healthy import (
    almost_broken,
    almost_by_hand,
    almost_cut,
    almost_kept,
    almost_mode,
    almost_silent,
    almost_unstepped,
    attention,
    classification,
    evaluation,
    fitting,
    gans,
    generative,
    higher_order,
    input_gradients,
    loops,
    multi_loss,
    notebooks,
    optimizers,
    own_operations,
    policies,
    reinforcement,
    representation,
    sequences,
    statistics,
    torch_func,
    transfer,
)
from tests.program.compare import plain

MODULES: tuple[ModuleType, ...] = (
    optimizers,
    loops,
    classification,
    evaluation,
    generative,
    gans,
    reinforcement,
    policies,
    sequences,
    attention,
    transfer,
    representation,
    input_gradients,
    higher_order,
    torch_func,
    fitting,
    statistics,
    own_operations,
    multi_loss,
    almost_cut,
    almost_unstepped,
    almost_silent,
    almost_broken,
    notebooks,
    almost_mode,
    almost_kept,
    almost_by_hand,
)

#: "loops: SGD with momentum" → the program.
PROGRAMS: dict[str, str] = {
    f"{module.__name__.rpartition('.')[2]}: {name}": source
    for module in MODULES
    for name, source in module.PROGRAMS.items()
}


def alarms(source: str) -> dict[str, str]:
    """What the explorer says of a program about which there is nothing to say: key → words."""
    trace = prove(run(source))
    said = {answer.key: f"{answer.title} {answer.text}" for answer in trace.answers}
    if trace.error is not None:
        said["error"] = f"{trace.error.message} (line {trace.error.line})"
    return said


def run_plainly(source: str) -> None:
    """Raises if the program fails in plain PyTorch, or misses its effect (an assert)."""
    plain(source)
