"""What a step of the walk shows in the graph: the gradients that have arrived, and those on their
way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from explorer import limits
from explorer.trace import Array, BackwardPass, BackwardStep, Node, Summary, TensorRecord
from explorer.trace.text import number, shape_text
from explorer.view.edge_factors import (
    EdgeFactor,
    edge_factors,
    listed,
    numbers_text,
    program_names,
)
from explorer.view.graph import Marks, Move, Sum, inputs_of, users_of
from explorer.view.kept import kept_with_pass

#: Most characters of an array on an edge, and of one term of a sum.
_WIDTH, _TERM = 22, 9
#: Most characters of a product with its factor.
_PRODUCT = 34
#: Most terms of a sum that are written out.
_TERMS = 4


@dataclass(frozen=True)
class Selection:
    """The node, the tensor and the step (its place in `steps`) that belong together; any may be
    missing. `walking`: it was picked as a step of the walk, which hides what comes later."""

    node: Node | None = None
    tensor: TensorRecord | None = None
    step: int | None = None
    walking: bool = False

    @property
    def line(self) -> int | None:
        """The line of the program that made them."""
        for thing in (self.tensor, self.node):
            if thing is not None and thing.line:
                return thing.line
        return None


def marks(
    picked: Selection, shown: BackwardPass, nodes: Sequence[Node], where: Mapping[str, str]
) -> Marks:
    """What is highlighted in the graph: the chosen node, the step's node, and the edges along
    which it passes gradients, with what it sends along them. In a walk also the gradients that
    have not arrived. `nodes` are those drawn, `where` the one drawn for another."""

    def drawn(name: str) -> str:
        return where.get(name, name)

    chosen = drawn(picked.node.id) if picked.node else None
    if picked.step is None:
        return Marks(selected=chosen, walking=picked.walking)
    step = shown.steps[picked.step]
    ways = [(drawn(flow.to), drawn(step.node)) for flow in step.grads_out if flow.to is not None]
    edges = tuple(f"{a}-{b}" for a, b in ways if a != b)
    moving = _moving(step, shown, where)
    found = Marks(selected=chosen, current=drawn(step.node), active=edges, moving=moving)
    if not picked.walking:
        return found
    arrival = arrival_steps(shown)
    return replace(
        found,
        walking=True,
        hidden=tuple(n.id for n in nodes if arrival.get(n.id, -1) > picked.step),
        arriving=tuple(n.id for n in nodes if arrival.get(n.id) == picked.step),
        sums=tuple(_sums(picked.step, shown, {node.id for node in nodes}, where)),
    )


def raw_marks(index: int, shown: BackwardPass) -> Marks:
    """What a step sends and what stands at nodes meanwhile, by the ids of the pass, whatever of it
    is drawn."""
    every = program_names(shown).nodes
    return Marks(
        moving=_moving(shown.steps[index], shown, {}), sums=tuple(_sums(index, shown, every, {}))
    )


def awaited(
    picked: Selection, shown: BackwardPass, records: Sequence[TensorRecord]
) -> Mapping[int, int]:
    """The tensors whose gradient has not arrived at this step of a walk, by their ids, each with
    the number of the step that brings it."""
    if picked.step is None or not picked.walking:
        return {}
    arrivals = arrivals_of_tensors(shown, records).items()
    return {n: shown.steps[place].number for n, place in arrivals if place > picked.step}


def arrivals_of_tensors(shown: BackwardPass, records: Sequence[TensorRecord]) -> Mapping[int, int]:
    """By the ids of tensors with a gradient, the step (its place in `steps`) that brings it."""
    arrival = arrival_steps(shown)
    of_tensor = {n.tensor: arrival[n.id] for n in shown.nodes if n.id in arrival}
    # The graph shows one result of an operation, even where it has several.
    of_line = {(n.line, n.name): arrival[n.id] for n in shown.nodes if n.id in arrival}
    found = {}
    for record in records:
        place = of_tensor.get(record.id)
        if place is None and record.origin.visits == 1:
            place = of_line.get((record.line, record.autograd.grad_fn or ""))
        if place is not None and record.grad is not None:
            found[record.id] = place
    return found


@kept_with_pass
def arrival_steps(shown: BackwardPass) -> dict[str, int]:
    """By node, the step (its place in `steps`) that completes its gradient: the last that sends it
    a part; for a leaf that of its AccumulateGrad. Nodes where backward starts are not listed."""
    place = {step.node: i for i, step in enumerate(shown.steps)}
    arrival: dict[str, int] = {}
    for i, step in enumerate(shown.steps):
        arrival |= {flow.to: i for flow in step.grads_out if flow.to is not None}
    if len(shown.steps) < shown.step_count:  # what sends to a node may not be recorded
        first = shown.steps[0].node
        arrival = {name: i for name, i in place.items() if name != first}
    nodes = {node.id: node for node in shown.nodes}
    for edge in shown.edges:
        source, target = nodes.get(edge.source), nodes.get(edge.target)
        if source is None or target is None:
            continue
        if source.kind == "leaf" and target.kind == "accumulate":
            arrived = place.get(target.id, arrival.get(target.id))
            if arrived is not None:
                arrival[source.id] = arrived
        elif target.kind == "output" and source.id in arrival:
            arrival[target.id] = arrival[source.id]
    return arrival


def flows_into(name: str, slot: int, shown: BackwardPass) -> list[tuple[str, Array | None]]:
    """The gradients sent to one input of a node, each with the node that sends it."""
    return [(shown.steps[i].node, grad) for i, grad in _sent(shown).get(name, {}).get(slot, [])]


#: By node and by its input: the gradients sent there, each with the step that sends it.
_Sent = Mapping[str, Mapping[int, Sequence[tuple[int, Array | None]]]]


@kept_with_pass
def _sent(shown: BackwardPass) -> _Sent:
    sent: dict[str, dict[int, list[tuple[int, Array | None]]]] = {}
    for i, step in enumerate(shown.steps):
        for flow in step.grads_out:
            if flow.to is not None:
                sent.setdefault(flow.to, {}).setdefault(flow.slot, []).append((i, flow.grad))
    return sent


@kept_with_pass
def steps_of_nodes(shown: BackwardPass) -> dict[str, int]:
    """By node, its step: its own, that of the function which made the same tensor, or that of the
    node it leads to (a leaf's AccumulateGrad, a saved value's operation)."""
    places = {step.node: i for i, step in enumerate(shown.steps)}
    made: dict[int, list[Node]] = defaultdict(list)
    for node in shown.nodes:
        if node.tensor is not None:
            made[node.tensor].append(node)
    found = {}
    for node in shown.nodes:
        same = [] if node.tensor is None else made[node.tensor]
        after = sorted(users_of(node.id, shown), key=lambda user: user.kind != "accumulate")
        found[node.id] = next((places[n.id] for n in (node, *same, *after) if n.id in places), None)
    return {name: place for name, place in found.items() if place is not None}


def sums_at(step: BackwardStep, shown: BackwardPass) -> list[str]:
    """The gradients that were added to give those the step takes in, one sum for each."""
    found = []
    for slot, grad in enumerate(step.grads_in):
        parts = [part for _, part in flows_into(step.node, slot, shown) if part is not None]
        if len(parts) > 1:
            found.append(_equation(parts, grad))
    return found


def _moving(step: BackwardStep, shown: BackwardPass, where: Mapping[str, str]) -> tuple[Move, ...]:
    """What the step sends along each edge."""
    sent: dict[str, list[tuple[Array, int]]] = defaultdict(list)
    for flow in step.grads_out:
        if flow.to is not None and flow.grad is not None:
            sent[flow.to].append((flow.grad, flow.slot))
    known = edge_factors(shown, only=step)
    moves = []
    for target, flows in sent.items():
        ends = where.get(target, target), where.get(step.node, step.node)
        if ends[0] == ends[1]:  # within a folded block
            continue
        given = known.get((target, step.node), [])
        after = _together([(short(grad), slot) for grad, slot in flows])
        before = ", ".join(short(grad) for grad in step.grads_in if grad is not None)
        product = _product(step, given, flows)
        moves.append(Move("-".join(ends), before, product or after, after, listed(given)))
    return tuple(moves)


def _product(
    step: BackwardStep, given: Sequence[EdgeFactor], flows: Sequence[tuple[Array, int]]
) -> str:
    """What arrives at the factor, times it: "2.83 × 0.878 = 2.49"; empty where that is long."""
    grad = step.grads_in[0] if len(step.grads_in) == 1 else None
    total = _whole_sum([part for part, _ in flows])
    numbers = [factor.numbers for factor in given]
    one_input = len({slot for _, slot in flows}) == 1
    if not isinstance(grad, np.ndarray) or total is None or not all(numbers) or not one_input:
        return ""
    if len(given) != len(flows) or grad.size > limits.FACTOR_ENTRIES:
        return ""
    arrived, result = numbers_text(grad), numbers_text(total)
    text = f"{' + '.join(f'{arrived} × {each}' for each in numbers)} = {result}"
    return text if arrived and result and len(text) <= _PRODUCT else ""


def _together(parts: Sequence[tuple[str, int]]) -> str:
    """Parts on one edge: those for the same input are added."""
    by_slot = groupby(sorted(parts, key=lambda part: part[1]), key=lambda part: part[1])
    return ", ".join(_joined([text for text, _ in same]) for _, same in by_slot)


def _sums(
    now: int, shown: BackwardPass, drawn: Collection[str], where: Mapping[str, str]
) -> list[Sum]:
    """What stands at the nodes that have received a gradient and have not run before this step."""
    kinds = program_names(shown).nodes
    found = []
    for one in _waiting(shown).get(now, []):
        place = where.get(one.name, one.name)
        if one.name in drawn or _is(kinds.get(place), "leaf"):
            found.append(one.sum_at(place, now))
    if _is(kinds.get(shown.steps[now].node), "accumulate"):
        found += _accumulated(shown.steps[now], shown)
    return found


def _is(node: Node | None, kind: str) -> bool:
    return node is not None and node.kind == kind


def _step(part: tuple[int, Array]) -> int:
    return part[0]


@dataclass(frozen=True)
class _Waiting:
    """A node at which gradients stand for some steps: by its inputs, what is sent there, each with
    its step; and the `totals` that it takes in."""

    name: str
    slots: Mapping[int, Sequence[tuple[int, Array]]]
    totals: Sequence[Array | None]
    #: The sums, by where they stand and how much of each input has arrived.
    known: dict[tuple[object, ...], Sum] = field(default_factory=dict)

    def sum_at(self, place: str, now: int) -> Sum:
        """What stands at the node at this step."""
        parts = [
            (bisect_left(of, now, key=_step), bisect_right(of, now, key=_step))
            for of in self.slots.values()
        ]
        key = place, *parts
        if key not in self.known:
            self.known[key] = _sum(place, now, self.slots, self.totals)
        return self.known[key]


@kept_with_pass
def _waiting(shown: BackwardPass) -> dict[int, list[_Waiting]]:
    """By the place of each step, the nodes at which gradients stand then."""
    places = {step.node: i for i, step in enumerate(shown.steps)}
    nodes = program_names(shown).nodes
    found: dict[int, list[_Waiting]] = defaultdict(list)
    for name, sent in _sent(shown).items():
        known = {slot: [(i, g) for i, g in parts if g is not None] for slot, parts in sent.items()}
        slots = {slot: parts for slot, parts in known.items() if parts}
        if not slots:
            continue
        since = min(i for parts in slots.values() for i, _ in parts)
        place = places.get(name)
        until = len(shown.steps) if place is None else place - _is(nodes.get(name), "accumulate")
        totals = () if place is None else shown.steps[place].grads_in
        waiting = _Waiting(name, slots, totals)
        for now in range(since, until + 1):
            found[now].append(waiting)
    return found


def _sum(
    name: str,
    now: int,
    slots: Mapping[int, Sequence[tuple[int, Array]]],
    totals: Sequence[Array | None],
) -> Sum:
    """The sum at one node before the numbers of this step arrive, and with them."""
    before, landed, total, added = [], [], [], False
    for slot, parts in sorted(slots.items()):
        value = totals[slot] if slot < len(totals) else None
        here = [grad for i, grad in parts if i <= now]
        complete = len(here) == len(parts)
        added |= len(parts) > 1 and (not complete or parts[-1][0] == now)
        before.append(_added([grad for i, grad in parts if i < now], len(parts)))
        landed.append(_added(here, len(parts)))
        if complete and parts[-1][0] < now:  # this input was complete before
            before[-1] = landed[-1] = _total(here, value)
        total.append(_equation(here, value) if complete and parts[-1][0] == now else landed[-1])
    texts = [", ".join(filter(None, part)) for part in (before, landed, total)]
    return Sum(name, texts[0], texts[1], texts[2], added)


def _accumulated(step: BackwardStep, shown: BackwardPass) -> list[Sum]:
    """At a leaf whose `.grad` was there before: that and the gradient that is added."""
    if step.before is None or step.after is None or not step.grads_in or step.grads_in[0] is None:
        return []
    leaves = inputs_of(step.node, shown)
    parts = [step.before, step.grads_in[0]]
    return [
        Sum(leaf.id, _term(step.before), _added(parts, 2), _equation(parts, step.after), True)
        for leaf in leaves
    ]


def _added(parts: Sequence[Array], count: int) -> str:
    """Parts of a sum of `count`: "2 + 5", and "2 + …" while some are missing."""
    few = parts if len(parts) <= _TERMS else [*parts[: _TERMS - 2], None, parts[-1]]
    texts = ["…" if part is None else _term(part) if count > 1 else short(part) for part in few]
    return _joined(texts) + (" + …" if 0 < len(parts) < count else "")


def _term(array: Array) -> str:
    """An array as one term of a sum."""
    return short(array, _TERM, shape=False)


def _joined(texts: Sequence[str]) -> str:
    if len(texts) > _TERMS:
        texts = [*texts[: _TERMS - 2], "…", texts[-1]]
    return " + ".join(f"({text})" if i and text[0] == "-" else text for i, text in enumerate(texts))


def _equation(parts: Sequence[Array], total: Array | None) -> str:
    """The parts and their sum: "2 + 5 = 7". A hook, or a gradient that backward was given here,
    makes the total another: "2 + 5 → 14"."""
    if len(parts) < 2:
        return _total(parts, total)
    whole = _whole_sum(parts)
    result = whole if total is None else total
    if result is None or isinstance(result, Summary):
        return _added(parts, len(parts))
    same = whole is None or np.allclose(whole, result, 1e-4, 1e-6, equal_nan=True)
    return f"{_added(parts, len(parts))} {'=' if same else '→'} {_term(result)}"


def _total(parts: Sequence[Array], total: Array | None) -> str:
    whole = _whole_sum(parts) if total is None else total
    return short(parts[0] if whole is None else whole)


def _whole_sum(parts: Sequence[Array]) -> np.ndarray | None:
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) < len(parts) or len({array.shape for array in arrays}) > 1:
        return None
    return np.asarray(sum(arrays))


def short(array: Array, width: int = _WIDTH, *, shape: bool = True) -> str:
    """An array in one line: all of it if that fits, else its first number and its `shape`."""
    if isinstance(array, np.ndarray) and array.size <= width:
        text = _nested(array)
        if len(text) <= width:
            return text
    first = array.corner if isinstance(array, Summary) else array
    text = f"[{number(first.reshape(-1)[0])}, …]"
    return f"{text} {shape_text(array.shape)}" if shape else text


def _nested(array: np.ndarray) -> str:
    if array.ndim == 0:
        return number(array[()])
    return f"[{', '.join(map(_nested, array))}]"
