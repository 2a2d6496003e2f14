"""Records code where it stands: names and lines come from the frames that run.

Nothing of the code is rewritten or traced. At each operation the stack is looked at: from which
statement of which function of the reader's it was called. When the next operation comes from
another statement, the one before has ended, and the frame tells what its names mean.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.trace.recording.objects import (
    is_a,
    items_of,
    join_path,
    named_parameters,
    quiet,
    variables_of,
)
from explorer.trace.recording.operations import MODULE_CALL, Operations
from explorer.trace.recording.own_files import BEFORE, OF_EXPRESSIONS, OwnFiles, Running, Statement
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.recording.tensor_registry import LiveTensor

_OPERATION = Operations.__torch_function__.__code__
_MISSING = object()


class _Place:
    """Where a frame of the reader's code has come: a statement, and in it an instruction, from
    which `inner` was called, if it is a function."""

    __slots__ = ("at", "frame", "inner", "instruction", "latest", "statement")

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.statement: Statement | None = None
        self.instruction = -1
        self.inner: FrameType | None = None
        self.at: Running | None = None
        #: The latest result of an operation that the instruction has called.
        self.latest: LiveTensor | None = None

    def is_again(self, statement: Statement, instruction: int, inner: FrameType | None) -> bool:
        """Whether the statement has begun anew: another one, or a loop has come back to it. What
        one call computes, one after the other, comes from the same inner frame."""
        if statement is not self.statement or instruction < self.instruction:
            return True
        is_same = inner is not None and inner is self.inner
        return instruction == self.instruction and not is_same


class FrameRecorder(ProgramRecorder):
    """A ProgramRecorder that asks frames what a program that was rewritten tells."""

    def __init__(self, files: OwnFiles, base: FrameType) -> None:
        super().__init__()
        self.files, self.locations = files, files.locations
        self.is_part = True
        self.most_parameters = limits.MOST_OWN_PARAMETERS
        #: Where the reader's code begins: frames around this one are not looked at.
        self.base = base
        #: The latest call of the function whose variables have plain names.
        self.home: FrameType | None = None
        #: The places of the functions that run, outermost first.
        self._places: list[_Place] = []
        #: The ids of tensors that no frame has a name for.
        self._unknown: set[int] = set()
        #: The ids of the modules that have been asked for.
        self._met: set[int] = set()

    def line_at(self, file: str, line: int) -> int:
        return self.files.line_at(file, line)

    # -- the running statement ----------------------------------------------------------------

    def running_line(self) -> int:
        self.arrive(sys._getframe(2))
        return self.line

    def arrive(self, frame: FrameType | None) -> None:
        """What happens now was called from this frame."""
        found = self._own_frame(frame)
        if found is None:
            return
        own, inner = found
        places = self._places
        if not places or places[-1].frame is not own:
            self._change_frames(own, inner)
        else:
            self._advance(places[-1], inner)
        statement = places[-1].statement
        if statement is not None:
            self.line = statement.line

    def _own_frame(self, frame: FrameType | None) -> tuple[FrameType, FrameType | None] | None:
        """The innermost frame of the reader's from this one on, and the one that it has called."""
        inner: FrameType | None = None
        owns = self.files.owns
        while frame is not None:
            code = frame.f_code
            is_base = code is self.base.f_code
            if is_base:
                self.base = frame
            if owns(code) and code.co_name not in OF_EXPRESSIONS:
                return frame, None if inner is None or inner.f_code is _OPERATION else inner
            if is_base:
                break
            inner, frame = frame, frame.f_back
        return None

    def _change_frames(self, own: FrameType, inner: FrameType | None) -> None:
        """Another function runs: those that have ended tell their names, the innermost first."""
        chain: list[tuple[FrameType, FrameType | None]] = []
        found: tuple[FrameType, FrameType | None] | None = (own, inner)
        while found is not None:
            chain.append(found)
            at = found[0]
            found = None if at.f_code is self.base.f_code else self._own_frame_around(at)
        chain.reverse()
        common = 0
        for place, (frame, _) in zip(self._places, chain, strict=False):
            if place.frame is not frame:
                break
            common += 1
        for place in reversed(self._places[common:]):
            self._leave(place)
        del self._places[common:]
        for place, (_, called) in zip(self._places, chain, strict=False):
            self._advance(place, called)
        for frame, called in chain[common:]:
            place = _Place(frame)
            self._places.append(place)
            if frame.f_code.co_qualname == self.files.base:
                self.home = frame
            self._enter_function(frame)
            self._advance(place, called)

    def _own_frame_around(self, own: FrameType) -> tuple[FrameType, FrameType | None] | None:
        found = self._own_frame(own.f_back)
        if found is None:
            return None
        frame, inner = found
        return frame, inner if inner is not None else own

    def _advance(self, place: _Place, inner: FrameType | None) -> None:
        """A frame has come to another instruction, or calls something else."""
        instruction = place.frame.f_lasti
        if instruction == place.instruction and inner is place.inner and inner is not None:
            return
        at = self.files.running(place.frame.f_code, instruction)
        if at is None:
            return
        if place.is_again(at.statement, instruction, inner):
            self._leave(place)
            place.statement = at.statement
            self.line, self.ordinal = at.statement.line, 0
            if at.statement.is_first or not self.run_counts[self.line]:
                self.run_counts[self.line] += 1
        else:
            self._name_latest(place)
        place.at, place.instruction, place.inner = at, instruction, inner

    def _enter_function(self, frame: FrameType) -> None:
        """A function of the reader's has been called: its arguments have names now."""
        scope = self.files.scope(frame.f_code)
        if not scope:
            return
        self.call_counts[scope] += 1
        self._bind_from(frame, self.files.arguments(frame.f_code))

    def _leave(self, place: _Place) -> None:
        """The running statement of a frame has ended."""
        statement, place.statement = place.statement, None
        if statement is None:
            return
        self._name_latest(place)
        line, self.line = self.line, statement.line
        self._bind_from(place.frame, statement.binds)
        self.line = line

    def _bind_from(self, frame: FrameType, names: tuple[tuple[int, str], ...]) -> None:
        if not names:
            return
        held = variables_of(frame)
        for place, name in names:
            value = held.get(name, _MISSING)
            if value is _MISSING:
                value = frame.f_globals.get(name, _MISSING)
            if value is not _MISSING:
                self.bind(place, name, value)

    def _name_latest(self, place: _Place) -> None:
        """The latest result of a call is what the call returned: it gets its text for a name."""
        live, place.latest = place.latest, None
        if live is None or place.at is None or live.named or live.name != live.operation:
            return
        location = self.locations[place.at.place]
        if location.text:
            live.name, live.line = location.text, location.line

    def interrupt(self) -> None:
        """Recording ends in the middle of the running statements: they have bound nothing yet."""
        self._places.clear()

    def finish(self) -> None:
        with quiet():
            for place in reversed(self._places):
                self._leave(place)
            self._places.clear()
        super().finish()

    # -- what is recorded ---------------------------------------------------------------------

    def add(self, position: Any, line: int, name: str, tensor: torch.Tensor) -> LiveTensor:
        """Record a tensor. As long as there are few, each that has a gradient has a position of its
        own: all calls of a function are shown, as all blocks of a network."""
        is_result = type(position[0]) is int
        if self.number < limits.MOST_TENSORS and tensor.requires_grad:
            position = (position, self.number)
        live = super().add(position, line, name, tensor)
        if is_result and self._places:
            self._places[-1].latest = live
        return live

    def _count_at(self, live: LiveTensor) -> None:
        """The statement that computed a tensor is known, whoever names it."""

    def statement_text(self) -> str:
        place = self._places[-1] if self._places else None
        return place.statement.text if place is not None and place.statement is not None else ""

    def meet(self, tensor: torch.Tensor) -> LiveTensor | None:
        """The record of a tensor that was made before, or where nobody looked: a new one, under the
        name that the innermost frame has for it."""
        if id(tensor) in self._unknown or len(self._unknown) >= limits.MOST_NAMES:
            return None
        if is_a(tensor, nn.Parameter):
            self.meet_parameters([tensor])
            if id(tensor) in self.leaves:
                return self.leaves[id(tensor)]
        for place in reversed(self._places):
            for name in _names_in(place.frame, tensor):
                scope = self.files.scope(place.frame.f_code)
                shown = self.name_in(scope, name)
                live = self.add(("met", name), 0, shown, tensor)
                live.named, live.scope = True, scope
                return live
        self._unknown.add(id(tensor))
        return None

    def module_path(self, module: nn.Module | None) -> str:
        if module is not None and id(module) not in self._met:
            self._met.add(id(module))
            self._meet_module(module)
        return super().module_path(module)

    def _meet_module(self, running: nn.Module) -> None:
        """Name the outermost running module as the function that called it does."""
        if id(running) in self.modules:
            return
        frame: FrameType | None = sys._getframe(2)
        outermost: tuple[nn.Module, FrameType] | None = None
        while frame is not None and frame.f_code is not self.base.f_code:
            if frame.f_code is MODULE_CALL:
                module = variables_of(frame).get("self")
                if isinstance(module, nn.Module):
                    outermost = module, frame
            frame = frame.f_back
        if outermost is None or id(outermost[0]) in self.modules:
            return
        module, at = outermost
        self.meet_parameters([parameter for _, parameter in named_parameters(module)])
        if id(module) in self.modules:
            return
        caller = at.f_back.f_back if at.f_back is not None else None  # around _wrapped_call_impl
        names = _names_in(caller, module) if caller is not None else iter(())
        self.name_module(next(names, type(module).__name__), module)

    def meet_parameters(self, parameters: Sequence[torch.Tensor]) -> None:
        """Name the modules that have these as the functions that run do: by a variable of the
        outermost, by what holds it in the innermost, or else as `self` in its own method."""
        wanted = {id(p) for p in parameters if id(p) not in self.leaves}
        frames = [place.frame for place in self._places]
        variables = [one for frame in frames for one in _modules_in(frame)]
        held = [one for frame in reversed(frames) for one in _held_modules_in(frame)]
        for name, module in sorted((*variables, *held), key=lambda one: one[0] == "self"):
            found = {id(p) for _, p in named_parameters(module)} if wanted else set()
            if wanted & found:
                self.name_module(name, module)
                wanted -= found

    def bind_tensor(self, place: int, name: str, tensor: torch.Tensor) -> None:
        """Name a tensor; a parameter as its module does, before a loop over parameters does."""
        if place != BEFORE and tensor.requires_grad and self.find(tensor) is None:
            self.meet(tensor)
        super().bind_tensor(place, name, tensor)

    def name_module(self, name: str, module: nn.Module) -> None:
        """Give the parts and the parameters of a module their names."""
        self.bind_parameters(BEFORE, name, module)
        self.bindings.give(name, module, 0)

    def is_met(self, value: Any) -> bool:
        """Whether the recorded code has used a variable; what is no tensor or module counts."""
        if is_a(value, torch.Tensor):
            return self.find(value) is not None
        return not is_a(value, nn.Module) or id(value) in self.modules


