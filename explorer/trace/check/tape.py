"""The operations behind a tensor, recorded so that they can be repeated in float64.

Only operations that autograd follows are repeated. Everything else (random draws, indices, results
of `detach`, of a comparison, or of a `no_grad` block) stays constant, as it is for autograd.
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

from explorer import limits
from explorer.trace.recording.objects import grad_fn_of
from explorer.trace.recording.torchviz_graph import leaf_of

#: The dtype in which to repeat an operation.
_WIDE_DTYPES = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
#: Casts, and the cast to use instead of each.
_WIDE_CASTS: dict[Any, Any] = {
    getattr(torch.Tensor, name): torch.Tensor.double for name in ("float", "half", "bfloat16")
}

#: Functions that compute no tensor, so they are not recorded.
_UNRECORDED = {"backward", "register_hook", "register_post_accumulate_grad_hook", "retain_grad"} | {
    *("requires_grad_", "__repr__", "__format__", "__hash__", "__len__", "size", "dim", "numel")
}


class CannotRepeat(Exception):
    """The operations cannot be repeated; the message says why, in a sentence for the reader."""


@dataclass(frozen=True)
class FollowedInput:
    """An argument of a call: a tensor that autograd follows.

    A leaf may be changed between calls; `use` is the number of its value at this call.
    """

    key: int
    use: int = 0


@dataclass(frozen=True, eq=False)
class ConstantInput:
    """An argument of a call: a tensor that stays constant, unless the call writes to it."""

    value: torch.Tensor
    is_written: bool = False


@dataclass
class TapedCall:
    """One operation: a function, its arguments, and the keys of the tensors it returned.

    `arguments` is a flat list, which `structure` says how to nest. `outputs` are pairs of a
    position among the results and a key. `random_state` is the state of the random generator
    before the call, if the call drew random numbers. `tensors` are its arguments and results,
    `storages` the memory addresses of its results.
    """

    function: Callable[..., Any]
    name: str
    line: int
    arguments: list[Any]
    structure: Any
    outputs: list[tuple[int, int]]
    random_state: torch.Tensor | None
    tensors: list[torch.Tensor]
    storages: set[int] = field(default_factory=set)

    def followed_inputs(self) -> Iterator[FollowedInput]:
        return (item for item in self.arguments if isinstance(item, FollowedInput))


class Tape(TorchFunctionMode):
    """Records the operations of a running program. `line` returns the running line."""

    def __init__(self, line: Callable[[], int]) -> None:
        super().__init__()
        self.line = line
        self.calls: deque[TapedCall] = deque()
        self.bytes = 0
        #: By id of a leaf: the leaf, and the values it had when it was used.
        self.leaves: dict[int, tuple[torch.Tensor, list[torch.Tensor]]] = {}
        #: By the id of an autograd node and the number of its output.
        self._keys: dict[tuple[int, int], int] = {}
        #: By id of a tensor: the tensor, and the copy of its value.
        self._constants: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__iter__:
            return iter(self.call(torch.Tensor.unbind, args, {}))
        return self.call(func, args, kwargs or {})

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run an operation, and record it if autograd follows its result."""
        flat, structure = tree.tree_flatten((args, kwargs))
        is_followed = torch.is_grad_enabled() and any(
            isinstance(item, torch.Tensor) and item.requires_grad for item in flat
        )
        if not is_followed or getattr(function, "__name__", "") in _UNRECORDED:
            return function(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            arguments = [self.to_recorded_argument(item) for item in flat]
            random_state, line = torch.get_rng_state(), self.line()
        result = function(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            self.record(function, arguments, flat, structure, result, random_state, line)
        return result

    def to_recorded_argument(self, item: Any) -> Any:
        """An argument in the form in which it is recorded."""
        if isinstance(item, torch.dtype):
            return _WIDE_DTYPES.get(item, item)
        if not isinstance(item, torch.Tensor):
            return item
        if not item.requires_grad:
            return ConstantInput(self.constant(item))
        source = _unhooked(item)
        if isinstance(source, torch.Tensor):
            return FollowedInput(id(source), self.leaf_use(source))
        return FollowedInput(self.key_of(item))

    def key_of(self, tensor: torch.Tensor) -> int:
        """The key of a tensor that autograd follows."""
        source = _unhooked(tensor)
        return id(source) if isinstance(source, torch.Tensor) else self._keys.get(source, 0)

    def leaf_use(self, tensor: torch.Tensor) -> int:
        """The number of a leaf's present value; a new one, if it has changed since its last use."""
        values = self.leaves.setdefault(id(tensor), (tensor, []))[1]
        now = to_float64(tensor)
        if not values or not torch.equal(values[-1], now):
            values.append(now)
        return len(values) - 1

    def constant(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy of the tensor in float64; the same copy as long as its values do not change."""
        if tensor.is_inference():
            return to_float64(tensor)
        value = to_float64(tensor)
        entry = self._constants.get(id(tensor))
        if entry is not None and entry[0] is tensor and torch.equal(entry[1], value):
            return entry[1]
        self._constants[id(tensor)] = (tensor, value)
        return value

    def record(
        self,
        function: Callable[..., Any],
        arguments: list[Any],
        flat: list[Any],
        structure: Any,
        result: Any,
        random_state: torch.Tensor,
        line: int,
    ) -> None:
        """Record a call that returned `result`; `random_state` is the state before it."""
        name = getattr(function, "__name__", "")
        if name == "__get__":
            name = getattr(function.__self__, "__name__", "")  # type: ignore[attr-defined]
            if name == "grad":
                return  # the result of an earlier backward, not of an operation
        results = [flat[0]] if name == "__setitem__" else tree.tree_flatten(result)[0]
        outputs = [
            (position, id(item))
            for position, item in enumerate(results)
            if isinstance(item, torch.Tensor) and grad_fn_of(item) is not None
        ]
        if not outputs:
            return
        for position, key in outputs:
            self._keys[id(results[position].grad_fn), results[position].output_nr] = key
        written = {key for _, key in outputs}
        arguments = [
            ConstantInput(argument.value, is_written=True)
            if isinstance(argument, ConstantInput) and id(item) in written
            else argument
            for argument, item in zip(arguments, flat, strict=True)
        ]
        drew_nothing = torch.equal(random_state, torch.get_rng_state())
        tensors = [item for item in (*flat, *results) if isinstance(item, torch.Tensor)]
        call = TapedCall(
            _WIDE_CASTS.get(function, function),
            name,
            line,
            arguments,
            structure,
            outputs,
            None if drew_nothing else random_state,
            tensors,
            {s for item in results if isinstance(item, torch.Tensor) for s in _storage(item)},
        )
        self.calls.append(call)
        self.bytes += _result_bytes(call)
        while len(self.calls) > limits.MOST_TAPED_CALLS or self.bytes > limits.MOST_TAPED_BYTES:
            self.bytes -= _result_bytes(self.calls.popleft())

    # -- which calls to repeat -----------------------------------------------------------------

    def calls_behind(self, roots: Iterable[torch.Tensor]) -> list[TapedCall]:
        """The calls that computed the roots, in order. Raises CannotRepeat."""
        roots = list(roots)
        needed = {self.key_of(root) for root in roots if root.grad_fn is not None}
        storages = {s for root in roots for s in _storage(root)}
        needed_calls: list[TapedCall] = []
        computed: set[int] = set()
        for call in reversed(self.calls):
            keys = {key for _, key in call.outputs}
            if not needed_calls and not keys & needed:
                continue  # it ran after the roots were computed
            if keys & needed or call.storages & storages:
                needed_calls.append(call)
                computed |= keys
                needed |= {source.key for source in call.followed_inputs()}
                for item in call.tensors:
                    if id(item) in needed:
                        storages.update(_storage(item))
        if all(root.grad_fn is None for root in roots):
            raise CannotRepeat("Backward started at a leaf, so there is nothing to check.")
        unknown = needed - computed - set(self.leaves)
        if unknown or not needed_calls:
            raise CannotRepeat(
                "Part of the computation cannot be repeated here: it was computed by torch.func, "
                "read from .grad, written through a view, or ran too long ago."
            )
        return needed_calls[::-1]

    def leaf_values(self, calls: Iterable[TapedCall]) -> dict[int, torch.Tensor]:
        """The values of the leaves that these calls use, by key. Raises CannotRepeat."""
        sources = (source for call in calls for source in call.followed_inputs())
        uses = {source for source in sources if source.key in self.leaves}
        if len({use.key for use in uses}) < len(uses):
            raise CannotRepeat("A leaf was changed between two of its uses before backward.")
        return {use.key: self.leaves[use.key][1][use.use] for use in uses}


# -- repeating ------------------------------------------------------------------------------


def repeat(
    calls: Iterable[TapedCall], leaves: Mapping[int, torch.Tensor]
) -> dict[int, torch.Tensor]:
    """Repeat the calls from these values of the leaves.

    Returns every tensor that autograd follows, by key.
    """
    values = dict(leaves)
    for call in calls:
        flat = [_value(item, values) for item in call.arguments]
        args, kwargs = tree.tree_unflatten(flat, call.structure)
        if call.random_state is not None:
            torch.set_rng_state(call.random_state)
        result = call.function(*args, **kwargs)
        results = [flat[0]] if call.name == "__setitem__" else tree.tree_flatten(result)[0]
        for position, key in call.outputs:
            values[key] = results[position]
    return values


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Restore the random state afterwards: repeated calls draw random numbers again."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def _value(item: Any, values: Mapping[int, torch.Tensor]) -> Any:
    if isinstance(item, FollowedInput):
        return values[item.key]
    if isinstance(item, ConstantInput):
        return item.value.clone() if item.is_written else item.value
    return item


def to_float64(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in float64 (complex128); other types unchanged."""
    wide = _WIDE_DTYPES.get(tensor.dtype, tensor.dtype)
    return tensor.detach().to(wide, copy=True)


def _unhooked(tensor: torch.Tensor) -> Any:
    """A leaf itself; for another tensor its node and the number of its output.

    If a module has full backward hooks, nn.Module passes its inputs and outputs through an identity
    function that is not a torch function, so the tape does not record it: it is skipped here.
    """
    if tensor.grad_fn is None:
        return tensor
    node: Any = tensor.grad_fn
    position = tensor.output_nr
    while type(node).__name__ == "BackwardHookFunctionBackward":
        node, position = node.next_functions[position]
        leaf = leaf_of(node)
        if leaf is not None:
            return leaf
    return id(node), position


def _result_bytes(call: TapedCall) -> int:
    keys = {key for _, key in call.outputs}
    return sum(t.numel() * t.element_size() for t in call.tensors if id(t) in keys)


def _storage(tensor: torch.Tensor) -> Iterator[int]:
    try:
        yield tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return
