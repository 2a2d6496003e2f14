"""The nodes of autograd that a program gets from `y.grad_fn`: to look at, not to call.

Calling a node runs torch's C++ code for one step of backward on any tensor at all. The engine
checks shapes and dtypes before it does that; a call does not, and the code then reads and writes
beyond its tensors (measured with torch 2.13: layer_norm, batch_norm, adaptive_avg_pool2d, cdist).
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import torch

from explorer.language.errors import OutsideLanguage


class NodeProxy:
    """A proxy for `node`. Equal, and the same object, for the same node."""

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: Any) -> None:
        self.node = node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise OutsideLanguage(
            "A node of the graph cannot be called here.",
            "Use torch.autograd.grad for the gradients of a part of the graph.",
        )

    def __repr__(self) -> str:
        return repr(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeProxy) and self.node is other.node

    def __hash__(self) -> int:
        return hash(self.node)


#: By id of a node, as long as the program has its proxy, which keeps the node.
_proxies: WeakValueDictionary[int, NodeProxy] = WeakValueDictionary()


def proxy_of(node: Any) -> Any:
    """The proxy of a node that can be called; None, and the node of a program's own Function, which
    cannot be, are returned unchanged."""
    if node is None or isinstance(node, torch.autograd.function.FunctionCtx):
        return node
    proxy = _proxies.get(id(node))
    if proxy is None:
        proxy = _proxies[id(node)] = NodeProxy(node)
    return proxy
