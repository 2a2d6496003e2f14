"""What a page shows of a training session: plain, immutable data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer import limits
from explorer.program import ProgramError
from explorer.trace.recording.pass_graph import dot_text, merge
from explorer.trace.recording.torchviz_graph import draw_graph, walk_graph
from explorer.trace.records import Edge, Node
from explorer.training import explain
from explorer.training.batches import Batch
from explorer.training.clipping import Clip, derive_clip
from explorer.training.derivation import Update
from explorer.training.history import Snapshot, StepInput, Track, to_numpy
from explorer.training.loop import TrainingLoop
from explorer.training.optimizer_spec import RULE_ERRORS, OptimizerSpec
from explorer.training.settings import Group


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

    @classmethod
    def failed(cls, action: str, error: ProgramError | str) -> PressEvent:
        """The event of a press that changed nothing."""
        error = ProgramError(error) if isinstance(error, str) else error
        return cls(action, error.message, error)


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
class SettingsView:
    """`hyper` are the settings of the next step, `groups` those of parameters that are not in the
    first group; `chosen` are those that a reader has set: a scheduler changes the former.
    `scheduler` is the name of the one chosen, or empty; `start` are the values from which the run
    began, None for the problem's own."""

    hyper: dict[str, Any]
    chosen: dict[str, Any]
    groups: tuple[Group, ...]
    scheduler: str
    start: dict[str, np.ndarray] | None

    def of(self, name: str) -> dict[str, Any]:
        """The settings that the next step of this parameter uses."""
        own = (group.hyper for group in self.groups if name in group.parameters)
        return next(own, self.hyper)


@dataclass(frozen=True)
class LossView:
    """`value` is the loss of the last forward, if its graph is known; `batch` are the samples it is
    of, None where it takes all of them."""

    value: np.ndarray | None
    batch: Batch | None


@dataclass(frozen=True)
class GraphView:
    """The graph of the last forward, with the loss as its output. `state` is "none", "live" (after
    forward) or "freed" (after backward)."""

    state: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def dot(self) -> str:
        """The graph in Graphviz's language, leaves named; empty if there is none. Made here,
        because a child that made it could write anything into it. It has no values: so it stays the
        same from press to press, and is laid out once."""
        return dot_text(self.nodes, self.edges, {}) if self.nodes else ""


@dataclass(frozen=True)
class StepView:
    """The arithmetic of the `last` step and of a step now (`next`), for the parameters that have a
    gradient; of parameters with more than `records.WHOLE` elements it is that of the first of
    these, flattened."""

    last: dict[str, Update]
    next: dict[str, Update]


@dataclass(frozen=True)
class ClipView:
    """The clipping that was chosen: its name, or empty, and the arithmetic of the `last` one since
    forward and of one now."""

    name: str
    last: Clip | None
    next: Clip | None


@dataclass(frozen=True)
class View:
    """A session at one moment.

    `track` has what the curves show. `previews` says what each press would do. `undoable` and
    `redoable` are numbers of presses.
    """

    seed: int
    optimizer: str
    settings: SettingsView
    track: Track
    loss: LossView
    graph: GraphView
    parameters: dict[str, ParameterView]
    step: StepView
    clip: ClipView
    previews: dict[str, str]
    undoable: int = 0
    redoable: int = 0


def make_view(loop: TrainingLoop) -> View:
    """The loop's present state as plain data."""
    start, clip = loop.settings.get("start"), loop.settings.get("clip", {})
    nodes, edges = _graph(loop)
    return View(
        seed=loop.seed,
        optimizer=loop.spec.name,
        settings=SettingsView(
            hyper=dict(loop.hyper),
            chosen=dict(loop.settings["hyper"]),
            groups=loop.groups(),
            scheduler=loop.settings.get("scheduler", {}).get("name", ""),
            start=None if start is None else {n: to_numpy(v) for n, v in start.items()},
        ),
        track=loop.track.copy(),
        loss=LossView(
            value=None if loop.loss is None else to_numpy(loop.loss),
            batch=loop.instance.batch(),
        ),
        graph=GraphView(state=loop.graph, nodes=tuple(nodes), edges=tuple(edges)),
        parameters=view_parameters(loop),
        step=StepView(
            last=_updates(loop.spec, loop.last_step), next=_updates(loop.spec, loop.step_input())
        ),
        clip=ClipView(
            name=clip.get("name", ""),
            last=derive_clip(clip, loop.clipped, limits.WHOLE) if loop.clipped else None,
            next=derive_clip(clip, loop.grads(), limits.WHOLE) if clip else None,
        ),
        previews=explain.preview_presses(loop),
    )


def view_parameters(loop: TrainingLoop) -> dict[str, ParameterView]:
    """Every parameter as it is now, copied."""
    return {
        name: ParameterView(
            name,
            to_numpy(p),
            None if p.grad is None else to_numpy(p.grad),
            None
            if loop.last_step is None
            else to_numpy(p.detach() - loop.last_step.parameters[name]),
            {
                key: to_numpy(value)
                for key, value in _read_buffers(
                    loop.spec, loop.optimizer, loop.instance.parameters, name
                ).items()
            },
        )
        for name, p in loop.instance.parameters.items()
    }


def _read_buffers(
    spec: OptimizerSpec, optimizer: Any, parameters: Mapping[str, Tensor], name: str
) -> dict[str, Tensor]:
    """What the optimizer keeps for this parameter, by torch's names."""
    if not spec.evaluates:
        state = optimizer.state.get(parameters[name], {})
        return {key: value for key, value in state.items() if isinstance(value, Tensor)}
    # One state for all parameters, with vectors that hold all of them in a row.
    state = optimizer.state.get(next(iter(parameters.values())), {})
    lengths = [2 * p.numel() if p.is_complex() else p.numel() for p in parameters.values()]
    place, shape = list(parameters).index(name), parameters[name].shape
    buffers = {}
    for key in spec.state:
        value = state.get(key)
        if isinstance(value, Tensor) and value.dim() == 1:
            part = value.split(lengths)[place]
            value = part.view(shape) if part.numel() == shape.numel() else part.view(*shape, 2)
        if value is not None:
            buffers[key] = torch.as_tensor(value)
    return buffers


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
        return spec.update(name, value, grad, state, before.hyper_of(name), most)
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


def _graph(loop: TrainingLoop) -> tuple[list[Node], list[Edge]]:
    """The graph of the last forward, or nothing.

    A node's `tensor` is the position of its parameter; the loss comes after all of them.

    Saved tensors are left out; above `limits.MAX_NODES` nodes all operations are one.
    """
    loss, parameters = loop.loss, loop.instance.parameters
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
    if len(nodes) <= limits.MAX_NODES:
        return nodes, edges
    inner = [node.id for node in nodes if node.kind in ("function", "accumulate")]
    block = Node("operations", "block", f"{len(inner)} nodes", "operations")
    return merge(nodes, edges, dict.fromkeys(inner, block))
