"""The result of a run as plain, immutable data, without live tensors or a grad_fn.

Everything here can be printed, compared, cached and converted to JSON (see `codec`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explorer.program import ProgramError
from explorer.program.figures import Figure
from explorer.trace.colours import FILLS

#: The gradient to start backward from: "sum" (all ones), "mean" (all 1/n), or its values as an
#: array, a tensor, or nested lists of numbers.
Upstream = str | float | list[Any] | np.ndarray | torch.Tensor | None


@dataclass(frozen=True)
class Summary:
    """The summary stored for a tensor with more than `limits.WHOLE` elements.

    The statistics are computed over the finite elements; `nonfinite` counts the others.
    `counts` and `edges` are a histogram with 20 bins (`len(edges) == len(counts) + 1`) of
    `counted` elements, evenly spaced, where the tensor has very many.
    `corner` holds the first elements along every axis: at most 3 of each leading axis and
    8 by 8 of the last two, and `limits.WHOLE` in all.
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


#: The values of a small tensor, or the summary of a large one.
Array = np.ndarray | Summary

#: The value of a variable that is not a tensor. Tensors in its lists and dicts are arrays, tuples
#: are lists.
Plain = None | bool | int | float | str | Array | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True)
class Origin:
    """The run of a statement in which a tensor was computed.

    It was run number `visit` of `visits`: in a loop, the tensors of iteration k are those with
    `visits == 1` or `visit == k` (the first three iterations and the last are recorded).
    `scope` is the function that the statement is in ("Net.forward"), `module` the path of the
    innermost module whose call computed the tensor ("net.fc"); both may be empty.
    """

    scope: str = ""
    module: str = ""
    visit: int = 1
    visits: int = 1


@dataclass(frozen=True)
class AutogradState:
    """What autograd keeps with a tensor, besides `requires_grad`, `is_leaf` and `.grad`.

    `grad_fn` is the name of the node that its gradient is passed to ("MulBackward0"), `version` the
    number of changes in place, `tangent` the directional derivative that it carried in forward
    mode, if it did. `is_inference` says that it was made in inference mode, where autograd keeps
    nothing.
    """

    grad_fn: str | None = None
    retains_grad: bool = False
    version: int = 0
    is_inference: bool = False
    tangent: Array | None = None


@dataclass(frozen=True)
class WhyNone:
    """Why `.grad` is None, in a few sentences, and the key of a glossary term that explains it."""

    text: str
    term: str = ""


@dataclass(frozen=True)
class TensorRecord:
    """One tensor of the program, as it was after its line had run; an input has no line.

    `name` is its name in the program ("y", "net.0.weight", "params[1]"), or the source text of
    an expression without a name (`named` is then False). `grad` is `.grad` at the end for leaves
    and for tensors with retain_grad, otherwise the last gradient that a hook received;
    `grad_from` says which, and `why_none` why `.grad` is None, where it is. `nbytes` is the memory
    used by the tensor's elements. `note` says in a few words what else matters: "scaled by 65536",
    "computed again in backward, by checkpoint". A leaf whose values are changed has a record for
    each of them; `changed_later` is True for all but the last.
    """

    id: int
    name: str
    line: int | None
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    value: Array | None
    grad: Array | None = None
    grad_from: str | None = None
    why_none: WhyNone | None = None
    named: bool = True
    nbytes: int = 0
    note: str = ""
    changed_later: bool = False
    origin: Origin = Origin()
    autograd: AutogradState = AutogradState()

    @property
    def grad_note(self) -> str:
        """What to say behind a gradient that the program itself cannot find in `.grad`."""
        return "(read by a hook)" if self.grad_from == "hook" else ""

    @property
    def place(self) -> str:
        """Where it was computed, for the reader."""
        return f"line {self.line}" if self.line else "input"


@dataclass(frozen=True)
class Node:
    """A node of the drawn graph.

    `kind` is "function", "accumulate", "leaf", "output", "saved" or "frozen" (a tensor that needs
    no gradient, which torchviz leaves out). `tensor` is the id of the TensorRecord of its result,
    `module` the path of the module that ran it ("net.fc"). It ran in the `statement` of this line,
    which may be in a function that `line` calls, of the function `scope` ("Net.forward"), as that
    ran for the `visit`-th time; 0 and empty where this is not known.
    """

    id: str
    kind: str
    name: str
    label: str = ""
    shape: tuple[int, ...] | None = None
    tensor: int | None = None
    line: int | None = None
    module: str = ""
    statement: int = 0
    scope: str = ""
    visit: int = 0

    def __post_init__(self) -> None:
        """Both are written into DOT, and a child may answer anything."""
        if not self.id.isalnum() or self.kind not in {"", *FILLS}:
            raise ValueError(f"not a node: {self.id[:40]!r}, {self.kind[:40]!r}")


