"""Functions that torch.compile has made run beside a recording as without one."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import torch

from explorer.program.notices import running
from explorer.program.watched_calls import Patch, patched
from explorer.trace.recording.frame_recorder import FrameRecorder

_COMPILED = "What torch.compile has made ran as one operation."


@contextmanager
def beside_compiled(recorder: FrameRecorder) -> Iterator[None]:
    """Meanwhile what torch.compile has made runs as ever: with a mode of ours it would be compiled
    anew, our code with it. So the mode is taken away from where Dynamo begins until it ends
    (https://github.com/pytorch/pytorch/blob/main/torch/_dynamo/eval_frame.py)."""
    inside: list[FrameType] = []

    def begins(choose: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if frame.f_code.co_name == "compile_wrapper" and running() is recorder:
                recorder.arrive(frame)
                recorder.operations.stop()
                recorder.notices.add(_COMPILED, recorder.line)
                inside.append(frame)
            return choose(*args, **kwargs)

        return call

    def ends(put_back: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if inside and inside[-1] is sys._getframe(1):
                inside.pop()
                if not inside:
                    recorder.operations.start()
            return put_back(*args, **kwargs)

        return call

    def patches() -> list[Patch]:
        dynamo = sys.modules.get("torch._dynamo.eval_frame")
        makes = {"_callback_from_stance": begins, "set_skip_guard_eval_unsafe": ends}
        known = dynamo is not None and all(hasattr(dynamo, name) for name in makes)
        return [Patch(dynamo, name, make) for name, make in makes.items()] if known else []

    with ExitStack() as stack:

        def compiles(compile_: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(compile_)
            def call(*args: Any, **kwargs: Any) -> Any:
                made = compile_(*args, **kwargs)
                if not begun:
                    begun.append(True)
                    stack.enter_context(patched(patches()))
                return made

            return call

        found = patches()
        begun = [True] if found else []
        stack.enter_context(patched([*found, Patch(torch, "compile", compiles)]))
        yield
