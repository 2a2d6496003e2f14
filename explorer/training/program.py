"""A problem made of two program texts: one that sets up, one that computes the loss."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from explorer import limits
from explorer.program import (
    Limits,
    Output,
    Program,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
    Run,
    Watcher,
    without_prompts,
)
from explorer.program.parsing import parse_tree
from explorer.trace.recording.objects import is_plain_key, named_parameters
from explorer.training.batches import Batch, Rows, read_batch
from explorer.training.history import copy_tensors, to_numpy
from explorer.training.loss_state import VariableWatch
from explorer.training.problem import Live, random_stream


@dataclass(frozen=True)
class ProgramProblem:
    """Parameters and loss from two texts in the explorer's language.

    The parameters are the leaves that `setup` named ("w", "params[1]") and those of its modules
    ("net.0.weight"), in that order. `loss` runs again and again after the setup, like a cell of a
    notebook; the loss is its last scalar that requires grad. Building or stepping raises
    `ProgramRefused` when a text fails, when there is no parameter or no scalar, or when there are
    more than `MOST_STEPPED_ELEMENTS` elements; the message names the text at fault. The deadline of
    its `limits` ends a text once: the state before is then restored without a limit.

    `rows` are its samples, if it has some: see `batches.in_batches`.
    """

    #: The texts that are different with mini-batches.
    TEXTS: ClassVar = ("setup", "loss")

    setup: str
    loss: str
    name: str = "program"
    title: str = "Your own program"
    note: str = ""
    limits: Limits = field(default_factory=Limits, compare=False, repr=False)
    rows: Rows | None = field(default=None, kw_only=True)
    batch_size: int = field(default=0, kw_only=True)
    whole_problem: ProgramProblem | None = field(
        default=None, kw_only=True, compare=False, repr=False
    )

    @cached_property
    def _programs(self) -> tuple[Program, Program]:
        return _compiled("setup", self.setup), _compiled("loss", self.loss)

    @property
    def source(self) -> str:
        return without_prompts(self.setup)

    @cached_property
    def parameters_source(self) -> str:
        with random_stream(0):
            variables = _Instance(self, 0).run.variables
        return f"[{', '.join(parameter_expressions(variables))}]"

    @cached_property
    def loss_source(self) -> str:
        with random_stream(0):
            instance = _Instance(self, 0)
            loss = instance.compute()
        names = [n for n, value in instance.run.variables.items() if value is loss]
        return _with_result(without_prompts(self.loss), names)

    def tensors(self, seed: int = 0) -> dict[str, np.ndarray]:
        """The tensors that the setup defines, by name."""
        with random_stream(seed):
            variables = _Instance(self, seed).run.variables
        return {n: to_numpy(v) for n, v in variables.items() if isinstance(v, Tensor)}

    def build(self, seed: int = 0) -> Live:
        """Run the setup and give its leaves; see `Problem`. Raises ProgramRefused."""
        with random_stream(seed) as current:
            instance = _Instance(self, seed)
            random = current()

        def batch() -> Batch | None:
            if not self.rows or not self.batch_size:
                return None
            return read_batch(instance.run.names, self.rows, self.batch_size)

        return Live(
            instance.parameters,
            instance.compute,
            random,
            state=instance.state,
            restore=instance.restore,
            batch=batch,
        )


class _Instance:
    """The variables of one run, and what its loss text changes in them."""

    def __init__(self, problem: ProgramProblem, seed: int) -> None:
        setup, self.loss = problem._programs
        self.watcher = LossWatcher(problem.limits)
        # A reader's own problem has a limit, and a process of its own.
        is_alone = problem.limits.deadline is not None
        self.run = Run(setup, self.watcher, owns_process=is_alone)
        self.draws = "random" in problem.setup + problem.loss
        self.others: Any = None
        with self._own_generators(seed):
            _execute("setup", self.run, setup)
        variables = self.run.variables
        self.parameters = find_parameters(variables)
        self.modules = {n: v for n, v in variables.items() if isinstance(v, nn.Module)}
        self.variables = VariableWatch(setup.source, self.loss.source, variables)

    def compute(self) -> Tensor:
        """Run the loss text. To be called inside `random_stream`, which holds the lock."""
        self.watcher.begin()
        with self._own_generators():
            _execute("loss", self.run, self.loss)
        return self.watcher.result()

    @contextmanager
    def _own_generators(self, seed: int | None = None) -> Iterator[None]:
        """Python's and numpy's generators as this instance left them, or from a seed on; afterwards
        they are the process's again."""
        if not self.draws:
            yield
            return
        before = random.getstate(), np.random.get_state()
        try:
            if seed is None:
                random.setstate(self.others[0])
                np.random.set_state(self.others[1])
            else:
                random.seed(seed)
                np.random.seed(seed % 2**32)
            yield
            self.others = random.getstate(), np.random.get_state()
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])

    def state(self) -> dict[str, Any] | None:
        """What has changed since the setup: variables, module buffers, random states.

        None if some of it cannot be copied.
        """
        changed = self.variables.changed(self.run.names)
        if changed is None:
            return None
        state: dict[str, Any] = {"variables": copy_tensors(changed)}
        buffers = {n: b.detach().clone() for n, b in self._buffers()}
        if buffers:
            state["buffers"] = buffers
        if self.draws:
            python, (kind, keys, *rest) = self.others
            state["random"] = (python, (kind, torch.from_numpy(keys.astype("int64")), *rest))
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned; called on a fresh instance."""
        self.run.names.update(copy_tensors(state["variables"]))
        with torch.no_grad():
            for name, buffer in self._buffers():
                buffer.copy_(state["buffers"][name])
        if "random" in state:
            python, (kind, keys, *rest) = state["random"]
            self.others = (python, (kind, keys.numpy().astype("uint32"), *rest))

    def _buffers(self) -> Iterator[tuple[str, Tensor]]:
        for name, module in self.modules.items():
            for path, buffer in module.named_buffers():
                yield f"{name}.{path}", buffer


class LossWatcher(Watcher):
    """Enforces the limits, and remembers the last scalar that requires grad."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.limits = limits
        self.scalar: Tensor | None = None
        self.other: Tensor | None = None

    def begin(self) -> None:
        """A new run of the loss text, before which the clock is read."""
        self.scalar, self.other, self._output = None, None, Output()
        self._left = 0

    def check_time(self) -> None:
        try:
            super().check_time()
        except ProgramStopped:
            self.limits.deadline = None
            raise

    def note(self, place: int, value: Any) -> Any:
        if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf:
            if value.dim() == 0:
                self.scalar = value
            else:
                self.other = value
        return value

    def bind(self, place: int, name: str, value: Any) -> None:
        self.note(place, value)

    def result(self) -> Tensor:
        """The loss. Raises ProgramRefused if there is none."""
        if self.scalar is not None:
            return self.scalar
        if self.other is not None:
            shape = tuple(self.other.shape)
            if self.other.numel() == 1:
                return self.other
            raise ProgramRefused(
                ProgramError(
                    f"The loss is not a scalar: it has the shape {shape}.",
                    hint="Reduce it with .sum() or .mean().",
                )
            )
        raise ProgramRefused(
            ProgramError(
                "The loss text computes no scalar that depends on a parameter.",
                hint="Compute it from a tensor that the setup created with requires_grad=True.",
            )
        )


