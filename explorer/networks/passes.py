"""One forward and backward of any model, for whatever looks on: the recorder of `inspect`, hooks,
attention maps, memory, normalising layers, the graph of every node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from explorer import limits
from explorer.networks.borrow import Loan, borrow_seeded
from explorer.networks.statistics import dense

Loss = Callable[[Any], Tensor]


class Pass:
    """A model that is borrowed for one pass on `inputs`, and those `named`, which are copies."""

    def __init__(
        self,
        model: nn.Module,
        inputs: tuple[Any, ...],
        loss: Loss | None,
        loan: Loan,
        named: Mapping[str, Any],
    ) -> None:
        self.model, self.loan, self._loss = model, loan, loss
        self.inputs = tuple(copy_tensors(value) for value in inputs)
        self.named: dict[str, Any] = {name: copy_tensors(value) for name, value in named.items()}

    def on_calls(
        self,
        before: Callable[[str, nn.Module, Any], None] | None = None,
        after: Callable[[str, nn.Module, Any, Any], None] | None = None,
        always: bool = False,
    ) -> None:
        """From now on, `before(name, module, (args, kwargs))` is called before each call of a
        module, and `after(name, module, args, output)` after it; `always`, even after an error."""
        for name, module in self.model.named_modules():
            if before is not None:

                def enter(module: Any, args: Any, kwargs: Any, name: str = name) -> None:
                    before(name, module, (args, kwargs))

                self.loan.keep(module.register_forward_pre_hook(enter, with_kwargs=True))
            if after is not None:

                def leave(module: Any, args: Any, output: Any, name: str = name) -> None:
                    after(name, module, args, output)

                self.loan.keep(module.register_forward_hook(leave, always_call=always))

    def output(self) -> Any:
        """What the model returns. What it writes to its parameters is undone in the end."""
        with self.loan.operations:
            return self.model(*self.inputs, **self.named)

    def loss_of(self, output: Any) -> Tensor:
        """What the loss makes of an output; see `scalar_loss`."""
        return scalar_loss(output, self._loss)

    def forward(self) -> Tensor:
        """The loss."""
        return self.loss_of(self.output())

    def gradients(self) -> dict[str, Tensor]:
        """The gradients that the parameters have got, by name."""
        named = self.model.named_parameters()
        return {name: dense(p.grad) for name, p in named if p.grad is not None}


@contextmanager
def one_pass(
    model: nn.Module,
    inputs: tuple[Any, ...],
    loss: Loss | None = None,
    seed: int | None = None,
    grad: bool = True,
    named: Mapping[str, Any] | None = None,
) -> Iterator[Pass]:
    """Borrow the model for a pass; random numbers as for `borrow_seeded`."""
    with borrow_seeded(model, seed) as loan, torch.set_grad_enabled(grad):
        yield Pass(model, inputs, loss, loan, named or {})


def copy_tensors(value: Any) -> Any:
    """Every tensor in `value` as a leaf of its own: the caller's are neither changed nor given a
    gradient."""
    return tree_map_only(
        Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), value
    )


def tensors_in(value: Any, depth: int = 0) -> list[Tensor]:
    """All tensors in nested tuples, lists, dicts, and objects made to hold them (dataclasses)."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    elif not isinstance(value, tuple | list | nn.Module | type) and depth < 2:
        fields = getattr(value, "__dict__", None)
        value = tuple(fields.values()) if type(fields) is dict else ()
    if isinstance(value, tuple | list) and depth < limits.MOST_NESTED_OUTPUTS:
        return [tensor for part in value for tensor in tensors_in(part, depth + 1)]
    return []


def own_loss(output: Any) -> Tensor | None:
    """The loss that an output has itself, as those of transformers do."""
    own = getattr(output, "loss", None)
    return own if isinstance(own, Tensor) and own.numel() == 1 else None


def scalar_loss(output: Any, loss: Loss | None) -> Tensor:
    """What `loss` makes of the output; without it `own_loss`, or else the sum of all its
    floating-point elements."""
    if loss is not None:
        total = loss(output)
        if not isinstance(total, Tensor) or total.numel() != 1:
            raise ValueError("the loss is not a single number; reduce it with .mean() or .sum()")
        return total
    own = own_loss(output)
    if own is not None:
        return own
    sums = [t.sum() for t in tensors_in(output) if t.is_floating_point()]
    if not sums:
        raise ValueError("the output holds no floating-point tensor: pass a loss")
    return torch.stack(sums).sum() if sums[1:] else sums[0]