@dataclass(frozen=True)
class Edge:
    """An arrow in the direction of computation; the gradient flows against it.

    `kind` is "flow", or another relation between the two: "saved" (for the target's backward),
    "frozen" (an input that needs no gradient), "base" (of a view).
    """

    source: str
    target: str
    kind: str = "flow"


@dataclass(frozen=True)
class Flow:
    """A gradient passed to the node `to`, as its input number `slot`."""

    to: str | None
    slot: int
    grad: Array | None


@dataclass(frozen=True)
class BackwardStep:
    """The run of one node in the backward pass; a pass lists them in the order autograd ran them.

    `formula` is the local rule in LaTeX and `numbers` the same rule with this step's numbers
    (a large array is shown as a letter above its shape, or by its first element); both are empty
    where no short rule is known. `words` describes the step in a sentence. `saved` holds what the
    node saved in the forward pass, by autograd's own names ("self", "exponent", "result"); the
    tensors of an index are "indices[0]", "indices[1]", one for each axis. At an AccumulateGrad
    node, `before` and `after` are the leaf's `.grad`. `own` is the line of the program's own
    backward, for an autograd.Function. `number` counts the steps of the pass from 1.
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

    `ours` is True for the pass that is run for a program without a backward call. `dot` is
    torchviz's graph, annotated, with ids that are the same in every run; it is empty if there are
    more than 300 nodes: `explorer.view.drawn_pass.make_graph` folds them. `step_count` may exceed
    `len(steps)`: of a very long pass, the first 1,000 steps and the last 1,000 are recorded.
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

    @property
    def leaf_gradients(self) -> dict[int, Array]:
        """By the id of a leaf's record: what this pass left in `.grad`."""
        leaves = {node.id: node.tensor for node in self.nodes if node.kind == "leaf"}
        filled = {edge.target: leaves[edge.source] for edge in self.edges if edge.source in leaves}
        return {
            number: step.after
            for step in self.steps
            if step.after is not None and (number := filled.get(step.node)) is not None
        }


