"""The network of a reader's program: its model, inputs that it can take, and its loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from explorer import limits
from explorer.networks.problems import ModuleProblem, Network, SampledProblem, Samples
from explorer.networks.program_inputs import InputChoice
from explorer.networks.program_loss import (
    ProgramLoss,
    default_loss,
    find_call,
    find_loss,
    loss_in_output,
)
from explorer.networks.program_model import (
    EXAMPLE,
    NAMES,
    ModuleUse,
    NetworkWatcher,
    check_size,
    construct,
    find_model,
    others,
)
from explorer.program import (
    Limits,
    Program,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
    Run,
    isolated,
)
from explorer.trace.running import validate_arguments
from explorer.training.problem import random_stream

_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


@contextmanager
def confined(limits: Limits) -> Iterator[None]:
    """Read and run programs inside within these limits; all that they change in the process is put
    back at the end. Raises ProgramRefused where one reaches its deadline."""
    token = _limits.set(limits)
    try:
        with isolated(0):
            yield
    except ProgramStopped as stopped:
        raise ProgramRefused(ProgramError(stopped.message, hint=stopped.hint)) from None
    finally:
        _limits.reset(token)


def from_program(
    source: str,
    *,
    seed: int = 0,
    inputs: Mapping[str, Any] | None = None,
    trained: bool = False,
) -> ModuleProblem:
    """Run a program (see `explorer.run`) and take its network.

    The network is the module that the program calls `model` or `net`, or else its last one, or an
    instance of its last class, if that needs no arguments. Its inputs are those that the program
    passes to it, a variable that fits, or random numbers in a shape that its layers can take. The
    loss is the one that the program computes from the output, or the sum of the output. `note` says
    what was found. A program that trains is stopped at its first backward, unless it is `trained`.

    The result can be inspected like a preset: `.model`, `.inputs`, `.network.criterion`. With one
    input of several samples it is a `SampledProblem`. `inputs` are values of the program's free
    names. Raises ProgramRefused, with an error for the reader, where there is no network that runs.
    """
    arguments = validate_arguments(seed, inputs=inputs)
    seed, values = arguments["seed"], arguments["inputs"]
    with random_stream(0):
        first = _read(source, values, seed, trained)
    unused = [first]

    def take() -> _ProgramNetwork:
        """The network, made anew but for the first time; a stream with another seed than 0 changes
        the program's. torch's generator goes on where the program has left it."""
        other = torch.initial_seed()
        network = unused.pop() if unused and not other else None
        network = network or _read(source, values, seed + other, trained)
        torch.default_generator.set_state(network.random)
        return network

    def make() -> Network:
        found = take()
        return Network(found.model, found.inputs, found.criterion)

    def collect() -> Samples:
        found = take()
        samples = len(found.inputs[0])

        def criterion(output: Any, part: Tensor) -> Tensor:
            if found.loss is None:
                return found.criterion(output)
            return found.loss.of_samples(output, part, samples)

        return Samples(found.model, found.inputs[0], torch.arange(samples), criterion)

    parts = ("Your own", type(first.model).__name__[:60], make, first.source, first.loss_source)
    if not first.samples:
        return ModuleProblem(*parts, note=first.note, setup=first.setup)
    samples = first.samples
    return SampledProblem(
        *parts, note=first.note, setup=first.setup, collect=collect, batch=samples
    )


@dataclass
class _ProgramNetwork:
    """What was found in one run of a program. `samples` is how many can be passed one by one,
    `random` the state of torch's generator after the run."""

    model: nn.Module
    inputs: tuple[Any, ...]
    criterion: Callable[[Any], Tensor]
    loss: ProgramLoss | None
    source: str
    loss_source: str
    note: str
    setup: str = ""
    samples: int = 0
    random: Tensor = field(default_factory=torch.default_generator.get_state)


def _read(source: str, inputs: Mapping[str, Any], seed: int, trained: bool) -> _ProgramNetwork:
    """Run the program and find its network."""
    if not source.strip():
        empty = ProgramError("The program is empty.", hint=f"Define a module, such as {EXAMPLE}.")
        raise ProgramRefused(empty)
    program = Program(source, inputs)
    watcher = NetworkWatcher(program.completed, _limits.get(), trained=trained)
    run = Run(program, watcher)
    with run.to_end(seed % 2**63):
        try:
            found = _find(run)
        finally:
            watcher.end()
        dtype = torch.get_default_dtype()
    if _limits.get() is not None:  # what follows is the program's too, and `confined` puts it back
        torch.set_default_dtype(dtype)
    return found