def find_parameters(variables: dict[str, Any]) -> dict[str, Tensor]:
    """Leaves by name, each once, under the first name it has."""
    parameters = {path: leaf for _, leaves in _owners(variables) for path, leaf in leaves}
    if not parameters:
        raise ProgramRefused(
            ProgramError(
                "The setup defines no parameter.",
                hint="Create one with requires_grad=True, or a module such as nn.Linear.",
            )
        )
    total = sum(leaf.numel() for leaf in parameters.values())
    if total > limits.MOST_STEPPED_ELEMENTS:
        raise ProgramRefused(
            ProgramError(
                f"The setup creates {total:,} parameters; at most "
                f"{limits.MOST_STEPPED_ELEMENTS:,} are allowed.",
                hint="Use smaller tensors or layers.",
            )
        )
    return parameters


def _owners(variables: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, Tensor]]]]:
    """For each module, and each leaf outside of modules: what to pass to an optimizer, and its
    leaves by name, without those that came before."""
    known: set[int] = set()
    for expression, part in _parts(variables):
        if isinstance(part, nn.Module):
            named: list[tuple[str, Tensor]] = [
                (f"{expression}.{path}", p) for path, p in named_parameters(part)
            ]
            expression = f"*{expression}.parameters()"
        else:
            named = [(expression, part)]
        leaves = [(path, p) for path, p in named if _is_leaf(p) and id(p) not in known]
        known.update(id(p) for _, p in leaves)
        if leaves:
            yield expression, leaves


def _is_leaf(tensor: Tensor) -> bool:
    return tensor.requires_grad and tensor.is_leaf and tensor.numel() > 0


def _parts(variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tensors and modules in these variables, each with an expression for it."""
    pending = list(variables.items())[::-1]
    visited: set[int] = set()
    while pending:
        expression, value = pending.pop()
        if isinstance(value, Tensor | nn.Module):
            yield expression, value
        elif isinstance(value, list | tuple | dict) and id(value) not in visited:
            visited.add(id(value))  # it may contain itself
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            pending += [
                (
                    f"{expression}[{key!r}]"
                    if is_plain_key(key)
                    else f"[*{expression}.values()][{i}]",
                    v,
                )
                for i, (key, v) in enumerate(items)
            ][::-1]


def parameter_expressions(variables: dict[str, Any]) -> list[str]:
    """What to pass to an optimizer, in the order of `find_parameters`."""
    return [expression for expression, _ in _owners(variables)]


def _compiled(part: str, text: str) -> Program:
    try:
        return Program(text)
    except ProgramRefused as refused:
        raise _in_part(part, refused) from None


def _execute(part: str, run: Run[LossWatcher], program: Program) -> None:
    try:
        run.execute(program)
    except ProgramRefused as refused:
        raise _in_part(part, refused) from None


def _in_part(part: str, refused: ProgramRefused) -> ProgramRefused:
    error = refused.error
    return ProgramRefused(replace(error, message=f"In the {part}: {error.message}"))


def _with_result(text: str, names: list[str]) -> str:
    """The loss text with its result in `loss`; `names` are the variables that hold the result."""
    if "loss" in names:
        return text
    if names:
        return f"{text}\nloss = {names[-1]}"
    lines = text.split("\n")
    for statement in reversed(parse_tree(text).body):
        if isinstance(statement, ast.Expr):
            line, column = statement.lineno - 1, statement.col_offset
            raw = lines[line].encode()
            lines[line] = (raw[:column] + b"loss = " + raw[column:]).decode()
            break
    return "\n".join(lines)