def _names_in(frame: FrameType, thing: Any) -> Iterator[str]:
    """What a frame calls this object: a variable, or an item or attribute of one."""
    for names in (variables_of(frame), _used_globals(frame)):
        for name, value in names.items():
            if value is thing and name != "self":
                yield name
        for name, value in names.items():
            parts = items_of(name, value)
            if is_a(value, nn.Module) and is_a(thing, torch.Tensor):
                parts = ((join_path(name, path), part) for path, part in named_parameters(value))
            yield from (path for path, part in parts if part is thing)


def _modules_in(frame: FrameType) -> Iterator[tuple[str, nn.Module]]:
    """The modules that are variables of a frame, with its names for them."""
    for names in (variables_of(frame), _used_globals(frame)):
        yield from ((name, value) for name, value in names.items() if is_a(value, nn.Module))


def _held_modules_in(frame: FrameType) -> Iterator[tuple[str, nn.Module]]:
    """Those that are items or attributes of other variables."""
    for names in (variables_of(frame), _used_globals(frame)):
        for name, value in names.items():
            if not is_a(value, nn.Module):
                yield from (one for one in items_of(name, value) if is_a(one[1], nn.Module))


def _used_globals(frame: FrameType) -> dict[str, Any]:
    if not frame.f_code.co_flags & CO_OPTIMIZED:
        return {}
    held = frame.f_globals
    return {name: held[name] for name in frame.f_code.co_names if name in held}
