"""The plain, immutable data a run leaves behind: no live tensor, no grad_fn.

Everything here can be printed, compared, cached and turned into JSON (see `codec`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from explorer.language import ProgramError

#: Tensors of at most this many elements are kept whole; larger ones as a `Summary`.
WHOLE = 4096


@dataclass(frozen=True)
class Summary:
    """What is kept of a tensor with more than `WHOLE` elements.

    The statistics are over the finite elements; `nonfinite` counts the others.
    `counts` and `edges` are a histogram with 20 bins (`len(edges) == len(counts) + 1`) of
    `counted` elements, evenly spaced, where the tensor has very many.
    `corner` holds the first elements along every axis: at most 3 of each leading axis and
    8 by 8 of the last two, and `WHOLE` in all.
    """

    shape: tuple[int, ...]
    min: float
    max: float
    mean: float
    norm: float
    nonfinite: int
    counts: tuple[int, ...]
    edges: tuple[float, ...]
    corner: np.ndarray
    counted: int = 0


#: A small tensor's values, or the summary of a large one.
Array = np.ndarray | Summary

#: What a variable that is no tensor is shown as.
Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True)
class TensorRecord:
    """One tensor the program made, as it was when its line had run.

    `name` is the reader's ("y", "net.0.weight", "params[1]"), or the source text of an
    expression that was given no name (`named` is then False). `grad` is `.grad` at the end for
    leaves and retained tensors, otherwise the last gradient a hook saw; `grad_from` says which.
    `nbytes` is the memory the tensor's elements take.

    `visit` counts how often the statement had run by then and `visits` how often it ran in all:
    in a loop, the tensors of iteration k are those with `visits == 1` or `visit == k` (the first
    three iterations and the last are kept). `module` is the path of the innermost module whose
    call made it ("net.fc"). `why_none` says why `.grad` is None, for all whose `.grad` is;
    `why_term` is the key of the glossary's term behind it.
    """

    id: int
    name: str
    line: int
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    grad_fn: str | None
    value: Array | None
    grad: Array | None = None
    grad_from: str | None = None
    version: int = 0
    named: bool = True
    scope: str = ""
    visit: int = 1
    why_none: str = ""
    node: str | None = None
    nbytes: int = 0
    visits: int = 1
    module: str = ""
    why_term: str = ""


@dataclass(frozen=True)
class Node:
    """A node of the drawn graph.

    `kind` is "function", "accumulate", "leaf", "output", "saved" or "frozen" (a tensor that needs
    no gradient, which torchviz leaves out). `tensor` is the id of the TensorRecord it made,
    `module` the path of the module it was made in ("net.fc").
    """

    id: str
    kind: str
    name: str
    label: str = ""
    shape: tuple[int, ...] | None = None
    tensor: int | None = None
    line: int | None = None
    module: str = ""


@dataclass(frozen=True)
class Edge:
    """An arrow in the direction of computation; the gradient flows against it.

    `kind` is "flow", or what else joins the two: "saved" (kept for the target's backward),
    "frozen" (an input without gradient), "base" (of a view).
    """

    source: str
    target: str
    kind: str = "flow"


@dataclass(frozen=True)
class Flow:
    """A gradient handed on to the node `to`, as that node's input number `slot`."""

    to: str | None
    slot: int
    grad: Array | None


@dataclass(frozen=True)
class BackwardStep:
    """One node's turn in the backward pass, in the order autograd ran them.

    `formula` is the local rule in LaTeX and `numbers` the same with this step's numbers in it
    (large arrays as a letter above their shape, or at their first element); both are empty where
    no short rule is known. `words` says the rest in plain words. `saved` is what the node had
    kept from the forward pass, by autograd's own names ("self", "exponent", "result"); an index
    is "indices[0]", "indices[1]" by axis. At an AccumulateGrad node `before` and `after` are the
    leaf's `.grad`. `own` is the line of the reader's own backward, for an autograd.Function.
    `number` counts the steps of the pass from 1.
    """

    node: str
    name: str
    grads_in: tuple[Array | None, ...]
    grads_out: tuple[Flow, ...]
    formula: str = ""
    numbers: str = ""
    saved: dict[str, Array | Plain] = field(default_factory=dict)
    words: str = ""
    before: Array | None = None
    after: Array | None = None
    own: int | None = None
    number: int = 0


@dataclass(frozen=True)
class BackwardPass:
    """One call of `.backward()` or `torch.autograd.grad()`.

    `ours` is True for the pass run for a program that never asks for one. `dot` is torchviz's
    graph, annotated, with ids that are equal from run to run. `step_count` may exceed
    `len(steps)`: of a very long pass the first 1,000 steps and the last 1,000 are kept.
    """

    number: int
    line: int | None
    call: str
    root: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    dot: str
    steps: tuple[BackwardStep, ...]
    ours: bool = False
    step_count: int = 0


@dataclass(frozen=True)
class Unkept:
    """Stands for a value that is too large for an event to keep."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """A value before and after; None where there was none."""

    name: str
    before: Array | Unkept | None
    after: Array | Unkept | None


@dataclass(frozen=True)
class Event:
    """Something that happened besides operations, in the order it ran.

    `kind` is "hook", "step", "zero_grad", "backward" or "write" (a change in place that autograd
    does not see). `name` is the tensor or module concerned. A hook's one change goes from the
    gradient it was given to what it returned.
    """

    number: int
    kind: str
    line: int | None
    what: str
    name: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What happened, explained where it happened.

    `title` is the question a reader would ask, `text` the answer with names, lines and numbers,
    `cure` what to do, `names` the tensors concerned, `glossary` the key of the term behind it.
    All of it may hold text a stranger typed: escape it before showing it.
    """

    key: str
    title: str
    text: str
    cure: str = ""
    line: int | None = None
    names: tuple[str, ...] = ()
    glossary: str = ""


@dataclass(frozen=True)
class Trace:
    """What one program did. `pass_count` may exceed `len(passes)`: the first three and the last
    are kept; of many events the first 200 and the last 100. `needs_upstream` names the output
    that is not a scalar, when no backward could be run for want of a gradient to start from."""

    source: str
    output: str = ""
    variables: dict[str, TensorRecord | Plain] = field(default_factory=dict)
    tensors: tuple[TensorRecord, ...] = ()
    passes: tuple[BackwardPass, ...] = ()
    pass_count: int = 0
    error: ProgramError | None = None
    needs_upstream: str | None = None
    notes: tuple[str, ...] = ()
    seed: int = 0
    capture: str = "hook"
    answers: tuple[Answer, ...] = ()
    events: tuple[Event, ...] = ()
    event_count: int = 0
