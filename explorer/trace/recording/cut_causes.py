"""What cuts a value from the graph: the reason in words, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class CutCause:
    """Why a result has no history, as the end of "… on line 4: ", and the cure; `{name}` is the
    tensor. `is_deliberate`: this is also how programs cut on purpose."""

    why: str
    cure: str
    is_deliberate: bool = False


_POSITION = "Use softmax, which is smooth; for classes, a loss of the scores, as F.cross_entropy."

#: By `Cut.cause`, which is the name of a function or one of the other causes below.
CUT_CAUSES: dict[str, CutCause] = {
    "detach": CutCause(
        "detach() gives the same values without their history",
        "Use {name} itself, without detach(), where the gradient must flow.",
        is_deliberate=True,
    ),
    "inside": CutCause(
        "the function called here gives the values without their history",
        "Use {name} itself.",
        is_deliberate=True,
    ),
    "detach_": CutCause("detach_() removes the history", "Leave out detach_().", True),
    "data": CutCause(
        ".data gives the same values without their history",
        "Use {name} itself, without .data.",
        is_deliberate=True,
    ),
    "item": CutCause(
        "item() gives a plain Python number, which has no history",
        "Use {name} itself, without item(), where the gradient must flow.",
    ),
    "__float__": CutCause(
        "float() gives a plain Python number, which has no history",
        "Use {name} itself, and torch functions in place of those of math.",
    ),
    "__int__": CutCause(
        "int() gives a plain Python number, which has no history",
        "Use {name} itself, without int(), where the gradient must flow.",
    ),
    "tolist": CutCause(
        "tolist() gives plain Python numbers, which have no history",
        "Compute with {name} itself, without tolist().",
    ),
    "numpy": CutCause(
        "numpy() gives an array, and autograd does not record what numpy computes",
        "Use torch's functions of the same names, on {name} itself.",
    ),
    "__array__": CutCause(
        "autograd does not record what numpy computes",
        "Use torch's functions of the same names, on {name} itself.",
    ),
    "tensor": CutCause(
        "torch.tensor(t) copies only the numbers, not their history",
        "Use {name} itself, without torch.tensor.",
    ),
    "as_tensor": CutCause("only the numbers are copied, not their history", "Use {name} itself."),
    "list": CutCause(
        "torch.tensor([…]) copies only the numbers of the tensors in the list, not their history",
        "Join them with torch.stack([…]), or torch.cat.",
    ),
    "Parameter": CutCause(
        "nn.Parameter makes a new leaf, with the values of {name} but not its history",
        "Use {name} itself; a Parameter is only for what an optimizer changes.",
        is_deliberate=True,
    ),
    "Variable": CutCause(
        "Variable makes a new tensor, with the values of {name} but not its history",
        "Use {name} itself; every tensor is a Variable today.",
    ),
    "Buffer": CutCause(
        "nn.Buffer keeps the values of {name}, not its history", "Use {name} itself."
    ),
    "checkpoint": CutCause(
        "checkpoint(…, use_reentrant=True) records nothing unless one of its inputs requires grad",
        "Pass use_reentrant=False.",
    ),
    "without_graph": CutCause("the gradient of {name} has no graph", ""),
    "constant": CutCause(
        "{name} is a linear function, so its gradient is a constant, which has no graph",
        "The derivative of a constant is 0: there is nothing to compute.",
    ),
    "__deepcopy__": CutCause(
        "copy.deepcopy makes a new leaf, with the values of {name} but not its history",
        "Use {name}.clone(), which autograd records.",
        is_deliberate=True,
    ),
    "argmax": CutCause(
        "argmax gives a position, an integer, which has no derivative",
        _POSITION,
    ),
    "argmin": CutCause(
        "argmin gives a position, an integer, which has no derivative",
        "Use a weighted mean with softmax(-{name}), a smooth argmin.",
    ),
    "argsort": CutCause(
        "argsort gives positions, integers, which have no derivative",
        "Use the sorted values of torch.sort; they have gradients.",
    ),
    "no_grad": CutCause(
        "nothing is recorded inside torch.no_grad()",
        "Compute it outside torch.no_grad().",
        is_deliberate=True,
    ),
    "inference_mode": CutCause(
        "nothing is recorded inside torch.inference_mode()",
        "Compute it outside torch.inference_mode().",
        is_deliberate=True,
    ),
    "set_grad_enabled": CutCause(
        "recording is switched off by torch.set_grad_enabled(False)",
        "Switch it on again before you compute the loss; with torch.no_grad(): does so by itself.",
    ),
    "bool": CutCause(
        "a comparison gives True or False, which has no derivative",
        "Use a smooth function such as sigmoid instead of the comparison.",
    ),
    "integer": CutCause(
        "integers have no gradient", "Keep floating-point numbers where the gradient must flow."
    ),
    "indices": CutCause(
        "the second result is a position, an integer, which has no derivative",
        _POSITION,
    ),
    "sample": CutCause(
        "sample() draws without recording how the result depends on the parameters",
        "Use the log-probability of the sample, dist.log_prob(…), in the loss.",
    ),
    "reparameterized": CutCause(
        "sample() draws without recording how the result depends on the parameters",
        "Use rsample(), which computes the sample from the parameters.",
    ),
    "multinomial": CutCause(
        "multinomial draws positions, integers, which have no derivative",
        "Use the log-probability of what was drawn in the loss.",
    ),
    "grad": CutCause(
        "torch.autograd.grad without create_graph gives plain numbers",
        "Pass create_graph=True to torch.autograd.grad.",
    ),
    "other": CutCause("this function has no derivative", "Use a function that has a derivative."),
}


#: Operations that are linear, and those that are if only one of their inputs has a graph.
_LINEAR = re.compile(
    r"(AccumulateGrad|(Add|Sub|Rsub|Neg|Sum|Mean|View|UnsafeView|Clone|T|Transpose)Backward\d)$"
).match
_PRODUCTS = re.compile(r"(Mul|Mm|Mv|Dot)Backward\d$").match


def is_linear(nodes: Iterable[Any]) -> bool:
    """Whether a graph of these nodes is certain to compute a linear function."""
    for node in nodes:
        name, sources = type(node).__name__, [source for source, _ in node.next_functions]
        is_product = _PRODUCTS(name) and None in sources
        is_quotient = name == "DivBackward0" and sources[-1] is None
        if not (_LINEAR(name) or is_product or is_quotient):
            return False
    return True


def find_cause(function: str, result: torch.Tensor, recording: bool) -> str:
    """The key in `CUT_CAUSES` of the reason why a result has no history."""
    if function in CUT_CAUSES:
        return function
    if not recording:
        return "inference_mode" if torch.is_inference_mode_enabled() else "no_grad"
    if not result.is_floating_point() and not result.is_complex():
        if function in ("max", "min", "sort", "topk", "median", "mode", "kthvalue"):
            return "indices"
        return "bool" if result.dtype == torch.bool else "integer"
    return "other"
