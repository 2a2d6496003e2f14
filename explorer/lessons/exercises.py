"""Exercises on a recorded run: fill in a gradient, or the factor on an edge.

The answer is torch's own number. A wrong number is met by what it would be right for, one of a list
that is worked out of the same run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from explorer.program.parsing import parse_literal
from explorer.trace import BackwardPass, BackwardStep, Flow, Node, TensorRecord, Trace
from explorer.trace.rules.factors import Factor, factors
from explorer.trace.text import array_lines

#: How close an answer must be, relative and absolute: the digits that are shown.
_RELATIVE, _ABSOLUTE = 5e-3, 1e-6
#: A factor that divides, in words.
_DIVIDED = re.compile(r"÷ (\d{1,9})")
#: Steps of a way whose factors are looked through.
_LONGEST = 40


@dataclass(frozen=True)
class Mistake:
    """A wrong number, and the sentence that says what it is."""

    numbers: np.ndarray
    sentence: str


@dataclass(frozen=True)
class Exercise:
    """What is `asked` ("x.grad", "b -> a"), and its answer; None where there is no gradient.

    `step` is the place in the pass of the step that shows it. `edge` is the id of the edge whose
    factor is asked for. `mistakes` are in the order in which they are looked through.
    """

    asked: str
    truth: np.ndarray | None
    step: int | None = None
    edge: str = ""
    mistakes: tuple[Mistake, ...] = ()

    def is_right(self, answer: np.ndarray) -> bool:
        if self.truth is None or answer.dtype == object:
            return self.truth is None and answer.dtype == object
        return answer.size == self.truth.size and bool(_near(answer, self.truth).all())

    def explain(self, answer: np.ndarray) -> str:
        """What a wrong answer would be right for, or how it differs. The right one is not told."""
        if self.truth is None:
            return f"{self.asked} is None after this program."
        if answer.dtype == object:
            return f"{self.asked} is not None."
        for mistake in self.mistakes:
            if mistake.numbers.size == answer.size and _near(answer, mistake.numbers).all():
                return mistake.sentence
        if answer.size != self.truth.size:
            return f"You entered {_count(answer.size)}; the answer has {self.truth.size}."
        return _difference(answer.reshape(-1), self.truth.reshape(-1))


def parse_answer(text: str) -> np.ndarray | None:
    """The numbers that a reader entered, "None" as an empty array of objects; None if they are not
    numbers."""
    if text.strip() == "None":
        return np.array([], dtype=object)
    try:
        array = np.array(parse_literal(text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return array.astype(float) if array.dtype.kind in "fiu" and array.size else None


def gradient_exercise(trace: Trace, name: str) -> Exercise | None:
    """The exercise "What is the gradient of `name`?"; None where the run has no such tensor, or one
    too large to be kept."""
    record = _record(trace, name)
    if record is None:
        return None
    asked = f"{name}.grad"
    if record.grad is None:
        return Exercise(asked, None)
    truth = _numbers(record.grad)
    if truth is None:
        return None
    if not trace.passes:
        return Exercise(asked, truth)
    run = _Run(trace, trace.passes[-1])
    paths = run.paths_to(record)
    mistakes = (*_mistakes_of_gradient(run, record, truth, paths), *_any_mistakes(trace, record))
    shown = run.adding(paths) or (paths[0].step if paths else None)
    step = run.place(shown) if shown else None
    return Exercise(asked, truth, step, mistakes=_wrong(mistakes, truth))


def factor_exercise(trace: Trace, asked: str) -> Exercise | None:
    """The exercise "What is a gradient multiplied by on its way from b to a?", asked as "b -> a";
    None where no edge leads there, or its factor is a matrix."""
    source, _, target = asked.partition(" -> ")
    record = _record(trace, target)
    if record is None or not trace.passes:
        return None
    run = _Run(trace, trace.passes[-1])
    path = next((path for path in run.paths_to(record) if run.name_of(path.step) == source), None)
    if path is None or path.factor is None or path.factor.entries is None:
        return None
    truth = np.asarray(path.factor.entries, float)
    mistakes = _wrong(_mistakes_of_factor(run, record, path, truth), truth)
    return Exercise(
        asked, truth, run.place(path.step), f"{path.flow.to}-{path.step.node}", mistakes
    )


@dataclass(frozen=True)
class _Path:
    """A way by which a gradient arrives at a tensor: the step that sends it, and its factor."""

    step: BackwardStep
    flow: Flow
    factor: Factor | None

    @property
    def arriving(self) -> np.ndarray | None:
        """The gradient that the step receives."""
        return _numbers(self.step.grads_in[0]) if len(self.step.grads_in) == 1 else None


@dataclass(frozen=True)
class _Run:
    """One backward pass with the tensors of its nodes."""

    trace: Trace
    shown: BackwardPass

    @cached_property
    def _senders(self) -> dict[str, list[tuple[BackwardStep, int]]]:
        """By node, the steps that send it a gradient, each with the number of the flow."""
        found: dict[str, list[tuple[BackwardStep, int]]] = {}
        for step in self.shown.steps:
            for number, flow in enumerate(step.grads_out):
                if flow.to is not None:
                    found.setdefault(flow.to, []).append((step, number))
        return found

    def paths_into(self, *nodes: str) -> list[_Path]:
        return [
            _Path(step, step.grads_out[number], _factor(step, number))
            for node in nodes
            for step, number in self._senders.get(node, ())
        ]

    def paths_to(self, record: TensorRecord) -> list[_Path]:
        """The steps that send a gradient to this tensor, in the order in which they ran."""
        kind = "accumulate" if record.is_leaf else "function"
        own = {node.id for node in self.shown.nodes if node.tensor == record.id}
        if record.is_leaf:
            own = {edge.target for edge in self.shown.edges if edge.source in own}
        return self.paths_into(
            *(node.id for node in self.shown.nodes if node.id in own and node.kind == kind)
        )

    def adding(self, paths: list[_Path]) -> BackwardStep | None:
        """The AccumulateGrad at the end of these paths that adds to what .grad held; None where
        it held nothing."""
        ends = {path.flow.to for path in paths}
        adding = (s for s in self.shown.steps if s.node in ends and s.before is not None)
        return next(adding, None)

    def place(self, step: BackwardStep) -> int:
        return self.shown.steps.index(step)

    def node(self, step: BackwardStep) -> Node:
        return next(node for node in self.shown.nodes if node.id == step.node)

    def name_of(self, step: BackwardStep) -> str:
        """The reader's word for what a node computed: "b", or "y**2"."""
        node = self.node(step)
        record = next((r for r in self.trace.tensors if r.id == node.tensor), None)
        return (record.name if record else node.label) or node.name

    def steps_before(self, path: _Path) -> list[_Path]:
        """The steps on the way to this path, from the start of backward on, if there is a single
        way, and a short one; else nothing."""
        way: list[_Path] = []
        while len(way) < _LONGEST:
            into = self.paths_into((way[0] if way else path).step.node)
            if len(into) != 1:
                return [] if into else way
            way = into + way
        return []