@dataclass(frozen=True)
class Unkept:
    """Used instead of a value that is too large for an event; only its shape is recorded."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """A value before and after an event; None where there was none."""

    name: str
    before: Array | Unkept | None
    after: Array | Unkept | None


@dataclass(frozen=True)
class Event:
    """Something other than an operation that happened in the run.

    `kind` is "hook", "step", "zero_grad", "backward", "write" (a change in place that autograd
    does not see), "recompute" (a checkpoint ran its function again), "scale" (a GradScaler
    scaled a loss, or gradients back) or "skip" (it skipped a step). `name` is the tensor or
    module concerned. For a hook, the one change is from the gradient it received to the value
    it returned. The line ran for the `visit`-th time, in a `mode` of autograd: "grad", "no_grad" or
    "inference". `object` is a number that all events of one optimizer, tensor or module have; 0
    where there is none. In iterations of a loop that were not recorded, the same happened `times`
    times, the last as number `until`.
    """

    number: int
    kind: str
    line: int | None
    what: str
    name: str = ""
    changes: tuple[Change, ...] = ()
    visit: int = 0
    mode: str = "grad"
    object: int = 0
    times: int = 1
    until: int = 0


@dataclass(frozen=True)
class Curve:
    """A number followed over all passes: `values[i]` is that of the pass `at[i]`.

    `kind` is "loss", what the passes started from, or "norm", the Euclidean norm of the .grad
    of the leaf `name` after the pass. If there are very many passes, evenly spaced ones are kept.
    """

    kind: str
    name: str
    at: tuple[int, ...]
    values: tuple[float, ...]


#: Kinds of symptoms, in the order in which they are explained: the program fails; a value or a
#: gradient is not finite; `.grad` is None; a gradient is 0; a tensor does not change; a value is
#: not what it should be. A "remark" concerns something that no value shows, such as memory.
SYMPTOMS = ("error", "nonfinite", "none", "zero", "still", "value", "remark")


@dataclass(frozen=True)
class Symptom:
    """What a reader sees of a mistake, so that a changed program can be checked for it.

    `kind` is one of `SYMPTOMS`, `names` are the variables that show it ("w", "net.0.bias").
    """

    kind: str
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in SYMPTOMS:
            raise ValueError(f"not a kind of symptom: {self.kind[:40]!r}")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An explanation of something surprising in the run, with its line.

    `title` is the question a reader would ask, `text` the answer with names, lines and numbers,
    `cure` what to do, `names` the tensors concerned, `glossary` the key of the glossary term that
    explains it, `fix` the whole program with the cure applied, if it can be. `symptom` is what
    must be gone when the fix is run; `noticed` says that the program itself printed, compared or
    stepped what shows it. `tried` says what running it showed, and is empty as long as
    nobody has tried (see `prove`). `counterfactual` is a changed program that is no cure, but must
    be without the symptom if the text is true. `alternatives` are answers to the same question,
    for the case that trying this one refutes it. Every text may contain parts of an untrusted
    program: escape it before display.
    """

    key: str
    title: str
    text: str
    cure: str = ""
    line: int | None = None
    names: tuple[str, ...] = ()
    glossary: str = ""
    fix: str | None = field(default=None, repr=False)
    symptom: Symptom | None = None
    tried: str = ""
    noticed: bool = False
    counterfactual: str | None = field(default=None, repr=False)
    alternatives: tuple[Answer, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class SourceFile:
    """A file of code that was recorded where it stands. Its `length` lines are those of
    `Trace.source` from the line `first` on."""

    name: str
    first: int
    length: int


@dataclass(frozen=True, repr=False)
class Trace:
    """The record of one run of a program.

    `pass_count` may exceed `len(passes)`: the first three passes, the last and a chosen one are
    recorded, and `curves` follow the losses and the gradient norms of the leaves over all of them.
    The first 200 events and the last 100 are recorded. If backward could not run because
    the output is not a scalar and no gradient was given for it, `needs_upstream` is its name.

    `inputs` are the values of the program's free names, `completed` is the program as it was run,
    with the lines that were added (it runs in plain Python). `notices` say what was read or done in
    another way than typed, `notes` what torch and numpy warned of. `echo` has the line and the
    value of every bare expression, as a notebook shows it, and `echo_at` how much had been printed
    before each. `figures` are the plots, in the order in which they were shown. `upstream` is the
    gradient that backward was to start from, `seconds` its processor time.

    Of code that was recorded where it stands (`explorer.record`), `source` has the text of its
    `files` one after the other; `place` says where a line of it is.
    """

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
    curves: tuple[Curve, ...] = ()
    inputs: dict[str, float | list[Any]] = field(default_factory=dict)
    completed: str = ""
    notices: tuple[str, ...] = ()
    echo: tuple[tuple[int, str], ...] = ()
    echo_at: tuple[int, ...] = ()
    figures: tuple[Figure, ...] = ()
    upstream: str | float | list[Any] | None = None
    seconds: float = field(default=0.0, compare=False)
    files: tuple[SourceFile, ...] = ()

    def place(self, line: int) -> str:
        """Where a line of `source` is, for the reader: "line 12", or "line 12 of model.py" if it is
        not in the first file."""
        file = self.file_of(line)
        if file is None or file is self.files[0]:
            return f"line {line}"
        return f"line {line - file.first + 1} of {file.name}"

    def file_of(self, line: int) -> SourceFile | None:
        """The file that a line of `source` is in; None of a program, which has none."""
        found = (f for f in self.files if f.first <= line < f.first + f.length)
        return next(found, None)

    def __repr__(self) -> str:
        """One line: the arrays of a program would fill many screens."""
        ended = f", error: {self.error.message!r}" if self.error else ""
        return (
            f"<Trace of {len(self.source.splitlines())} lines: {len(self.tensors)} tensors, "
            f"backward passes: {self.pass_count}, answers: {len(self.answers)}{ended}>"
        )

    def _repr_html_(self) -> str:
        """How a notebook shows it, as the last line of a cell."""
        from explorer.view.document.program import cell  # it draws what is recorded here

        return cell(self)

    def save(self, path: str | Path, *, title: str = "") -> None:
        """Write all of it as one HTML file, which any browser shows, without a server."""
        from explorer.view.document import document

        Path(path).write_text(document(self, title=title), "utf-8", errors="replace")
