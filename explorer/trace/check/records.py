"""The result of a check as plain data, for the page and the sandbox's pipe (see `trace.codec`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Element:
    """One checked element: the gradient autograd computed, and the slopes measured on both sides.

    `numeric` is the central difference, the mean of `left` and `right`.
    """

    index: tuple[int, ...]
    gradient: float
    numeric: float
    left: float
    right: float

    @property
    def deviation(self) -> float:
        return abs(self.gradient - self.numeric)


@dataclass(frozen=True)
class LeafCheck:
    """The check of one leaf.

    `verdict` is "agrees", "differs" (the gradient is wrong), "kink", "changed" (a hook replaced a
    gradient, so it is not the slope) or "unchecked".

    `worst` is the element with the largest deviation (kinks aside); `kinks` are the elements
    where the slopes on the two sides differ, so that any gradient between them is a convention.
    `note` explains the verdict in words. `checked` of `total` elements were compared.
    """

    name: str
    line: int | None
    shape: tuple[int, ...]
    verdict: str
    checked: int = 0
    total: int = 0
    tolerance: float = 0.0
    worst: Element | None = None
    kinks: tuple[Element, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Check:
    """All leaves that the last backward reached, or the `reason` why none could be checked.

    `number` is the number of the checked pass, `calls` how many operations were repeated for
    each element.
    """

    leaves: tuple[LeafCheck, ...] = ()
    reason: str = ""
    number: int = 0
    calls: int = 0
