"""Gradients that are 0 although the graph is complete: flat operations and vanishing chains.

Asked at https://github.com/pytorch/pytorch/issues/39435
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from explorer import limits
from explorer.trace.explain.cures import with_cures
from explorer.trace.explain.in_place import unseen_writes
from explorer.trace.explain.nonfinite_backward import owners_of
from explorer.trace.explain.nonfinite_values import is_nonfinite
from explorer.trace.explain.run_analysis import RunAnalysis, is_small_array, short_text
from explorer.trace.explain.zero_causes import cause_of, constant_result
from explorer.trace.explain.zero_cures import ADVICE, checks, cures
from explorer.trace.explain.zero_step import Cause, ZeroStep, spoken_name
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.passes import RawPass, RawStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaf_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names, number

#: Squashing functions, and their derivative computed from their result.
SQUASHING = {
    "SigmoidBackward0": ("sigmoid", lambda s: s * (1 - s)),
    "TanhBackward0": ("tanh", lambda t: 1 - t * t),
}
#: A chain is weak when at least this many factors multiply to less than that.
FEWEST, WEAK = 3, 1e-3
#: With so many places at which gradients of one leaf become 0, none is shown.
MOST_STOPS = 5
#: A gradient this much smaller than the one before is 0, up to rounding.
ROUNDING = 1e-5
#: The keys of answers, by that of the cause, where they have one of their own.
KEYS = {"cancels": "zero.cancels", "weights": "zero.weights"}
#: Finds a gradient that the program looks at. Without one, nobody asks why one of many gradients
#: cancels: that of the last bias of a critic always does.
_GRADIENT = re.compile(r"\.grad\b(?!\s*=[^=])").search
#: Parts of the names of what is to become small.
LOSSES = ("loss", "cost", "hinge", "penalty", "objective", "error")


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Why a gradient is 0 and not None, and why one is tiny."""
    for raw_pass in analysis.passes:
        if raw_pass.call == "torch.autograd.grad" and not raw_pass.steps:
            continue
        roots = map(analysis.recorder.find, raw_pass.roots)
        if any(root is not None and is_nonfinite(root.captured) for root in roots):
            continue
        paths = list(paths_to_leaves(raw_pass))
        yield from _flat(raw_pass, paths, analysis)
        yield from _weak(raw_pass, paths, analysis)


@dataclass(frozen=True, eq=False)
class Path:
    """All steps of a pass from which the leaf can be reached, in the order they ran.

    `line` is one way through them, from the root to the leaf; `arrived` the gradient at its end.
    """

    leaf: torch.Tensor
    nodes: frozenset[Any]
    steps: list[RawStep]
    line: list[RawStep]
    arrived: CapturedValues | None


def paths_to_leaves(raw_pass: RawPass) -> Iterator[Path]:
    """The Path of every leaf of a pass. The work is leaves times edges: meant for small graphs."""
    users: dict[Any, list[Any]] = {}
    for node in raw_pass.functions:
        for source, _ in node.next_functions:
            if source is not None:
                users.setdefault(source, []).append(node)
    step_at = {raw_pass.functions[step.function]: step for step in raw_pass.steps}
    leaves = [node for node in raw_pass.functions if leaf_of(node) is not None]
    for node in leaves[: limits.MOST_SEARCHED_LEAVES]:
        above = {node}
        waiting = [node]
        while waiting:
            for user in users.get(waiting.pop(), ()):
                if user not in above:
                    above.add(user)
                    waiting.append(user)
        chain = [node]
        while users.get(chain[-1]):
            chain.append(users[chain[-1]][0])
        last = step_at.get(node)
        yield Path(
            leaf=node.variable,
            nodes=frozenset(above),
            steps=[s for s in raw_pass.steps if raw_pass.functions[s.function] in above],
            line=[step_at[n] for n in reversed(chain) if n in step_at],
            arrived=last.grads_in[0] if last is not None and last.grads_in else None,
        )


