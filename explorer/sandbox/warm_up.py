"""Preparing a process for forking: use everything once that a program may use first."""

from __future__ import annotations

import gc
import importlib
import os
import tempfile

import torch

from explorer import trace
from explorer.trace.examples import EXAMPLES

#: Modules that torch imports lazily, at the first optimizer, vmap or dispatch mode: 0.7 s.
_LAZY_IMPORTS = ("torch._dynamo", "torch._decomp")


def prepare_torch() -> None:
    """What must be done before the first task, and takes no time.

    Sets one thread before any operator runs: a forked child of a process whose OpenMP threads have
    started would wait for them for ever.
    """
    torch.set_num_threads(1)
    torch.set_warn_always(True)  # not once per process: the next program of a live run needs them
    tempfile.gettempdir()
    image = torch.ones(1, 1, 8, 8)  # the BLAS and oneDNN libraries read /proc at their first use
    torch.nn.functional.conv2d(image, image[..., :3, :3]) @ torch.ones(6, 6)


def warm_up() -> None:
    """Import and use once what every child would otherwise import, slowly or not at all."""
    prepare_torch()
    for name in _LAZY_IMPORTS:
        importlib.import_module(name)
    # torch.func.linearize asks it for a folder; any that does not exist will do.
    importlib.import_module(
        "torch._inductor.compiler_bisector"
    ).CompilerBisector.in_process_cache = os.devnull
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    (x * x).sum().backward()
    optimizer.step()
    torch.func.jacrev(torch.sin)(x.detach())
    torch.func.jvp(torch.sin, (x.detach(),), (x.detach(),))
    str(x)
    for example in EXAMPLES:
        trace.run(example.source)
    gc.collect()
    gc.freeze()


def run_example() -> None:
    """Run a first program in a new child, to copy the memory pages that every run writes to."""
    trace.run(EXAMPLES[0].source)
