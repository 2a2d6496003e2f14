"""The operations behind a tensor, recorded so that they can be repeated in float64.

Only what autograd follows is repeated: everything else (random draws, what came out of `detach`,
`no_grad`, a comparison, an index) stays constant, as it is for autograd.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as tree

from explorer.trace.torchviz_graph import leaf_of

#: Calls recorded, and bytes of results held for them; the oldest are dropped.
MOST_CALLS, MOST_BYTES = 20_000, 256 * 2**20

_WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
_WIDENED: dict[Any, Any] = {
    getattr(torch.Tensor, name): torch.Tensor.double for name in ("float", "half", "bfloat16")
}


#: Functions that compute nothing, though autograd follows what they are given.
_PASSIVE = {"backward", "register_hook", "register_post_accumulate_grad_hook", "retain_grad"} | {
    *("requires_grad_", "__repr__", "__format__", "__hash__", "__len__", "size", "dim", "numel")
}


class CannotRepeat(Exception):
    """Why the operations cannot be repeated. The text is a sentence for the reader."""


@dataclass(frozen=True)
class FollowedInput:
    """An argument of a call: a tensor that autograd follows.

    For a leaf, `use` is the number of the value it had at this call.
    """

    key: int
    use: int = 0


@dataclass(frozen=True, eq=False)
class ConstantInput:
    """An argument of a call: a tensor that stays constant; `fresh` if the call writes into it."""

    value: torch.Tensor
    fresh: bool = False


@dataclass
class TapedCall:
    """One operation: a function, its arguments, and the keys of the tensors it returned.

    `arguments` is flat, `shape` says how to nest it; `outputs` are pairs of a position among the
    results and a key. `random` is the state of the random generator before a call that drew.
    """

    function: Callable[..., Any]
    name: str
    line: int
    arguments: list[Any]
    shape: Any
    outputs: list[tuple[int, int]]
    random: torch.Tensor | None
    holds: list[torch.Tensor]
    storages: set[int] = field(default_factory=set)

    def followed(self) -> Iterator[FollowedInput]:
        return (item for item in self.arguments if isinstance(item, FollowedInput))


class Tape(TorchFunctionMode):
    """Active while a program runs. `line` gives the line that is running."""

    def __init__(self, line: Callable[[], int]) -> None:
        super().__init__()
        self.line = line
        self.calls: deque[TapedCall] = deque()
        self.bytes = 0
        self.leaves: dict[int, tuple[torch.Tensor, list[torch.Tensor]]] = {}
        self._keys: dict[tuple[int, int], int] = {}
        self._fixed: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__iter__:
            return iter(self.call(torch.Tensor.unbind, args, {}))
        return self.call(func, args, kwargs or {})

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run an operation, and record it if autograd follows its result."""
        flat, shape = tree.tree_flatten((args, kwargs))
        followed = torch.is_grad_enabled() and any(
            isinstance(item, torch.Tensor) and item.requires_grad for item in flat
        )
        if not followed or getattr(function, "__name__", "") in _PASSIVE:
            return function(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            arguments = [self.argument(item) for item in flat]
            before, line = torch.get_rng_state(), self.line()
        result = function(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            self.record(function, arguments, flat, shape, result, before, line)
        return result

    def argument(self, item: Any) -> Any:
        """An argument as it is recorded."""
        if isinstance(item, torch.dtype):
            return _WIDER.get(item, item)
        if not isinstance(item, torch.Tensor):
            return item
        if not item.requires_grad:
            return ConstantInput(self.fixed(item))
        source = _unhooked(item)
        if isinstance(source, torch.Tensor):
            return FollowedInput(id(source), self.leaf(source))
        return FollowedInput(self.key_of(item))

    def key_of(self, tensor: torch.Tensor) -> int:
        """The key of a tensor that autograd follows."""
        source = _unhooked(tensor)
        return id(source) if isinstance(source, torch.Tensor) else self._keys.get(source, 0)

    def leaf(self, tensor: torch.Tensor) -> int:
        """The number of a leaf's value at this use; a new one if it has changed since the last."""
        values = self.leaves.setdefault(id(tensor), (tensor, []))[1]
        now = widened(tensor)
        if not values or not torch.equal(values[-1], now):
            values.append(now)
        return len(values) - 1

    def fixed(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor's value now, in float64; the same copy as long as nothing wrote to it."""
        if tensor.is_inference():
            return widened(tensor)
        value = widened(tensor)
        known = self._fixed.get(id(tensor))
        if known is not None and known[0] is tensor and torch.equal(known[1], value):
            return known[1]
        self._fixed[id(tensor)] = (tensor, value)
        return value

    def record(
        self,
        function: Callable[..., Any],
        arguments: list[Any],
        flat: list[Any],
        shape: Any,
        result: Any,
        before: torch.Tensor,
        line: int,
    ) -> None:
        """Record a call that returned `result`; `before` is the random state it started from."""
        name = getattr(function, "__name__", "")
        if name == "__get__":
            name = getattr(function.__self__, "__name__", "")  # type: ignore[attr-defined]
            if name == "grad":
                return  # the result of an earlier backward, not of an operation
        made = [flat[0]] if name == "__setitem__" else tree.tree_flatten(result)[0]
        outputs = [
            (place, id(item))
            for place, item in enumerate(made)
            if isinstance(item, torch.Tensor) and item.grad_fn is not None
        ]
        if not outputs:
            return
        for place, key in outputs:
            self._keys[id(made[place].grad_fn), made[place].output_nr] = key
        written = {key for _, key in outputs}
        arguments = [
            ConstantInput(given.value, fresh=True)
            if isinstance(given, ConstantInput) and id(item) in written
            else given
            for given, item in zip(arguments, flat, strict=True)
        ]
        drew = None if torch.equal(before, torch.get_rng_state()) else before
        tensors = [item for item in (*flat, *made) if isinstance(item, torch.Tensor)]
        call = TapedCall(
            _WIDENED.get(function, function),
            name,
            line,
            arguments,
            shape,
            outputs,
            drew,
            tensors,
            {s for item in made if isinstance(item, torch.Tensor) for s in _storage(item)},
        )
        self.calls.append(call)
        self.bytes += _size(call)
        while len(self.calls) > MOST_CALLS or self.bytes > MOST_BYTES:
            self.bytes -= _size(self.calls.popleft())

    # -- what has to be repeated ---------------------------------------------------------------

    def behind(self, roots: Iterable[torch.Tensor]) -> list[TapedCall]:
        """The calls the roots were computed by, in order. Raises CannotRepeat."""
        roots = list(roots)
        needed = {self.key_of(root) for root in roots if root.grad_fn is not None}
        storages = {s for root in roots for s in _storage(root)}
        needed_calls: list[TapedCall] = []
        made: set[int] = set()
        for call in reversed(self.calls):
            keys = {key for _, key in call.outputs}
            if not needed_calls and not keys & needed:
                continue  # after the roots were made
            if keys & needed or call.storages & storages:
                needed_calls.append(call)
                made |= keys
                needed |= {given.key for given in call.followed()}
                for item in call.holds:
                    if id(item) in needed:
                        storages.update(_storage(item))
        if all(root.grad_fn is None for root in roots):
            raise CannotRepeat("Backward started at a leaf, so there is nothing to check.")
        unknown = needed - made - set(self.leaves)
        if unknown or not needed_calls:
            raise CannotRepeat(
                "Part of the computation cannot be repeated here: it was made by torch.func, "
                "read from .grad, written through a view, or ran too long ago."
            )
        return needed_calls[::-1]

    def used(self, calls: Iterable[TapedCall]) -> dict[int, torch.Tensor]:
        """The leaves these calls use, by key, with their values then. Raises CannotRepeat."""
        uses = {given for call in calls for given in call.followed() if given.key in self.leaves}
        if len({given.key for given in uses}) < len(uses):
            raise CannotRepeat("A leaf was changed between two of its uses before backward.")
        return {given.key: self.leaves[given.key][1][given.use] for given in uses}


# -- repeating ------------------------------------------------------------------------------


def repeat(
    calls: Iterable[TapedCall], leaves: Mapping[int, torch.Tensor]
) -> dict[int, torch.Tensor]:
    """Repeat the calls with these values for the leaves. Returns every followed tensor, by key."""
    values = dict(leaves)
    for call in calls:
        flat = [_value(item, values) for item in call.arguments]
        args, kwargs = tree.tree_unflatten(flat, call.shape)
        if call.random is not None:
            torch.set_rng_state(call.random)
        result = call.function(*args, **kwargs)
        made = [flat[0]] if call.name == "__setitem__" else tree.tree_flatten(result)[0]
        for place, key in call.outputs:
            values[key] = made[place]
    return values


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Restore the random state afterwards: repeated calls draw again."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def _value(item: Any, values: Mapping[int, torch.Tensor]) -> Any:
    if isinstance(item, FollowedInput):
        return values[item.key]
    if isinstance(item, ConstantInput):
        return item.value.clone() if item.fresh else item.value
    return item


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in float64 (complex128); other types unchanged."""
    wide = _WIDER.get(tensor.dtype, tensor.dtype)
    return tensor.detach().to(wide, copy=True)


def _unhooked(tensor: torch.Tensor) -> Any:
    """A leaf itself; for another tensor its node and the number of its output.

    nn.Module wraps the inputs and outputs of a module with full backward hooks in an identity of
    its own, which no torch function makes: this looks behind it.
    """
    if tensor.grad_fn is None:
        return tensor
    node: Any = tensor.grad_fn
    place = tensor.output_nr
    while type(node).__name__ == "BackwardHookFunctionBackward":
        node, place = node.next_functions[place]
        leaf = leaf_of(node)
        if leaf is not None:
            return leaf
    return id(node), place


def _size(call: TapedCall) -> int:
    keys = {key for _, key in call.outputs}
    return sum(t.numel() * t.element_size() for t in call.holds if id(t) in keys)


def _storage(tensor: torch.Tensor) -> Iterator[int]:
    try:
        yield tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return