# -- flat operations ------------------------------------------------------------------------


def _flat(raw_pass: RawPass, paths: list[Path], analysis: RunAnalysis) -> Iterator[Answer]:
    """One answer for each place at which gradients become 0."""
    groups: dict[Any, Group] = {}
    owners: dict[Any, LiveTensor] | None = None
    for path in paths:
        grad = path.leaf.grad if path.leaf.numel() else None
        if path.arrived is None or grad is None:
            continue
        owners = owners_of(raw_pass, analysis) if owners is None else owners
        group = _always_the_same(path, raw_pass, owners, analysis)
        if group is None and not has_nonzero(path.arrived) and not bool(grad.any()):
            group = _stopped(path, raw_pass, owners, analysis)
        if group is not None:
            known = groups.setdefault(group.key, group)
            known.leaves.append(path.leaf)
    learns = any(path.arrived is not None and has_nonzero(path.arrived) for path in paths)
    for group in _merged(list(groups.values())):
        if not (learns and group.causes[0][1] == "cancels" and not _GRADIENT(analysis.source)):
            yield from _answer(group, raw_pass, analysis)


@dataclass
class Group:
    """Leaves whose gradients become 0 in the same places, and why. `is_rounded` says that they
    are 0 up to rounding."""

    stops: list[ZeroStep]
    causes: list[Cause]
    leaves: list[torch.Tensor] = field(default_factory=list)
    is_rounded: bool = False

    @property
    def key(self) -> Any:
        return tuple((stop.step.function, stop.slot) for stop in self.stops), tuple(self.causes)


def _stopped(
    path: Path, raw_pass: RawPass, owners: dict[Any, LiveTensor], analysis: RunAnalysis
) -> Group | None:
    """The steps at which a gradient becomes 0 on the ways to a leaf, if all causes are certain."""
    steps = [s for s in path.steps if receives(s) and not _passes_on(s, raw_pass, path)]
    if len(steps) > MOST_STOPS:
        return None
    if any(True for step in steps for _ in unseen_writes(raw_pass, step, analysis)):
        return None  # which has an answer of its own: the operation is not flat at its input
    stops = [_stop(step, raw_pass, path, owners, analysis) for step in steps]
    causes = [cause_of(stop) for stop in stops]
    if not stops:
        return _cancelled(path, raw_pass, owners, analysis)
    known = [cause for cause in causes if cause is not None]
    return Group(stops, known) if len(known) == len(stops) else None


def _always_the_same(
    path: Path, raw_pass: RawPass, owners: dict[Any, LiveTensor], analysis: RunAnalysis
) -> Group | None:
    """An operation on every way to a leaf, on whose input the result does not depend."""
    if path.arrived is None:
        return None
    for step in path.steps:
        kind = type(raw_pass.functions[step.function]).__name__
        if not kind.startswith(("Softmax", "LogSoftmax", "Native")):
            continue
        stop = _stop(step, raw_pass, path, owners, analysis)
        cause = constant_result(stop)
        received, arrived = stop.received, path.arrived.array()
        if cause is None or received is None or not isinstance(arrived, np.ndarray):
            continue
        largest = float(np.abs(arrived).max(initial=0))
        is_least = largest <= ROUNDING * float(np.abs(received).max())
        if is_least and _is_on_every_way(raw_pass.functions[step.function], raw_pass, path):
            return Group([stop], [cause], is_rounded=largest > 0)
    return None


def _is_on_every_way(node: Any, raw_pass: RawPass, path: Path) -> bool:
    """Whether a leaf cannot be reached from the roots without passing this node."""
    waiting = [n for n in raw_pass.functions[:1] if n is not node]
    visited = set(waiting)
    while waiting:
        for target, _ in waiting.pop().next_functions:
            if leaf_of(target) is path.leaf:
                return False
            if target is not None and target is not node and target not in visited:
                visited.add(target)
                waiting.append(target)
    return True


