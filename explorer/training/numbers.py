"""Numbers as text, and tensors as numpy arrays."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from explorer.trace import capture


def in_words(value: float | complex) -> str:
    """Six significant digits with a proper minus sign: "−0.0782", "1.2e-05", "20"."""
    text = f"{value:.6g}"
    return "−" + text[1:] if text.startswith("-") else text


def to_numpy(tensor: Tensor) -> np.ndarray:
    """An independent copy; bfloat16, which numpy lacks, becomes float32 (exactly)."""
    copied = capture.to_numpy(tensor)
    assert copied is not None, "parameters and their gradients are dense"
    return copied


def element(name: str, index: tuple[int, ...]) -> str:
    """How an element is written: "w[0, 1]", or just "x" for a tensor without axes."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def count(number: int, noun: str) -> str:
    """ "1 parameter", "2 parameters"."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
