"""Preparing a process for forking: use everything once that a program may use first."""

from __future__ import annotations

import gc
import importlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import torch

from explorer import trace
from explorer.program.execution import watch_always
from explorer.trace.examples import EXAMPLES

#: Modules that are imported lazily, at the first optimizer, vmap, dispatch mode or figure. A child
#: cannot: some make folders. That for networks it can, slowly.
_LAZY_IMPORTS = (
    "sympy",
    "torch.fx.experimental.symbolic_shapes",
    "torch._dynamo",
    "torch._decomp",
    "matplotlib.figure",
)
_SLOW_IMPORT = "explorer.torchvision_guard"


#: A program with figures of most kinds: matplotlib reads fonts and imports modules when it needs
#: them first.
_FIGURES = """
import matplotlib.pyplot as plt
import numpy as np
plt.plot([1, 2], label="$x^2$")
plt.legend()
plt.show()
figure, axes = plt.subplots(1, 2, layout="constrained")
image = axes[0].imshow(np.eye(3), cmap="gray")
figure.colorbar(image, ax=axes[0])
axes[1].contourf(np.eye(3))
axes[1].set_yscale("log")
plt.show()
axes = plt.figure().add_subplot(projection="3d")
axes.plot_surface(*np.meshgrid(np.arange(3.0), np.arange(3.0)), np.eye(3), cmap="viridis")
plt.tight_layout()
plt.show()
"""


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
    """Do all of it."""
    prepare_torch()
    prepare_programs()
    for step in STEPS:
        step()


def prepare_programs() -> None:
    """What must be done before the first program: without it some fail behind the walls."""
    for name in _LAZY_IMPORTS:
        _import(name)
    _use_lazy_parts()
    trace.run(EXAMPLES[0].source)


def _import(name: str) -> None:
    with suppress(ModuleNotFoundError):  # the library does without matplotlib and torchvision
        importlib.import_module(name)


def _use_lazy_parts() -> None:
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


def _draw_figures() -> None:
    trace.run(_FIGURES)  # imports matplotlib


def _freeze() -> None:
    gc.collect()
    gc.freeze()


#: What every child would otherwise import and touch first, slowly: in parts, between which the
#: zygote can fork. The longest take a second.
STEPS: tuple[Callable[[], object], ...] = (
    *(partial(trace.run, example.source) for example in EXAMPLES),
    partial(_import, _SLOW_IMPORT),
    _draw_figures,
    watch_always,
    _freeze,
)