def _cancelled(
    path: Path, raw_pass: RawPass, owners: dict[Any, LiveTensor], analysis: RunAnalysis
) -> Group | None:
    """A tensor that is used several times, whose gradients add up to 0."""
    for step in path.steps:
        node = raw_pass.functions[step.function]
        parts = [
            (other, kept)
            for other in raw_pass.steps
            for (target, _), kept in zip(
                raw_pass.functions[other.function].next_functions, other.grads_out, strict=False
            )
            if target is node and kept is not None and has_nonzero(kept)
        ]
        if receives(step) or len(parts) < 2:
            continue
        leaf = leaf_of(node)
        live = owners.get(node)
        name = analysis.name_of(leaf) if leaf is not None else spoken_name(live) if live else ""
        if not name:
            return None
        users = [owners.get(raw_pass.functions[other.function]) for other, _ in parts]
        places = [
            f"{spoken_name(user)} (line {user.statement})" for user in users if user is not None
        ]
        values = " + ".join(short_text(kept.array()) for _, kept in parts[:3])
        text = f"the gradients of {name} from {join_names(places)} cancel: {values} = 0"
        return Group([_stop(step, raw_pass, path, owners, analysis)], [(text, "cancels")])
    return None


def _merged(groups: list[Group]) -> list[Group]:
    """Factors on one line that make each other's gradient 0, and all that one dead relu does, in
    one group each."""
    merged: dict[Any, Group] = {}
    for index, group in enumerate(groups):
        key = group.causes[0][1]
        place: Any = index
        if key in ("factor", "weights", "relu"):
            place = (key == "relu", group.stops[0].line)
        if place not in merged:
            merged[place] = group
            continue
        first = merged[place]
        first.leaves += group.leaves
        is_relu = group.stops[0].kind.startswith("Relu")
        if key == "relu":
            first.stops, first.causes = (
                (group.stops, group.causes) if is_relu else (first.stops, first.causes)
            )
        elif key == "weights":
            first.stops, first.causes = group.stops + first.stops, group.causes + first.causes
        else:
            first.stops, first.causes = first.stops + group.stops, first.causes + group.causes
    return list(merged.values())


def _stop(
    step: RawStep, raw_pass: RawPass, path: Path, owners: dict[Any, LiveTensor],
    analysis: RunAnalysis,
) -> ZeroStep:  # fmt: skip
    node = raw_pass.functions[step.function]
    slot = next((i for i, (to, _) in enumerate(node.next_functions) if to in path.nodes), 0)
    live = owners.get(node)
    line = live.statement if live is not None else node.metadata.get("line")
    root = raw_pass.roots[0].detach() if raw_pass.roots else None
    loss = float(root) if root is not None and root.numel() == 1 else None
    is_own = analysis.result_of_node(node) is not None
    result = analysis.recorder.find(raw_pass.roots[0]) if raw_pass.roots else None
    names = (result.name, result.operation) if result is not None else ()
    is_loss = any(word in name.lower() for name in names for word in LOSSES)
    return ZeroStep(
        type(node).__name__, step, live, slot, line, loss, is_own, is_loss, raw_pass.leaves
    )


def _answer(group: Group, raw_pass: RawPass, analysis: RunAnalysis) -> Iterator[Answer]:
    names = tuple(dict.fromkeys(map(analysis.name_of, group.leaves)))
    first, (_, key) = group.stops[0], group.causes[0]
    if key == "minimum" and any(_was_reached(leaf, raw_pass, analysis) for leaf in group.leaves):
        return
    uses = analysis.recorder.events.optimizers.values()
    if key == "cancels" and any(use.steps for use in uses):
        return  # as that of a critic's last bias, which both losses use
    sentences = list(dict.fromkeys(cause[0] for cause in group.causes))
    shown = [f"{name}.grad" for name in names]
    rounding = ", up to rounding" if group.is_rounded else ""
    answer = Answer(
        key=KEYS.get(key, "zero.flat"),
        title=f"Why {'is' if len(shown) == 1 else 'are'} {join_names(shown)} 0{rounding}?",
        text=f"The path to {join_names(names)} is complete, but {'; and '.join(sentences)}.",
        cure=ADVICE.get(key, ""),
        line=first.line or raw_pass.line,
        names=names,
        glossary="flat",
        symptom=Symptom("zero", names),
    )
    yield with_cures(
        answer, cures(first, key, analysis), is_certain=True, checks=checks(first, key, analysis)
    )