def _factor(step: BackwardStep, number: int) -> Factor | None:
    """The factor of one flow; None where it is not known, or the child's answer is none that a
    rule can be applied to."""
    try:
        return factors(step.name, step.grads_in, step.grads_out, step.saved)[number]
    except Exception:
        return None


def _mistakes_of_gradient(
    run: _Run, record: TensorRecord, truth: np.ndarray, paths: list[_Path]
) -> Iterator[Mistake]:
    name = record.name
    if (step := run.adding(paths)) is not None:
        added, before = _numbers(step.grads_in[0]), _numbers(step.before)
        if added is not None and before is not None:
            yield Mistake(
                added,
                f"That is what the last backward adds. {name}.grad held {_text(before)} before it.",
            )
            yield Mistake(before, f"That is what {name}.grad held before the last backward.")
    if len(paths) > 1:
        for path in paths:
            if (part := _numbers(path.flow.grad)) is not None:
                by = run.name_of(path.step)
                yield Mistake(
                    part,
                    f"That is the part that arrives through {by}. {len(paths)} parts meet at "
                    f"{name}, and are added.",
                )
    elif paths:
        yield from _mistakes_of_path(run, name, truth, paths[0])


def _mistakes_of_path(run: _Run, name: str, truth: np.ndarray, path: _Path) -> Iterator[Mistake]:
    """Where a single step sends the gradient: one of the factors on the way is left out."""
    source, arriving = run.name_of(path.step), path.arriving
    if arriving is not None and path.factor is not None and path.factor.entries is not None:
        local = _local(run, path, name)
        added = f" and add up the products, because {name} was broadcast" * bool(path.factor.summed)
        yield Mistake(
            arriving,
            f"That is the gradient of {source}, without the inner derivative: multiply it by "
            f"{local}{added}.",
        )
        if added:
            yield Mistake(
                arriving * path.factor.entries,
                f"Those are the products. {name} was broadcast: add them up.",
            )
        yield Mistake(
            np.asarray(path.factor.entries, float),
            f"That is {local} alone, the derivative of {source} with respect to {name}. The "
            f"gradient that arrives at {source} is left out.",
        )
    for before in run.steps_before(path):
        divided = _DIVIDED.fullmatch(before.factor.words) if before.factor else None
        if divided:
            count = int(divided[1])
            yield Mistake(
                truth * count, f"{run.name_of(before.step)} divides by {count}: that is left out."
            )
        elif before.factor is not None and before.factor.entries is not None:
            entries = np.asarray(before.factor.entries, float)
            if entries.shape in ((), truth.shape) and np.all(entries != 0):
                yield Mistake(
                    truth / entries,
                    f"The factor at {run.name_of(before.step)} is left out: {_text(entries)}.",
                )


