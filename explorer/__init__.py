"""See what PyTorch's autograd does. The library works without Streamlit.

`run` gives the Trace of a program, `record` that of code where it stands, `prove` tries answers;
`show` draws a network, `%load_ext explorer` brings `%%explore` to a notebook; `ProgramProblem` and
`TrainingSession` step an optimizer; `explorer.sandbox`, `explorer.networks` and `explorer.vision`
are imported when first used. docs/library.ipynb goes through all of it.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Public names by the package they live in. Loaded on first use: vision brings torchvision.
_HOME = {
    "run": "trace",
    "record": "trace",
    "show": "notebook",
    "load_ipython_extension": "notebook",
    "prove": "trace",
    "ProgramProblem": "training",
    "TrainingSession": "training",
}
_PACKAGES = ("program", "trace", "training", "networks", "vision", "sandbox")


def __dir__() -> list[str]:
    return sorted([*_HOME, *_PACKAGES])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"explorer.{_HOME[name]}"), name)
    if name in _PACKAGES:
        return importlib.import_module(f"explorer.{name}")
    raise AttributeError(f"module 'explorer' has no attribute {name!r}")
