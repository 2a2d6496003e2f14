"""`torch.autograd.graph` without its nodes: edges, hooks on several tensors, version counters.

torch's C++ code uses the number of a gradient edge as an index without a check (measured with torch
2.13), and its node is one that a program may not call. So a program gets an object of our own, from
which the real edge is made, and checked, whenever torch is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.autograd import graph

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.node_proxy import NodeProxy, proxy_of
from explorer.language.vocabulary.stand_in import StandIn

#: Most tensors of one hook.
MOST_TENSORS = 1000


class GradientEdge(StandIn):
    """Where a gradient arrives: a node of the graph and the number of its output."""

    def __init__(self, node: Any, output_nr: Any, ownership_token: Any = None) -> None:
        self.node, self.output_nr = node, output_nr
        self._token = ownership_token

    def __getitem__(self, place: Any) -> Any:
        return (self.node, self.output_nr, None)[place]  # which also serves to iterate

    def __len__(self) -> int:
        return 3

    def __repr__(self) -> str:
        return f"GradientEdge(node={self.node!r}, output_nr={self.output_nr!r})"

    def __eq__(self, other: object) -> bool:
        mine = (self.node, self.output_nr)
        return isinstance(other, GradientEdge) and mine == (other.node, other.output_nr)

    def __hash__(self) -> int:
        return hash(self.node)


def real_edge(edge: GradientEdge) -> graph.GradientEdge:
    """torch's edge. Raises OutsideLanguage if there is no such edge."""
    node = edge.node.node if isinstance(edge.node, NodeProxy) else edge.node
    number = edge.output_nr
    if not isinstance(node, graph.Node) or type(number) is not int:
        raise OutsideLanguage(
            "A GradientEdge has a node of the graph and a whole number.",
            "Use torch.autograd.graph.get_gradient_edge(y).",
        )
    count = len(node._input_metadata)
    if not 0 <= number < count:
        raise OutsideLanguage(
            f"The node {node.name()[:60]} has {count} outputs; there is no number {number}.",
            "Use torch.autograd.graph.get_gradient_edge(y).",
        )
    return graph.GradientEdge(node, number, edge._token)


def with_edges(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function such as torch.autograd.grad, which gets real edges in place of ours."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        named = {name: _with_real_edges(value) for name, value in kwargs.items()}
        return function(*map(_with_real_edges, args), **named)

    return call


def _with_real_edges(value: Any) -> Any:
    if isinstance(value, GradientEdge):
        return real_edge(value)
    if isinstance(value, list | tuple) and any(isinstance(item, GradientEdge) for item in value):
        return tuple(real_edge(v) if isinstance(v, GradientEdge) else v for v in value)
    return value


def _make_edge(node: Any, output_nr: Any, ownership_token: Any = None) -> GradientEdge:
    edge = GradientEdge(node, output_nr)
    real_edge(edge)
    return edge


def _get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge at which the gradient of this tensor arrives."""
    if isinstance(tensor, GradientEdge):
        return tensor
    with torch._C.DisableTorchFunction():
        edge = graph.get_gradient_edge(_require_tensor(tensor))
    return GradientEdge(proxy_of(edge.node), edge.output_nr, edge.ownership_token)


def _require_tensor(value: Any) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"expected a tensor, not a {type(value).__name__[:60]}")
    return value


def _require_tensors(values: Any) -> list[torch.Tensor]:
    if not isinstance(values, list | tuple):
        values = [value for _, value in zip(range(MOST_TENSORS + 1), values, strict=False)]
    if len(values) > MOST_TENSORS:
        raise OutsideLanguage(f"At most {MOST_TENSORS} tensors are supported here.")
    return [_require_tensor(value) for value in values]


def _register_multi_grad_hook(tensors: Any, fn: Any, *, mode: str = "all") -> Any:
    """A hook that runs when the gradients of all these tensors, or of any, have been computed."""
    given = _require_tensors(tensors)
    with torch._C.DisableTorchFunction():
        return graph.register_multi_grad_hook(given, as_function(fn), mode=mode)  # type: ignore[arg-type]


def _increment_version(tensor: torch.Tensor | Iterable[torch.Tensor]) -> None:
    """Tell autograd that these tensors were changed in place."""
    one = isinstance(tensor, torch.Tensor)
    graph.increment_version(_require_tensors([tensor] if one else tensor))


_TITLE = "Graph and hooks"
ADDED: dict[str, tuple[str, Any]] = {
    "torch.autograd.graph.GradientEdge": (_TITLE, ClassProxy(GradientEdge, _make_edge)),
    "torch.autograd.graph.Node": (_TITLE, ClassProxy(graph.Node)),
    **{
        f"torch.autograd.graph.{function.__name__[1:]}": (_TITLE, function)
        for function in (_get_gradient_edge, _register_multi_grad_hook, _increment_version)
    },
}
