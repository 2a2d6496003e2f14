"""The inputs of a program's network: what it passes itself, a variable, or what its layers take."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from explorer.networks.borrow import borrow_seeded
from explorer.networks.input_guess import Guess, SizeSearch, required
from explorer.networks.passes import copy_tensors, tensors_in
from explorer.networks.program_model import ModuleUse, NetworkWatcher, refused
from explorer.program import ProgramError, ProgramRefused, ProgramStopped, Run
from explorer.trace.recording.objects import named_modules

#: Names that a variable with the input usually has, the likeliest first.
_NAMES = ("x", "X", "inputs", "input", "images", "image", "data", "batch", "tokens", "features")


class InputChoice:
    """Finds inputs for the network `model` of a program that has run. `sentence` says which they
    are, `lines` are those that make them."""

    def __init__(
        self,
        run: Run[NetworkWatcher],
        name: str,
        model: nn.Module,
    ) -> None:
        self.run, self.name, self.model = run, name or "model", model
        self.sentence = ""
        self.lines: list[str] = []
        #: The arguments of a call of the network, in its own words.
        self.arguments = ""
        self.layers = 0
        #: By how many features the input of the linear layer that was called last is too wide.
        self.surplus: int | None = None

    def choose(self, use: ModuleUse | None) -> tuple[Any, ...]:
        """The inputs. Raises ProgramRefused if none fits."""
        if use is not None and use.returned:
            inputs = self._passed(use)
            what = "inputs come" if len(inputs) > 1 else "input comes"
            self.sentence = f"Its {what} from line {use.line}."
            return inputs
        for names, inputs in self._variables():
            if self.failure(inputs) is None:
                self.arguments = ", ".join(names)
                what = "inputs are" if len(names) > 1 else "input is"
                self.sentence = f"Its {what} {self.arguments}."
                return self._settled(inputs)
        return self._guessed()

    def _passed(self, use: ModuleUse) -> tuple[Any, ...]:
        """The inputs of a call by position; those that have only a name are passed by a hook."""
        args, kwargs = copy_tensors(use.args), copy_tensors(use.kwargs)
        if not kwargs:
            return tuple(args)
        try:
            bound = inspect.signature(self.model.forward).bind(*args, **kwargs)
        except (TypeError, ValueError):
            _pass_named(self.model, kwargs)
            return tuple(args)
        positional, named = _by_position(bound)
        if named:
            _pass_named(self.model, named)
        return positional

    def _variables(self) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
        """Tensors at the top level that could be the inputs, by name."""
        own = {id(t) for t in (*self.model.parameters(), *self.model.buffers())}
        tensors = {
            name: value
            for name, value in self.run.variables.items()
            if isinstance(value, Tensor) and not isinstance(value, nn.Parameter)
            if value.dim() and id(value) not in own
        }
        names = required(self.model)
        if names and all(name in tensors for name in names):
            yield names, tuple(copy_tensors(tensors[name]) for name in names)
        if len(names) == 1:
            likely = [name for name in _NAMES if name in tensors]
            for name in dict.fromkeys([*likely, *tensors]):
                yield [name], (copy_tensors(tensors[name]),)

    def _guessed(self) -> tuple[Any, ...]:
        """Random numbers in the first shape that the network takes, or else in the one that gets
        furthest through its layers: the report says which layer fails."""
        kind = type(self.model)
        if kind.forward is nn.Module.forward:
            raise refused(self.run.program, *_no_forward(kind))
        start, count, reached = torch.default_generator.get_state(), 0, 0
        furthest: tuple[Guess, ...] = ()
        first: ProgramError | None = None
        search = SizeSearch(self.model)
        for tried in search:
            torch.default_generator.set_state(start)
            failure = self.failure(tuple(guess.make() for guess in tried))
            count += 1
            if failure is None:
                return self._drawn(start, tried, "")
            search.failed(tried, self.surplus)
            if self.layers > reached:
                furthest, reached = tried, self.layers
            first = first or failure
        if reached:
            return self._drawn(
                start, furthest, f" None of {count} inputs fits; this gets furthest."
            )
        raise refused(
            self.run.program,
            f"No input was found that the network takes{f': {count} were tried' if count else ''}.",
            "Add a line that calls it, such as model(torch.randn(1, 3, 32, 32)).",
            first.line if first else None,
            (first.detail or first.message) if first else "",
        )

    def _drawn(self, start: Tensor, tried: tuple[Guess, ...], more: str) -> tuple[Any, ...]:
        """The inputs of these guesses, drawn from the generator's state `start`."""
        torch.default_generator.set_state(start)
        inputs = tuple(guess.make() for guess in tried)
        names = ["x"] if len(tried) == 1 else [f"x{i + 1}" for i in range(len(tried))]
        self.arguments, code = ", ".join(names), ", ".join(guess.code for guess in tried)
        self.lines = [f"{n} = {g.code}" for n, g in zip(names, tried, strict=True)]
        call = f"{self.name}({', '.join(required(self.model)) or 'x'})"
        self.sentence = f"Input tried: {code}.{more} To pass your own, add the line {call}."
        return inputs if more else self._settled(inputs)

    def failure(self, inputs: tuple[Any, ...]) -> ProgramError | None:
        """Why the network cannot take these inputs; None if it can. Leaves it, and torch's random
        numbers, as they were."""
        try:
            floating = [t for t in tensors_in(self.output(inputs)) if t.is_floating_point()]
        except ProgramStopped as stopped:
            raise ProgramRefused(self.run.explain(stopped)) from None
        except (Exception, SystemExit) as failed:
            return self.run.explain(failed)
        return None if floating else ProgramError("Its output has no floating-point tensor.")

    def output(self, inputs: tuple[Any, ...]) -> Any:
        """What the network makes of copies of these inputs; `layers` counts the modules that were
        passed. Raises what it raises."""
        self.layers, self.surplus = 0, None

        def enter(module: nn.Module, args: Any) -> None:
            self.surplus = None
            if type(module) is nn.Linear and args and isinstance(args[0], Tensor):
                self.surplus = (args[0].shape or (0,))[-1] - module.in_features

        def count(*ignored: Any) -> None:
            self.layers += 1

        with self.run.active(), torch.random.fork_rng(devices=[]), torch.enable_grad():
            if _waits_for_shapes(self.model):
                return copy.deepcopy(self.model)(*copy_tensors(inputs))
            with borrow_seeded(self.model) as loan:
                for _, module in named_modules(self.model):
                    loan.keep(nn.Module.register_forward_pre_hook(module, enter))
                    loan.keep(nn.Module.register_forward_hook(module, count))
                return self.model(*copy_tensors(inputs))

    def _settled(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs, once lazy layers have seen them."""
        if _waits_for_shapes(self.model):
            with torch.no_grad(), self.run.active():
                self.model(*copy_tensors(inputs))
        return inputs

    def samples(self, inputs: tuple[Any, ...]) -> int:
        """How many samples the input has that can be passed one by one; 0 if they cannot."""
        if len(inputs) != 1 or not isinstance(inputs[0], Tensor):
            return 0
        batch, with_time = inputs[0], (nn.RNNBase, nn.MultiheadAttention)
        if batch.dim() < 2 or len(batch) < 2:
            return 0
        modules = [module for _, module in named_modules(self.model)]
        if any(isinstance(m, with_time) and not m.batch_first for m in modules):
            return 0
        return len(batch) if self.failure((batch[:1],)) is None else 0


def _no_forward(kind: type[nn.Module]) -> tuple[str, str]:
    """A sentence for a class without the method, and a hint."""
    own = [name for base in kind.__mro__ if base is not nn.Module for name in vars(base)]
    misspelt = next(iter(get_close_matches("forward", own[:1000], 1, 0.75)), "")
    hint = f"Rename {misspelt} to forward." if misspelt else "Define def forward(self, x): in it."
    return f"{kind.__name__[:60]} has no method forward, so it cannot be called.", hint


def _waits_for_shapes(model: nn.Module) -> bool:
    return any(is_lazy(p) for p in (*model.parameters(), *model.buffers()))


def _by_position(
    bound: inspect.BoundArguments,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call that have a position, and the others."""
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            positional += value
        elif kind is inspect.Parameter.VAR_KEYWORD:
            named |= value
        elif kind is inspect.Parameter.KEYWORD_ONLY:
            named[name] = value
        else:
            positional.append(value)
    return tuple(positional), named


def _pass_named(model: nn.Module, named: dict[str, Any]) -> None:
    """Let every call of the model have these arguments as well."""

    def add(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        return args, {**copy_tensors(named), **kwargs}

    nn.Module.register_forward_pre_hook(model, add, with_kwargs=True)
