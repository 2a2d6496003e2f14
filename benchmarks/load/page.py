"""What stands on a page: the elements the server sent, and the widgets' states."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.load.files import Wrong

#: Kinds of widgets: the field of its state, and the field in which the server sets its value.
VALUES = {
    "text_area": ("string_value", "value"),
    "selectbox": ("string_value", "raw_value"),
    "number_input": ("double_value", "value"),
    "checkbox": ("bool_value", "value"),
    "slider": ("double_array_value", "value"),
    "button_group": ("string_array_value", "raw_values"),
    "tab_container": ("string_value", ""),
}


@dataclass(frozen=True)
class _Placed:
    """An element, its kind, and the run that put it there."""

    kind: str
    element: Any
    run: str


class Page:
    """The elements on the page by their path, and the states of the widgets that somebody set.

    `query` is the address; `run` the run that is drawing.
    """

    def __init__(self) -> None:
        self.elements: dict[tuple[int, ...], _Placed] = {}
        self.states: dict[str, WidgetState] = {}
        self.query: dict[str, str] = {}
        self.run = ""

    def clear(self) -> None:
        """For another page: its address begins empty."""
        self.elements, self.states, self.query = {}, {}, {}

    def all(self, kind: str) -> list[Any]:
        """The elements of a kind, in the page's order."""
        paths = sorted(path for path, found in self.elements.items() if found.kind == kind)
        return [self.elements[path].element for path in paths]

    def has(self, kind: str, key: str) -> bool:
        return any(_is(found, key) for found in self.all(kind))

    def widget(self, kind: str, key: str) -> Any:
        """The widget with this key, or else this label. Raises Wrong."""
        for found in self.all(kind):
            if _is(found, key):
                return found
        raise Wrong(f"there is no {kind} {key!r} on the page")

    def value(self, kind: str, key: str) -> Any:
        """A widget's value: the one last given to it, or the one it began with; of options, the
        words on them."""
        found, field = self.widget(kind, key), VALUES[kind][0]
        state = self.states.get(found.id)
        if state is not None:
            value = getattr(state, field)
            return list(value.data) if field.endswith("_array_value") else value
        if kind == "selectbox":
            return found.options[found.default] if found.HasField("default") else ""
        if kind == "button_group":
            return [found.options[i].content for i in found.default]
        return found.default_tab_label if kind == "tab_container" else found.default

    def data(self, key: str) -> Any:
        """What a component was given."""
        found = self.widget("bidi_component", key)
        return json.loads(found.mixed.json if found.HasField("mixed") else found.json)

    def texts(self) -> str:
        """All HTML and Markdown on the page."""
        return "\n".join(
            [e.body for e in self.all("html")] + [e.body for e in self.all("markdown")]
        )

    def give(self, kind: str, key: str, value: Any) -> None:
        """Give a widget a value; of one of several options, the words on it."""
        found = self.widget(kind, key)
        state = WidgetState(id=found.id)
        _fill(state, VALUES[kind][0], value)
        self.states[found.id] = state
        if found.query_param_key:
            self.query[found.query_param_key] = str(value[0] if isinstance(value, list) else value)

    def place(self, path: tuple[int, ...], delta: Any) -> None:
        kind = delta.WhichOneof("type")
        if kind == "new_element":
            name = delta.new_element.WhichOneof("type")
            if name is None:
                return
            found = getattr(delta.new_element, name)
        elif kind == "add_block" and delta.add_block.WhichOneof("type") == "tab_container":
            name, found = "tab_container", delta.add_block.tab_container
        elif kind == "add_block":
            self.elements.pop(path, None)
            return
        else:
            return  # a spinner
        self.elements[path] = _Placed(name, found, self.run)
        self._take_over(name, found)

    def _take_over(self, name: str, found: Any) -> None:
        """A value that the server gave to a widget."""
        if name not in VALUES or not getattr(found, "set_value", False):
            return
        field, source = VALUES[name]
        value = getattr(found, source)
        absent = found.DESCRIPTOR.fields_by_name[source].has_presence and not found.HasField(source)
        state = WidgetState(id=found.id)
        if not absent:
            _fill(state, field, value)
        self.states[found.id] = state

    def tidy(self) -> None:
        """After a whole run: drop what it did not draw."""
        self.elements = {p: e for p, e in self.elements.items() if e.run == self.run}
        here = {getattr(found.element, "id", "") for found in self.elements.values()}
        self.states = {name: state for name, state in self.states.items() if name in here}


def _is(found: Any, key: str) -> bool:
    return found.id.endswith(f"-{key}") or getattr(found, "label", None) == key


def _fill(state: WidgetState, field: str, value: Any) -> None:
    if field.endswith("_array_value"):
        getattr(state, field).data.extend(value)
        getattr(state, field).SetInParent()
    else:
        setattr(state, field, value)
