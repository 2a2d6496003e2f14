"""What a page shows of a training session: plain, immutable data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from explorer.language import ProgramError
from explorer.trace.pass_graph import MAX_NODES, dot_text, fold
from explorer.trace.records import WHOLE, Edge, Node, TensorRecord
from explorer.trace.torchviz_graph import draw_graph, walk_graph
from explorer.training import explain
from explorer.training.history import Snapshot, to_numpy
from explorer.training.live_session import LiveSession, StepInput
from explorer.training.optimizer_spec import OptimizerSpec, Update


@dataclass(frozen=True)
class PressEvent:
    """What one press did, or why it could not be done (`error` is then set, nothing changed)."""

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
    those of a live one, of which `loss` is the output. `losses[i]` was computed after
    `loss_steps[i]` steps; likewise `norms`, the gradient's Euclidean norm after each backward.
    `trouble` says where the run became infinite or NaN. `previews` says what each press would do.
    `last` is the arithmetic of the last step and `next` that of a step now, for the parameters that
    have a gradient; of parameters with more than `records.WHOLE` elements they hold the first of
    these, flattened.
    """

    seed: int
    optimizer: str
    hyper: dict[str, Any]
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
    trouble: str
    previews: dict[str, str]
    last: dict[str, Update]
    next: dict[str, Update]
    undoable: int
    redoable: int

    def dot(self) -> str:
        """The live graph in Graphviz's language, leaves named and with value and `.grad`; empty if
        there is none. Made here, because a child that made it could write anything into it."""
        if not self.nodes:
            return ""
        records = [_record(p.name, p.value, p.grad) for p in self.parameters.values()]
        records.append(_record("loss", self.loss))
        return dot_text(self.nodes, self.edges, dict(enumerate(records)))


def make_view(session: LiveSession, undoable: int, redoable: int) -> View:
    """The session's present state as plain data."""
    track, now = session.track, session.step_input()
    nodes, edges = _graph(session)
    return View(
        seed=session.seed,
        optimizer=session.spec.name,
        hyper=dict(session.hyper),
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
                for key, value in session.optimizer.state.get(p, {}).items()
                if isinstance(value, Tensor)
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
    if most is not None and value.numel() > most:
        shape = value.shape
        value, grad = value.flatten()[:most], grad.flatten()[:most]
        state = {
            key: item.flatten()[:most] if isinstance(item, Tensor) and item.shape == shape else item
            for key, item in state.items()
        }
    try:
        return spec.update(name, value, grad, state, before.hyper)
    except RuntimeError:  # a setting beyond the dtype: the optimizer cannot step either
        return None


def _updates(spec: OptimizerSpec, before: StepInput | None) -> dict[str, Update]:
    names = before.parameters if before else {}
    updates = {name: derive_update(spec, before, name, WHOLE) for name in names}
    return {name: update for name, update in updates.items() if update is not None}


def to_point(snapshot: Snapshot) -> Point:
    """Where the run was then; made once, so that a path need not be copied anew."""
    point: Point | None = vars(snapshot).get("point")
    if point is None:
        arrays = {name: to_numpy(p) for name, p in snapshot.parameters.items()}
        point = vars(snapshot)["point"] = Point(snapshot.mark[0], arrays)
    return point


def _graph(session: LiveSession) -> tuple[list[Node], list[Edge]]:
    """The live graph, or nothing. A node's `tensor` is the position of its parameter; the loss
    comes after all of them.

    Saved tensors are left out; above `MAX_NODES` nodes the graph is folded.
    """
    loss, parameters = session.loss, session.instance.parameters
    if session.graph != "live" or loss is None:
        return [], []
    drawn, arrows = draw_graph([loss], dict(parameters), walk_graph([loss]))
    shown = {i for i, node in enumerate(drawn) if node.kind != "saved"}
    places = {name: i for i, name in enumerate([*parameters, "loss"])}
    nodes = []
    for i in sorted(shown):
        node = drawn[i]
        name = {"leaf": node.name, "output": "loss"}.get(node.kind, "")
        kind = node.name if node.function is not None else node.kind
        nodes.append(Node(f"n{i}", node.kind, kind, name, node.shape, places.get(name)))
    edges = [Edge(f"n{a}", f"n{b}", kind) for a, b, kind in arrows if {a, b} <= shown]
    return fold(nodes, edges) if len(nodes) > MAX_NODES else (nodes, edges)


def _record(name: str, value: np.ndarray | None, grad: np.ndarray | None = None) -> TensorRecord:
    return TensorRecord(
        id=0,
        name=name,
        line=0,
        shape=() if value is None else value.shape,
        dtype="" if value is None else str(value.dtype),
        requires_grad=True,
        is_leaf=True,
        retains_grad=False,
        grad_fn=None,
        value=value,
        grad=grad,
    )
