"""A problem made of two program texts: one that sets up, one that computes the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explorer.language import (
    Environment,
    Program,
    ProgramRefused,
    without_prompts,
)
from explorer.language.thread_safe_ast import parse_tree
from explorer.language.vocabulary.python_names import NUMPY_RANDOM, RANDOM
from explorer.training.loss_state import Variables
from explorer.training.loss_watcher import Limits, LossWatcher
from explorer.training.numbers import to_numpy
from explorer.training.parameters import expressions_of, parameters_of
from explorer.training.problem import Live, random_stream
from explorer.training.values import copied


@dataclass(frozen=True)
class ProgramProblem:
    """Parameters and loss from two texts in the explorer's language.

    The parameters are the leaves that `setup` named ("w", "params[1]") and those of its modules
    ("net.0.weight"), in that order. `loss` runs in the names that setup left, again and again, as
    a notebook's cell would; the loss is its last scalar that requires grad. Building or stepping
    raises `ProgramRefused` when a text fails, when there is no parameter or no scalar, or when
    there are more than `leaves.MOST_ELEMENTS` elements; the message names the text at fault.
    """

    setup: str
    loss: str
    name: str = "program"
    title: str = "Your own program"
    note: str = ""
    limits: Limits = field(default_factory=Limits, compare=False, repr=False)

    @cached_property
    def _programs(self) -> tuple[Program, Program]:
        return _compiled("setup", self.setup), _compiled("loss", self.loss)

    @property
    def source(self) -> str:
        return without_prompts(self.setup)

    @cached_property
    def parameters_source(self) -> str:
        with random_stream(0):
            variables = _Instance(self, 0).environment.variables
        return f"[{', '.join(expressions_of(variables))}]"

    @cached_property
    def loss_source(self) -> str:
        with random_stream(0):
            instance = _Instance(self, 0)
            found = instance.compute()
        names = [n for n, value in instance.environment.variables.items() if value is found]
        return _with_result(without_prompts(self.loss), names)

    def tensors(self, seed: int = 0) -> dict[str, np.ndarray]:
        """The tensors that the setup leaves, by name."""
        with random_stream(seed):
            variables = _Instance(self, seed).environment.variables
        return {n: to_numpy(v) for n, v in variables.items() if isinstance(v, Tensor)}

    def build(self, seed: int = 0) -> Live:
        """Run the setup and give its leaves; see `Problem`. Raises ProgramRefused."""
        with random_stream(seed) as state:
            instance = _Instance(self, seed)
            random = state()
        parameters = instance.parameters
        return Live(parameters, instance.compute, random, None, instance.state, instance.restore)


class _Instance:
    """The names of one run, and what its loss text changes in them."""

    def __init__(self, problem: ProgramProblem, seed: int) -> None:
        setup, self.loss = problem._programs
        self.watcher = LossWatcher(problem.limits)
        self.environment = Environment(self.watcher)
        self.draws = "random" in problem.setup + problem.loss
        RANDOM.seed(seed)
        NUMPY_RANDOM.seed(seed % 2**32)
        _run("setup", self.environment, setup)
        self.others: Any = (RANDOM.getstate(), NUMPY_RANDOM.get_state())
        variables = self.environment.variables
        self.parameters = parameters_of(variables)
        self.modules = {n: v for n, v in variables.items() if isinstance(v, nn.Module)}
        self.variables = Variables(setup.source, self.loss.source, variables)

    def compute(self) -> Tensor:
        """Run the loss text. To be called inside `random_stream`, which holds the lock."""
        self.watcher.begin()
        if self.draws:
            RANDOM.setstate(self.others[0])
            NUMPY_RANDOM.set_state(self.others[1])
        _run("loss", self.environment, self.loss)
        if self.draws:
            self.others = (RANDOM.getstate(), NUMPY_RANDOM.get_state())
        return self.watcher.result()

    def state(self) -> dict[str, Any] | None:
        """What differs from what the setup left: variables, module buffers, random states.

        None if some of it cannot be copied.
        """
        changed = self.variables.changed(self.environment.names)
        if changed is None:
            return None
        held: dict[str, Any] = {"variables": copied(changed)}
        buffers = {n: b.detach().clone() for n, b in self._buffers()}
        if buffers:
            held["buffers"] = buffers
        if self.draws:
            python, (kind, keys, *rest) = self.others
            held["random"] = (python, (kind, torch.from_numpy(keys.astype("int64")), *rest))
        return held

    def restore(self, held: dict[str, Any]) -> None:
        """Put back what `state` returned; called on a fresh instance."""
        self.environment.names.update(copied(held["variables"]))
        with torch.no_grad():
            for name, buffer in self._buffers():
                buffer.copy_(held["buffers"][name])
        if "random" in held:
            python, (kind, keys, *rest) = held["random"]
            self.others = (python, (kind, keys.numpy().astype("uint32"), *rest))

    def _buffers(self) -> Iterator[tuple[str, Tensor]]:
        for name, module in self.modules.items():
            for path, buffer in module.named_buffers():
                yield f"{name}.{path}", buffer


def _compiled(part: str, text: str) -> Program:
    try:
        return Program(text)
    except ProgramRefused as refused:
        raise _in_part(part, refused) from None


def _run(part: str, environment: Environment, program: Program) -> None:
    try:
        environment.run(program)
    except ProgramRefused as refused:
        raise _in_part(part, refused) from None


def _in_part(part: str, refused: ProgramRefused) -> ProgramRefused:
    error = refused.error
    return ProgramRefused(replace(error, message=f"In the {part}: {error.message}"))


def _with_result(text: str, names: list[str]) -> str:
    """The loss text with its result in `loss`; `names` are the variables that hold it."""
    if "loss" in names:
        return text
    if names:
        return f"{text}\nloss = {names[-1]}"
    lines = text.splitlines()
    for statement in reversed(parse_tree(text).body):
        if isinstance(statement, ast.Expr):
            line, column = statement.lineno - 1, statement.col_offset
            raw = lines[line].encode()
            lines[line] = (raw[:column] + b"loss = " + raw[column:]).decode()
            break
    return "\n".join(lines)
