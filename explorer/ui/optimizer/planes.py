"""Which plane the loss surface of more than two numbers lies in. The link alone holds the choice.

`across` and `up` in the link are two elements; or `across` is another key of `KINDS`, and `up` the
seed of random directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import streamlit as st

from explorer.training import Plane, Point, through_element, through_elements, through_path
from explorer.training.formatting import element_name
from explorer.training.planes import through_gradient, through_random

#: Models with at most this many numbers offer every pair of them as axes.
FEW = 40
ELEMENTS, PATH, GRADIENT, RANDOM = "elements", "path", "gradient", "random"
KINDS = {
    ELEMENTS: "two elements",
    PATH: "the path's two main directions",
    GRADIENT: "the gradient and the update",
    RANDOM: "two random directions",
}
#: In links of earlier versions.
_RENAMED = {"The path's two main directions": PATH}
#: Random directions that are offered.
_SEEDS = 1000

#: An element as (parameter, flattened place).
Place = tuple[str, int]


@dataclass(frozen=True)
class PlaneChoice:
    """A key of `KINDS`; for elements, those along the axes. One element twice is a line."""

    kind: str
    across: Place = ("", 0)
    up: Place = ("", 0)
    seed: int = 0

    def plane(self, points: Sequence[Point], session: Any) -> Plane:
        """The plane through the last point that is finite, or along the whole path. Raises
        ProgramRefused where the gradient cannot be computed."""
        if self.kind == PATH:
            return through_path(points)
        at = next((point for point in (points[-1], points[0]) if _is_finite(point)), points[0])
        if self.kind == RANDOM:
            return through_random(at, self.seed)
        if self.kind == GRADIENT:
            ahead = session.look_ahead(steps=1)
            return through_gradient(at, ahead.gradient, ahead.update)
        first, second = ((name, _index(at, name, i)) for name, i in (self.across, self.up))
        if first == second:
            return through_element(at, first)
        return through_elements(at, first, second)


def read_choice(point: Point) -> PlaneChoice:
    """What the link says, as far as the parameters have it; otherwise the first two elements."""
    places = _places(point)
    across, up = (st.query_params.get(key, "") for key in ("across", "up"))
    kind = _RENAMED.get(across, across)
    if not 1 <= len(places) <= 2 and kind in (PATH, GRADIENT, RANDOM):
        is_seed = kind == RANDOM and up.isdecimal() and len(up) <= len(str(_SEEDS))
        return PlaneChoice(kind, seed=int(up) if is_seed else 0)
    elements = list(places.values())
    if not elements:
        return PlaneChoice(PATH)
    first = places.get(across, elements[0])
    others = [place for place in elements if place != first] or [first]
    second = places.get(up, others[0])
    return PlaneChoice(ELEMENTS, first, second if second != first else others[0])


def choose(point: Point, event: Mapping[str, Any]) -> None:
    """Put into the link what the reader has chosen; nothing for what there is not."""
    names, now = set(_places(point)), read_choice(point)
    kind, across, up = (str(event.get(key)) for key in ("kind", "across", "up"))
    if kind == ELEMENTS and {across, up} <= names:
        st.query_params["across"], st.query_params["up"] = across, up
    elif kind == RANDOM:  # another two where there are some
        seed = (now.seed + 1) % _SEEDS if now.kind == RANDOM else 0
        st.query_params["across"], st.query_params["up"] = RANDOM, str(seed)
    elif kind in (PATH, GRADIENT):
        st.query_params["across"] = kind
        st.query_params.pop("up", None)


def to_data(point: Point, choice: PlaneChoice) -> dict[str, Any] | None:
    """What the menu shows; None where there is nothing to choose."""
    places = _places(point)
    if 1 <= len(places) <= 2:
        return None
    names = {place: name for name, place in places.items()}
    return {
        "kinds": [[kind, text] for kind, text in KINDS.items() if places or kind != ELEMENTS],
        "kind": choice.kind,
        "names": list(places),
        "across": names.get(choice.across, ""),
        "up": names.get(choice.up, ""),
    }


def _places(point: Point) -> dict[str, Place]:
    """The elements by name; none of a model with many."""
    elements = ((n, i) for n, value in point.values.items() for i in range(value.size))
    few = list(islice(elements, FEW + 1))
    return {element_name(n, _index(point, n, i)): (n, i) for n, i in few if len(few) <= FEW}


def _is_finite(point: Point) -> bool:
    return all(np.isfinite(value).all() for value in point.values.values())


def _index(point: Point, name: str, place: int) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(place, point.values[name].shape))
