"""Counts the iterations of a training loop of the reader's, of which one is recorded."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import Any

import torch
from torch.optim import Optimizer

from explorer import limits
from explorer.program.notices import running
from explorer.program.watched_calls import Patch, patched
from explorer.trace.recording.objects import fields_of, variables_of
from explorer.trace.recording.operations import MODULE_CALL

#: Functions of torch, and of this project, run in every part of a training loop.
_EVERYWHERE = tuple(f"{Path(file).parent}{os.sep}" for file in (torch.__file__, limits.__file__))


class IterationCounter:
    """Counts the iterations of a training loop: each ends with the step of the last optimizer that
    steps in it, or where there is none, with a backward pass."""

    def __init__(
        self,
        step: int,
        start: Callable[[], None],
        end: Callable[[], None],
        discard: Callable[[], None],
    ) -> None:
        #: How many iterations have ended, backward passes, and steps of optimizers.
        self.done = self.passes = self.steps = 0
        self._thread = get_ident()
        #: Which one is recorded, from 1.
        self.step = step
        self._start, self._end, self._discard = start, end, discard
        self._stepped: set[int] = set()
        self._expected: set[int] = set()
        self._has_optimizer = False

    def counting(self) -> AbstractContextManager[None]:
        """Meanwhile the calls of torch's engine are counted, as long as no optimizer is seen."""
        return patched([Patch(torch.autograd, "_engine_run_backward", self._counted)])

    def _counted(self, engine: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(engine)
        def run(*args: Any, **kwargs: Any) -> Any:
            result = engine(*args, **kwargs)
            if running() is None and get_ident() == self._thread:
                self.note_backward(sys._getframe(1))
            return result

        return run

    def note_backward(self, frame: FrameType) -> None:
        """A backward pass has ended: an iteration, if there is no optimizer."""
        self.passes += 1
        self._has_optimizer = self._has_optimizer or any(_optimizers_around(frame))
        if not self._has_optimizer:
            self._finish()

    def note(self, optimizer: Optimizer) -> None:
        """An optimizer has stepped."""
        self.steps += 1
        if not self._expected:
            if self.done and not self._has_optimizer:  # backward passes are no iterations here
                self.done = 0
                if self.step > 1:
                    self._discard()
            self._has_optimizer = True
            self._expected = {id(optimizer), *map(id, _optimizers_around(sys._getframe(1)))}
        if id(optimizer) in self._stepped:  # another of those expected does not step in this loop
            self._expected, self._stepped = self._stepped, set()
            self._finish()
            if self.done == self.step - 1:  # this one has ended, too: the next is recorded
                self.done, self.step = self.done + 1, self.step + 1
                return
        self._stepped.add(id(optimizer))
        if self._stepped >= self._expected:
            self._stepped = set()
            self._finish()

    def _finish(self) -> None:
        """An iteration has ended."""
        self.done += 1
        if self.done == self.step - 1:
            self._start()
        elif self.done == self.step:
            self._end()


class Tail:
    """What comes after the end of an iteration, in the same round of the loop: where the learning
    rate is scheduled and the loss is printed."""

    def __init__(self, frame: FrameType | None) -> None:
        """`frame` is that in which the iteration has ended. Frames are known by their ids, for they
        would keep all variables alive; a function that is called anew may get the same one."""
        self._end = [(id(one), one.f_code, one.f_lasti) for one in _frames(frame)]
        codes = {code for _, code, _ in self._end}
        self._functions = {c for c in codes if not c.co_filename.startswith(_EVERYWHERE)}

    def is_over(self, frame: FrameType | None, *, with_forward: bool) -> bool:
        """Whether the loop has gone on, where this frame runs: one that ran at the end has come
        back, has called anew what ended the iteration, or calls its function from elsewhere. Also
        where a module runs: `with_forward` in any case, else where a gradient can follow."""
        now = _frames(frame)
        common = 0
        for (key, code, _), new in zip(self._end, now, strict=False):
            if key != id(new) or code is not new.f_code:
                break
            common += 1
        if not common:
            return True
        instruction, at = self._end[common - 1][2], now[common - 1].f_lasti
        is_again = at == instruction and common < len(self._end)
        inside = {one.f_code for one in now[common:]}
        is_forward = MODULE_CALL in inside and (with_forward or torch.is_grad_enabled())
        return at < instruction or is_again or bool(inside & self._functions) or is_forward


def _frames(frame: FrameType | None) -> list[FrameType]:
    """This frame and those around it, the outermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _optimizers_around(frame: FrameType | None) -> Iterator[Optimizer]:
    """The optimizers that running functions know, in their variables, in lists and dicts of them,
    and in the objects whose methods they are."""
    seen = set()
    while frame is not None:
        for value in _held(variables_of(frame)):
            if issubclass(type(value), Optimizer) and id(value) not in seen:
                seen.add(id(value))
                yield value
        frame = frame.f_back


def _held(names: Mapping[str, Any]) -> Iterator[Any]:
    """The variables of a function, the attributes of its `self`, and the items of both."""
    for value in (*names.values(), *fields_of(names.get("self")).values()):
        yield value
        if type(value) in (list, tuple):
            yield from value[: limits.MOST_ITEMS]
        elif type(value) is dict:
            yield from islice(value.values(), limits.MOST_ITEMS)
