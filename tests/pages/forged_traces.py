"""Traces that a child could answer: of the right types, and wrong."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.trace import run, to_plain

SOURCE = """import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.ones(2, requires_grad=True)
x.register_hook(lambda g: g * 2)
y = (x * w).sum()
y.backward()
z = (x * 3).sum()
z.backward()
"""
LONG, MANY = 10**5, 1000
Forge = Callable[[dict[str, Any]], None]


def array(values: Any, shape: tuple[int, ...] | None = None) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(np.asarray(values, np.float32))
    return plain if shape is None else plain | {"shape": list(shape)}


def zeros(*shape: int) -> dict[str, Any]:
    data = base64.b64encode(bytes(int(np.prod(shape)))).decode()
    return {"$": "array", "dtype": "|b1", "shape": list(shape), "data": data}


def honest() -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(run(SOURCE))
    return plain


def each(part: str, **changes: Any) -> Forge:
    """Change these fields of every tensor, event, …, or of every node, edge or step."""

    def forge(plain: dict[str, Any]) -> None:
        owners = plain["passes"] if part in ("nodes", "edges", "steps") else [plain]
        for item in (item for owner in owners for item in owner[part]):
            item.update(changes)

    return forge


_SIGNS = {"": 1, "-": -1}


def many(part: str, count: int = MANY, **changing: str) -> Forge:
    """Repeat the first item so often, each with its number in these fields: in a text, or as it
    is (""), or negative ("-")."""

    def forge(plain: dict[str, Any]) -> None:
        for owner in plain["passes"] if part in ("nodes", "edges", "steps") else [plain]:
            first = owner[part][0]
            owner[part] = [
                first | {k: v.format(i) if "{" in v else i * _SIGNS[v] for k, v in changing.items()}
                for i in range(count)
            ]

    return forge


def answers(count: int, text: str = "t") -> Forge:
    answer = {"$": "Answer", "key": "k", "title": text, "text": text}
    return lambda plain: plain.update(answers=[answer] * count)


def cyclic(plain: dict[str, Any]) -> None:
    for shown in plain["passes"]:
        ids = [node["id"] for node in shown["nodes"]]
        shown["edges"] = [{"$": "Edge", "source": a, "target": b} for a in ids for b in ids]


def without(*parts: str) -> Forge:
    return lambda plain: plain.update({part: [] for part in parts})


def curves(**changes: Any) -> Forge:
    """Change these fields of every curve, of a run that is long enough to show them."""

    def forge(plain: dict[str, Any]) -> None:
        each("curves", **changes)(plain)
        plain["pass_count"] = 10

    return forge


SUMMARY = {
    "$": "Summary",
    "shape": [10**6],
    "min": float("nan"),
    "max": float("inf"),
    "mean": 0.0,
    "norm": -1.0,
    "nonfinite": -5,
    "counts": [],
    "edges": [],
    "corner": array([]),
}

FORGED: dict[str, Forge] = {
    "lines out of range": each("tensors", line=10**9),
    "negative lines": each("tensors", line=-7),
    "negative lines of nodes": each("nodes", line=-7),
    "many nodes of negative lines": many("nodes", 1000, id="n{}", line="-"),
    "lines of nodes out of range": each("nodes", line=2**63),
    "tensors that do not exist": each("nodes", tensor=10**6),
    "one id for all tensors": each("tensors", id=1),
    "one id for all nodes": each("nodes", id="n0"),
    "edges to missing nodes": each("edges", source="n99", target="n98"),
    "a cycle": cyclic,
    "20,000 nodes": many("nodes", 20_001, id="n{}"),
    "3,000 nodes on lines of their own": many("nodes", 3000, id="n{}", line=""),
    "10,000 edges": many("edges", 10_000),
    "steps of missing nodes": each("steps", node="n99"),
    "flows to missing nodes": each(
        "steps", grads_out=[{"$": "Flow", "to": "n99", "slot": -1, "grad": None}]
    ),
    "steps without gradients": each("steps", grads_in=[], grads_out=[]),
    "2,000 steps": many("steps", 2000, number=""),
    "1,000 gradients in": each("steps", grads_in=[None] * MANY),
    "no nodes": each("passes", nodes=[]),
    "no steps": each("passes", steps=[]),
    "no tensors": without("tensors"),
    "no passes": without("passes"),
    "no events": without("events"),
    "numbers of passes that do not exist": each("passes", number=-3),
    "fewer passes than there are": lambda plain: plain.update(pass_count=-1),
    "fewer events than there are": lambda plain: plain.update(event_count=-1),
    "fewer steps than there are": each("passes", step_count=-1),
    "10 passes": lambda plain: plain.update(
        passes=[plain["passes"][0] | {"number": i} for i in range(10)]
    ),
    "5,001 tensors": many("tensors", 5001, id=""),
    "1,000 tensors of one name": many("tensors", id="", version=""),
    "1,000 variables": lambda plain: plain.update(variables={f"v{i}": i for i in range(MANY)}),
    "1,000 events": many("events", number=""),
    "1,000 changes": each(
        "events", changes=[{"$": "Change", "name": "x", "before": array([1]), "after": None}] * MANY
    ),
    "1,000 answers": answers(MANY),
    "long answers": answers(12, "x" * LONG * 10),
    "1,000 notes": lambda plain: plain.update(notes=["note. more"] * MANY),
    "long names": each("tensors", name="n" * LONG),
    "long names of nodes": each("nodes", name="n" * LONG, label="l" * LONG),
    "long events": each("events", what="n" * LONG, name="x" * LONG),
    "a long formula": each("steps", formula="x" * LONG, numbers="y" * LONG),
    "a long root": each("passes", root="r" * LONG, call="c" * LONG),
    "a long output": lambda plain: plain.update(output="o" * LONG * 100),
    "NaN and inf": each(
        "tensors", value=array([float("nan"), float("inf")]), grad=array([float("-inf")] * 2)
    ),
    "arrays without elements": each("tensors", value=array([], (0,)), grad=array([], (3, 0, 2))),
    "arrays of six dimensions": each(
        "tensors", value=zeros(2, 2, 2, 2, 2, 2), grad=zeros(1, 1, 1, 1, 1, 300)
    ),
    "arrays of other shapes": each("tensors", shape=[7, 7], value=array([1, 2, 3]), grad=array(5)),
    "large arrays": each("tensors", value=zeros(10**6), grad=zeros(1, 10**6)),
    "shapes of negative sizes": each("tensors", shape=[-1] * 64),
    "shapes of 1,000 axes": each("tensors", shape=[3] * MANY),
    "empty summaries": each("tensors", value=SUMMARY, grad=SUMMARY),
    "summaries of other shapes": each(
        "tensors", shape=[2**60] * 4, value=SUMMARY | {"shape": [-1] * 30}
    ),
    "complex numbers": each(
        "tensors", value=to_plain(np.array([1j, 2])), grad=to_plain(np.array([1j, 2]))
    ),
    "numbers of bytes": each("tensors", nbytes=-(2**63)),
    "visits out of range": each("tensors", origin={"$": "Origin", "visit": -1, "visits": 2**63}),
    "negative versions": each("tensors", autograd={"$": "AutogradState", "version": -1}),
    "long scopes": each("tensors", origin={"$": "Origin", "scope": "s" * LONG}),
    "long nodes": each("tensors", autograd={"$": "AutogradState", "grad_fn": "g" * LONG}),
    "large tangents": each("tensors", autograd={"$": "AutogradState", "tangent": zeros(10**6)}),
    "unknown words": each(
        "tensors",
        grad_from="nowhere",
        why_none={"$": "WhyNone", "text": "w" * LONG, "term": "nothing"},
        dtype="d" * LONG,
    ),
    "the program needs a gradient": lambda plain: plain.update(needs_upstream="y" * LONG),
    "an error without a place": lambda plain: plain.update(
        error={
            "$": "ProgramError",
            "message": "m" * LONG,
            "line": -5,
            "column": 2**60,
            "text": "t" * LONG,
        }
    ),
    "own backward": each("steps", own=-3),
    "more passes than a number can count": lambda plain: plain.update(pass_count=2**63),
    "very many passes": lambda plain: plain.update(pass_count=2**31),
    "curves of long names": curves(name="n" * 1000),
    "100 curves": lambda plain: plain.update(curves=plain["curves"] * 50),
    "curves of another kind": curves(kind="k" * MANY),
    "curves without values": curves(at=[], values=[]),
    "curves of fewer values": curves(at=[1, 2, 3]),
    "curves of NaN": curves(values=[float("nan"), float("inf")]),
    "curves of large numbers": curves(values=[1.7e308, -1.7e308]),
    "curves of whole numbers": curves(values=[2**63, -(2**63)]),
    "curves at passes that do not exist": curves(at=[2**31 - 1, 2**31]),
    "curves at one pass": curves(at=[1, 1]),
    "curves at negative passes": curves(at=[-2, -1]),
}
