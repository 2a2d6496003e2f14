"""What a page shows of a training session: plain, immutable data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer import limits
from explorer.program import ProgramError
from explorer.trace.recording.pass_graph import MAX_NODES, dot_text, fold
from explorer.trace.recording.torchviz_graph import draw_graph, walk_graph
from explorer.trace.records import Edge, Node
from explorer.training import explain
from explorer.training.batches import Batch
from explorer.training.clipping import Clip, derive_clip
from explorer.training.derivation import Update
from explorer.training.groups import Group
from explorer.training.history import Snapshot, to_numpy
from explorer.training.live_session import LiveSession
from explorer.training.optimizer_spec import RULE_ERRORS, OptimizerSpec
from explorer.training.step_input import StepInput, read_buffers


@dataclass(frozen=True)
class PressEvent:
    """What one press did, or why it could not be done (`error` is then set, and nothing changed).

    Of a press of many actions, those before the one that failed are done: `message` says how many,
    and they are a press that `undo` takes back.
    """

    action: str
    message: str
    error: ProgramError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


def nothing_to_do(action: str, message: str) -> PressEvent:
    """The event of a press for which there was nothing to do."""
    return PressEvent(action, message, ProgramError(message))


@dataclass(frozen=True)
class ParameterView:
    """One parameter now. Arrays have its shape.

    `grad` is `.grad` (None as in PyTorch), `update` the new value minus the old of the last step
    (None if there was none), `buffers` the optimizer's state ("momentum_buffer", "exp_avg", …).
    """

    name: str
    value: np.ndarray
    grad: np.ndarray | None
    update: np.ndarray | None
    buffers: dict[str, np.ndarray]


@dataclass(frozen=True)
class Point:
    """A place on the path: the number of steps taken, and every parameter's value."""

    steps: int
    values: dict[str, np.ndarray]


@dataclass(frozen=True)
class View:
    """A session at one moment.

    `steps` counts the steps since the reset, `passes` the backward passes summed in `.grad`.
    `graph` is "none", "live" (after forward) or "freed" (after backward); `nodes` and `edges` are
    those of the last forward, of which `loss` is the output. `losses[i]` was computed after
    `loss_steps[i]` steps; likewise `norms`, the gradient's Euclidean norm after each backward, and
    `lrs`, the learning rate of each step. `scheduler` and `clip` are the names of those chosen, or
    empty; `last_clip` is the arithmetic of the last clipping since forward, `next_clip` of one now.
    `batch` are the samples of the last loss, None where it takes all of them. `hyper` are the
    settings of the next step (`groups` those of parameters that are not in the first group),
    `chosen` those that a reader has set: a scheduler changes the former.
    `start` are the values from which the run began, None for the problem's own.
    `trouble` says where the run became infinite or NaN. `previews` says what each press would do.
    `last` is the arithmetic of the last step and `next` that of a step now, for the parameters that
    have a gradient; of parameters with more than `records.WHOLE` elements they hold the first of
    these, flattened.
    """

    seed: int
    optimizer: str
    hyper: dict[str, Any]
    groups: tuple[Group, ...]
    chosen: dict[str, Any]
    steps: int
    passes: int
    graph: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    loss: np.ndarray | None
    parameters: dict[str, ParameterView]
    losses: tuple[float, ...]
    loss_steps: tuple[int, ...]
    norms: tuple[float, ...]
    norm_steps: tuple[int, ...]
    lrs: tuple[float, ...]
    lr_steps: tuple[int, ...]
    scheduler: str
    clip: str
    last_clip: Clip | None
    next_clip: Clip | None
    batch: Batch | None
    start: dict[str, np.ndarray] | None
    trouble: str
    previews: dict[str, str]
    last: dict[str, Update]
    next: dict[str, Update]
    undoable: int
    redoable: int

    def settings_of(self, name: str) -> dict[str, Any]:
        """The settings that the next step of this parameter uses."""
        own = (group.hyper for group in self.groups if name in group.parameters)
        return next(own, self.hyper)

    def dot(self) -> str:
        """The graph of the last forward in Graphviz's language, leaves named; empty if there is
        none. Made here, because a child that made it could write anything into it. It has no
        values: so it stays the same from press to press, and is laid out once."""
        return dot_text(self.nodes, self.edges, {}) if self.nodes else ""