def _was_reached(leaf: torch.Tensor, raw_pass: RawPass, analysis: RunAnalysis) -> bool:
    """Whether a leaf has come to a minimum in the course of the run."""
    return any(raw.number < raw_pass.number and id(leaf) in raw.leaves for raw in analysis.passes)


# -- vanishing gradients --------------------------------------------------------------------


def _weak(raw_pass: RawPass, paths: list[Path], analysis: RunAnalysis) -> Iterator[Answer]:
    for path in paths:
        squashing = [
            step
            for step in path.line
            if type(raw_pass.functions[step.function]).__name__ in SQUASHING
        ]
        factors = [_largest_derivative(step, raw_pass) for step in squashing]
        known = [factor for factor in factors if factor is not None]
        product = float(np.prod(known)) if known else 1.0
        if len(known) < FEWEST or len(known) < len(factors) or product > WEAK:
            continue
        if path.arrived is None or (not has_nonzero(path.arrived) and product > 1e-30):
            continue
        name = analysis.name_of(path.leaf)
        kinds = {SQUASHING[type(raw_pass.functions[s.function]).__name__][0] for s in squashing}
        factors_text = " · ".join(number(factor) for factor in known[:6])
        more = " · …" if len(known) > 6 else ""
        largest = " (the largest of each)" if any(map(_has_several, squashing)) else ""
        yield Answer(
            key="zero.weak",
            title=f"Why is the gradient of {name} so small?",
            text=f"On the way back to {name}, the gradient is multiplied by the derivatives of "
            f"{len(known)} {' and '.join(sorted(kinds))} functions: {factors_text}{more} = "
            f"{number(product)}{largest}. The graph is complete, but the gradient vanishes.",
            cure="Use fewer of these functions in a row, relu instead, or normalised inputs.",
            line=analysis.line_of(path.leaf),
            names=(name,),
            glossary="vanishing",
            symptom=Symptom("remark", (name,)),
        )
        return


def _largest_derivative(step: RawStep, raw_pass: RawPass) -> float | None:
    """The largest derivative of a squashing function at the values it gave."""
    result = _saved_result(step)
    if result is None:
        return None
    derivative = SQUASHING[type(raw_pass.functions[step.function]).__name__][1]
    return float(np.max(np.abs(derivative(result.astype(np.float64)))))


def _saved_result(step: RawStep) -> np.ndarray | None:
    result = step.saved.get("result")
    array = result.array() if isinstance(result, CapturedValues) else None
    return array if is_small_array(array) else None


def _has_several(step: RawStep) -> bool:
    result = step.saved.get("result")
    return isinstance(result, CapturedValues) and int(np.prod(result.shape)) > 1


# -- gradients at a step --------------------------------------------------------------------


def has_nonzero(captured: CapturedValues) -> bool:
    """Whether any element is not 0; also where the values cannot be read."""
    array = captured.array()
    if isinstance(array, np.ndarray):
        return bool(array.any())
    return array is None or array.norm > 0


def receives(step: RawStep) -> bool:
    """Whether a gradient other than 0 arrived at this step."""
    return any(has_nonzero(kept) for kept in step.grads_in if kept is not None)


def _passes_on(step: RawStep, raw_pass: RawPass, path: Path) -> bool:
    """Whether a gradient other than 0 is passed on towards the leaf."""
    targets = raw_pass.functions[step.function].next_functions
    return any(
        kept is not None and target in path.nodes and has_nonzero(kept)
        for (target, _), kept in zip(targets, step.grads_out, strict=False)
    )