def _mistakes_of_factor(
    run: _Run, record: TensorRecord, path: _Path, truth: np.ndarray
) -> Iterator[Mistake]:
    source, target = run.name_of(path.step), record.name
    arriving, sent = path.arriving, _numbers(path.flow.grad)
    made = _record(run.trace, source)
    if sent is not None:
        yield Mistake(sent, f"That is the gradient of {target}: what arrives times the factor.")
    if arriving is not None:
        yield Mistake(arriving, f"That is the gradient that arrives at {source}, to be multiplied.")
    for tensor in filter(None, (record, made)):
        if (value := _numbers(tensor.value)) is not None:
            yield Mistake(value, f"That is the value of {tensor.name}, not a derivative.")
    yield Mistake(-truth, "Only the sign is wrong.")
    if np.all(truth != 0):
        yield Mistake(
            1 / truth, f"That is upside down: how {target} changes with {source}, not the reverse."
        )


def _any_mistakes(trace: Trace, record: TensorRecord) -> Iterator[Mistake]:
    """What may be mistaken for any gradient."""
    truth = _numbers(record.grad)
    if truth is not None:
        yield Mistake(-truth, "Only the sign is wrong.")
    if (value := _numbers(record.value)) is not None:
        yield Mistake(value, f"That is the value of {record.name}, not its gradient.")
    for other in trace.tensors:
        grad = _numbers(other.grad)
        if grad is not None and other.named and other.name != record.name:
            yield Mistake(grad, f"That is the gradient of {other.name}.")


def _wrong(mistakes: Iterable[Mistake], truth: np.ndarray) -> tuple[Mistake, ...]:
    """Of these, those that are not right."""
    return tuple(
        mistake
        for mistake in mistakes
        if mistake.numbers.size != truth.size or not _near(mistake.numbers, truth).all()
    )


def _local(run: _Run, path: _Path, name: str) -> str:
    """A factor in letters and numbers: "cos(a) = 0.8776", or its numbers where it has no short
    name."""
    assert path.factor is not None
    assert path.factor.entries is not None
    numbers = _text(np.asarray(path.factor.entries, float))
    template = path.factor.template
    fields = set(re.findall(r"<(\w+)>", template))
    if not fields or not fields <= {"a", "y"} or len(path.step.grads_out) != 1:
        return numbers
    names = {"a": name, "y": run.name_of(path.step)}
    words = re.sub(r"<(\w+)>", lambda found: names[found[1]], template)
    words = re.sub(r"\\(?=[a-z]+\()", "", words)
    return numbers if set(words) & set("\\{}^") else f"{words} = {numbers}"


def _record(trace: Trace, name: str) -> TensorRecord | None:
    """The last tensor of this name."""
    return next((r for r in reversed(trace.tensors) if r.name == name), None)


def _numbers(array: object) -> np.ndarray | None:
    """A small array of real numbers; None for anything else."""
    if isinstance(array, np.ndarray) and array.dtype.kind in "fiu" and array.size:
        return array.astype(float)
    return None


def _text(numbers: np.ndarray) -> str:
    return " ".join(line.strip() for line in array_lines(numbers))


def _near(answer: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.isclose(answer.reshape(-1), truth.reshape(-1), _RELATIVE, _ABSOLUTE, equal_nan=True)


def _difference(answer: np.ndarray, truth: np.ndarray) -> str:
    if np.all(np.isfinite(truth)) and np.all(truth != 0):
        ratios = answer / truth
        ratio = abs(ratios[0])
        if ratio != 0 and np.allclose(ratios, ratios[0], _RELATIVE):
            whole, size = (ratio, "large") if ratio >= 1 else (1 / ratio, "small")
            every = "It" if truth.size == 1 else "Every number"
            if truth.size > 1 or np.isclose(whole, round(whole), _RELATIVE):  # or it tells the rest
                return f"{every} is {whole:.4g} times too {size}."
    if truth.size == 1:
        return "That is not it yet."
    return f"{int(_near(answer, truth).sum())} of {_count(truth.size)} are right."


def _count(size: int) -> str:
    return f"{size} number" + "s" * (size != 1)