def _find(run: Run[NetworkWatcher]) -> _ProgramNetwork:
    """The network of a program that has ended."""
    program, watcher = run.program, run.watcher
    failure = None if watcher.ended_at else run.error
    said, lines = [], []
    if watcher.ended_at:
        said.append(
            f"The program ran up to its first backward (line {watcher.ended_at}): this is the "
            "network before its first step."
        )
    found = find_model(run)
    if found is None and failure is not None:
        raise ProgramRefused(failure)
    if found is None:
        line, model = construct(run)
        name, said, lines = "model", [f"The line {line} was added."], [line]
    else:
        name, model = found
        rest = others(run, model)
        if rest and name not in NAMES:
            said.append(f"{name} is shown; to see {rest[-1]}, add the line model = {rest[-1]}.")
    use = watcher.modules.get(model)
    if failure is not None and use is not None and not use.returned:
        raise ProgramRefused(failure)  # the network itself has failed
    check_size(program, model)
    watcher.end()
    choice = InputChoice(run, name, model)
    inputs = choice.choose(use)
    random = torch.default_generator.get_state()
    loss, loss_source, sentence = _choose_loss(choice, inputs, use)
    said += [choice.sentence, sentence]
    if failure is not None:
        where = f"on line {failure.line}" if failure.line else "early"
        said.append(f"The program stopped {where}: {failure.message}")
    for parameter in model.parameters():
        parameter.grad = None
    setup = loss.text.setup if loss is not None and name else ""
    text = setup if watcher.ended_at and setup else program.completed.code
    last = f"net = {name}" if name else "# The network is a variable of a function."
    source = "\n".join([text.rstrip(), "", *lines, *choice.lines, last])
    return _ProgramNetwork(
        model,
        inputs,
        default_loss if loss is None else loss,
        loss,
        source,
        loss_source,
        " ".join(said),
        _if_small(model, setup if loss or watcher.ended_at or not name else source),
        choice.samples(inputs),
        random,
    )


def _if_small(model: nn.Module, text: str) -> str:
    """What comes before the loss, for a training session; "" for a network too large for one."""
    return "" if sum(p.numel() for p in model.parameters()) > limits.MOST_STEPPED_ELEMENTS else text


def _choose_loss(
    choice: InputChoice, inputs: tuple[Any, ...], use: ModuleUse | None
) -> tuple[ProgramLoss | None, str, str]:
    """The loss of the program, None for the default; the lines that compute it, and what is said of
    it."""
    completed, watcher, model = choice.run.program.completed, choice.run.watcher, choice.model
    try:
        output = choice.output(inputs)
    except Exception:  # the report says why
        output = None
    call = f"net({choice.arguments})"
    if use is not None and use.returned:
        variables = watcher.loss.variables if watcher.loss else watcher.variables
        call = find_call(completed, model, variables, use.line) or "net(x)"
        found = find_loss(completed, model, variables, use.line, watcher.loss)
        if found is not None and use.with_grad:
            text, values = found
            loss = ProgramLoss(choice.run, text, values)
            if _computes(loss, output):
                return loss, text.text, f"The loss comes from line {text.line}."
    if loss_in_output(output) is not None:
        end = '["loss"]' if isinstance(output, dict) else ".loss"
        return None, f"loss = {call}{end}", "The loss is the one that the network returns."
    return None, _sum_of_output(output, call), "The loss is the sum of its output."


def _sum_of_output(output: Any, call: str) -> str:
    """The lines that add up all elements of the output."""
    parts = list(_floating("out", output, 0))
    if isinstance(output, Tensor) or not parts:
        return f"loss = {call}.sum()"
    return f"out = {call}\nloss = " + " + ".join(f"{part}.sum()" for part in parts[:100])


def _floating(path: str, value: Any, depth: int) -> Iterator[str]:
    """The floating-point tensors of an output, each as an expression."""
    if isinstance(value, Tensor):
        if value.is_floating_point():
            yield path
    elif depth < 10:
        if isinstance(value, tuple | list):
            parts = [(f"{path}[{i}]", part) for i, part in enumerate(value)]
        elif isinstance(value, dict):
            parts = [(f"{path}[{key!r}]", part) for key, part in value.items() if type(key) is str]
        else:
            fields = getattr(value, "__dict__", {})
            parts = [(f"{path}.{name}", part) for name, part in fields.items()]
        for expression, part in parts:
            yield from _floating(expression, part, depth + 1)


def _computes(loss: ProgramLoss, output: Any) -> bool:
    """Whether the loss can be computed of this output."""
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            return loss(output).requires_grad
    except (Exception, ProgramStopped):
        return False
