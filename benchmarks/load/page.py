"""The contents of a page: the elements the server sent, and the widgets' states."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.load.files import WrongAnswer

#: Kind of widget -> the field of its state, and the field in which the server sets its value.
VALUES = {
    "text_area": ("string_value", "value"),
    "selectbox": ("string_value", "raw_value"),
    "number_input": ("double_value", "value"),
    "checkbox": ("bool_value", "value"),
    "slider": ("double_array_value", "value"),
    "button_group": ("string_array_value", "raw_values"),
    "tab_container": ("string_value", ""),
}
#: The components whose data a reader sees as numbers.
SHOWN = ("tensors", "numbers", "sliders", "selected-layer")


@dataclass(frozen=True)
class _PageElement:
    """An element, its kind, the run that sent it, and the id of its fragment, if it is in one."""

    kind: str
    element: Any
    run: str
    fragment: str


class Page:
    """The elements on the page by their path, and the states of the widgets that were set.

    `query` holds the query parameters of the page's link; `run` is the current run, and
    `fragments` are those it is of, if it is not one of the whole page.
    """

    def __init__(self) -> None:
        self.elements: dict[tuple[int, ...], _PageElement] = {}
        self.states: dict[str, WidgetState] = {}
        self.query: dict[str, str] = {}
        self.run = ""
        self.fragments: list[str] = []

    def clear(self) -> None:
        """Forget everything, before another page is opened."""
        self.elements, self.states, self.query = {}, {}, {}

    def all(self, kind: str) -> list[Any]:
        """The elements of a kind, in the page's order."""
        paths = sorted(path for path, item in self.elements.items() if item.kind == kind)
        return [self.elements[path].element for path in paths]

    def has(self, kind: str, key: str) -> bool:
        return any(_has_key(element, key) for element in self.all(kind))

    def widget(self, kind: str, key: str) -> Any:
        """The widget with this key or label. Raises WrongAnswer."""
        for element in self.all(kind):
            if _has_key(element, key):
                return element
        raise WrongAnswer(f"there is no {kind} {key!r} on the page")

    def fragment(self, widget: Any) -> str:
        """The id of the fragment this widget is in, or ""."""
        return next((e.fragment for e in self.elements.values() if e.element is widget), "")

    def value(self, kind: str, key: str) -> Any:
        """A widget's value: the one last set, or its default; for options, their labels."""
        return self._value_of(kind, self.widget(kind, key))

    def _value_of(self, kind: str, widget: Any) -> Any:
        field = VALUES[kind][0]
        state = self.states.get(widget.id)
        if state is not None:
            value = getattr(state, field)
            return list(value.data) if field.endswith("_array_value") else value
        if kind == "selectbox":
            return widget.options[widget.default] if widget.HasField("default") else ""
        if kind == "button_group":
            return [widget.options[i].content for i in widget.default]
        return widget.default_tab_label if kind == "tab_container" else widget.default

    def contents(self, given: bool = False) -> dict[str, Any]:
        """What a reader would miss, by name: the values of widgets, only those that were `given`
        or all, and then what the components show, too."""
        values = {
            f"{kind} {widget.id.split('-', 2)[-1]}": self._value_of(kind, widget)
            for kind in VALUES
            for widget in self.all(kind)
            if not given or widget.id in self.states
        }
        shown = [] if given else [key for key in SHOWN if self.has("bidi_component", key)]
        return values | {key: self.data(key) for key in shown}

    def data(self, key: str) -> Any:
        """The data that a component was given."""
        component = self.widget("bidi_component", key)
        has_mixed = component.HasField("mixed")
        return json.loads(component.mixed.json if has_mixed else component.json)

    def texts(self) -> str:
        """All HTML and Markdown on the page."""
        return "\n".join(
            [e.body for e in self.all("html")] + [e.body for e in self.all("markdown")]
        )

    def set_value(self, kind: str, key: str, value: Any) -> None:
        """Set a widget's value; for an option, its label."""
        widget = self.widget(kind, key)
        state = WidgetState(id=widget.id)
        _fill(state, VALUES[kind][0], value)
        self.states[widget.id] = state
        if widget.query_param_key:
            text = str(value[0] if isinstance(value, list) else value)
            self.query[widget.query_param_key] = text

    def apply_delta(self, path: tuple[int, ...], delta: Any) -> None:
        """Add, replace or remove the element at a path, as the server's message says."""
        kind = delta.WhichOneof("type")
        if kind == "new_element":
            name = delta.new_element.WhichOneof("type")
            if name is None:
                return
            element = getattr(delta.new_element, name)
        elif kind == "add_block" and delta.add_block.WhichOneof("type") == "tab_container":
            name, element = "tab_container", delta.add_block.tab_container
        elif kind == "add_block":
            self.elements.pop(path, None)
            return
        else:
            return  # a spinner
        self.elements[path] = _PageElement(name, element, self.run, delta.fragment_id)
        self._apply_server_value(name, element)

    def _apply_server_value(self, name: str, widget: Any) -> None:
        """Take over a value that the server set."""
        if name not in VALUES or not getattr(widget, "set_value", False):
            return
        field, source = VALUES[name]
        value = getattr(widget, source)
        optional = widget.DESCRIPTOR.fields_by_name[source].has_presence
        absent = optional and not widget.HasField(source)
        state = WidgetState(id=widget.id)
        if not absent:
            _fill(state, field, value)
        self.states[widget.id] = state

    def drop_stale(self) -> None:
        """Drop the elements that a complete run of the page, or of their fragment, did not send,
        and their states."""
        self.elements = {
            path: item
            for path, item in self.elements.items()
            if item.run == self.run or (self.fragments and item.fragment not in self.fragments)
        }
        ids = {getattr(item.element, "id", "") for item in self.elements.values()}
        self.states = {name: state for name, state in self.states.items() if name in ids}


def _has_key(element: Any, key: str) -> bool:
    return element.id.endswith(f"-{key}") or getattr(element, "label", None) == key


def _fill(state: WidgetState, field: str, value: Any) -> None:
    if field.endswith("_array_value"):
        getattr(state, field).data.extend(value)
        getattr(state, field).SetInParent()
    else:
        setattr(state, field, value)
