"""`torch.autograd.gradcheck` and `gradgradcheck`: torch's own, reported to the watcher."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from explorer.language.notices import report
from explorer.language.vocabulary.callbacks import with_functions


def _reported(check: Callable[..., Any]) -> Callable[..., Any]:
    run = with_functions(check)

    @functools.wraps(check)
    def call(*args: Any, **kwargs: Any) -> Any:
        return report("gradcheck", check.__name__, run, *args, **kwargs)

    return call


_TITLE = "Autograd"
ADDED: dict[str, tuple[str, Any]] = {
    "torch.autograd.gradcheck": (_TITLE, _reported(torch.autograd.gradcheck)),
    "torch.autograd.gradgradcheck": (_TITLE, _reported(torch.autograd.gradgradcheck)),
    "torch.autograd.gradcheck.gradcheck": (_TITLE, _reported(torch.autograd.gradcheck)),
    "torch.autograd.gradcheck.gradgradcheck": (_TITLE, _reported(torch.autograd.gradgradcheck)),
    "torch.autograd.gradcheck.GradcheckError": (
        _TITLE,
        sys.modules["torch.autograd.gradcheck"].GradcheckError,  # torch.autograd has the function
    ),
}