def make_view(session: LiveSession, undoable: int, redoable: int) -> View:
    """The session's present state as plain data."""
    track, now = session.track, session.step_input()
    nodes, edges = _graph(session)
    start, clip = session.options.get("start"), session.options.get("clip", {})
    return View(
        seed=session.seed,
        optimizer=session.spec.name,
        hyper=dict(session.hyper),
        groups=session.groups(),
        chosen=dict(session.chosen),
        steps=track.steps,
        passes=track.passes,
        graph=session.graph,
        nodes=tuple(nodes),
        edges=tuple(edges),
        loss=None if session.loss is None else to_numpy(session.loss),
        parameters=view_parameters(session),
        losses=tuple(track.losses),
        loss_steps=tuple(track.loss_steps),
        norms=tuple(track.norms),
        norm_steps=tuple(track.norm_steps),
        lrs=tuple(track.lrs),
        lr_steps=tuple(track.lr_steps),
        scheduler=session.options.get("scheduler", {}).get("name", ""),
        clip=clip.get("name", ""),
        last_clip=derive_clip(clip, session.clipped, limits.WHOLE) if session.clipped else None,
        next_clip=derive_clip(clip, session.grads(), limits.WHOLE) if clip else None,
        batch=session.instance.batch(),
        start=None if start is None else {name: to_numpy(values) for name, values in start.items()},
        trouble=track.trouble,
        previews=explain.preview_presses(session),
        last=_updates(session.spec, session.last_step),
        next=_updates(session.spec, now),
        undoable=undoable,
        redoable=redoable,
    )


def view_parameters(session: LiveSession) -> dict[str, ParameterView]:
    """Every parameter as it is now, copied."""
    return {
        name: ParameterView(
            name,
            to_numpy(p),
            None if p.grad is None else to_numpy(p.grad),
            None
            if session.last_step is None
            else to_numpy(p.detach() - session.last_step.parameters[name]),
            {
                key: to_numpy(value)
                for key, value in read_buffers(
                    session.spec, session.optimizer, session.instance.parameters, name
                ).items()
            },
        )
        for name, p in session.instance.parameters.items()
    }


def derive_update(
    spec: OptimizerSpec, before: StepInput | None, name: str, most: int | None = None
) -> Update | None:
    """The arithmetic of a step from `before`; None where the parameter has no gradient or no step
    can be made.

    `most` limits it to the first elements, flattened.
    """
    if before is None or (grad := before.grads[name]) is None:
        return None
    value, state = before.parameters[name], before.optimizer.get(name, {})
    if spec.evaluates:
        if before.evaluated is None:  # known only after the step
            return None
        state = before.evaluated.state(name)
    try:
        return spec.update(name, value, grad, state, before.settings_of(name), most)
    except RULE_ERRORS:  # the optimizer cannot step either
        return None


def _updates(spec: OptimizerSpec, before: StepInput | None) -> dict[str, Update]:
    names = before.parameters if before else {}
    updates = {name: derive_update(spec, before, name, limits.WHOLE) for name in names}
    return {name: update for name, update in updates.items() if update is not None}


def to_point(snapshot: Snapshot) -> Point:
    """Where the run was then; made once, so that a path need not be copied anew."""
    point: Point | None = vars(snapshot).get("point")
    if point is None:
        arrays = {name: to_numpy(p) for name, p in snapshot.parameters.items()}
        point = vars(snapshot)["point"] = Point(snapshot.mark[0], arrays)
    return point


def _graph(session: LiveSession) -> tuple[list[Node], list[Edge]]:
    """The graph of the last forward, or nothing.

    A node's `tensor` is the position of its parameter; the loss comes after all of them.

    Saved tensors are left out; above `MAX_NODES` nodes the graph is folded.
    """
    loss, parameters = session.loss, session.instance.parameters
    if loss is None:
        return [], []
    drawn, arrows = draw_graph([loss], dict(parameters), walk_graph([loss]))
    kept = (i for i, node in enumerate(drawn) if node.kind != "saved")
    ids = {i: f"n{number}" for number, i in enumerate(kept)}  # backward frees what is saved
    places = {name: i for i, name in enumerate([*parameters, "loss"])}
    nodes = []
    for i, node_id in ids.items():
        node = drawn[i]
        name = {"leaf": node.name, "output": "loss"}.get(node.kind, "")
        kind = node.name if node.function is not None else node.kind
        nodes.append(Node(node_id, node.kind, kind, name, node.shape, places.get(name)))
    edges = [Edge(ids[a], ids[b], kind) for a, b, kind in arrows if a in ids and b in ids]
    return fold(nodes, edges) if len(nodes) > MAX_NODES else (nodes, edges)
