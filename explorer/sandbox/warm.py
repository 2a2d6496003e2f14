"""Making a process ready to fork: everything a program may first use, used once beforehand."""

from __future__ import annotations

import gc
import importlib
import tempfile

import torch

from explorer import trace
from explorer.trace.examples import EXAMPLES

#: Imported late by torch itself, at the first optimizer, vmap or dispatch mode: 0.7 s.
_LATE = ("torch._dynamo", "torch._decomp")


def up() -> None:
    """Import and use once what would otherwise be imported, slowly or not at all, in every child.

    One thread, set before any operator runs: a forked child of a process whose OpenMP threads
    have started would wait for them for ever.
    """
    torch.set_num_threads(1)
    for name in _LATE:
        importlib.import_module(name)
    tempfile.gettempdir()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    (x * x).sum().backward()
    optimizer.step()
    torch.func.jacrev(torch.sin)(x.detach())
    torch.func.jvp(torch.sin, (x.detach(),), (x.detach(),))
    str(x)
    image = torch.ones(1, 1, 8, 8)  # the libraries beneath look at the processor once, in /proc
    torch.nn.functional.conv2d(image, image[..., :3, :3]) @ torch.ones(6, 6)
    for example in EXAMPLES:
        trace.run(example.source)
    gc.collect()
    gc.freeze()


def rehearse() -> None:
    """Run a first program in a new child: the memory pages every run writes to are copied then."""
    trace.run(EXAMPLES[0].source)
