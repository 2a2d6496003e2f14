"""One child that stays with a reader's program during a drag: values in, a Trace or a path out.

An ordinary run takes a new child; most of its time goes into the memory pages that a fork copies.

Whoever has run in a child may have changed it, and what it answers afterwards. So a child stays
with one text, of which only the numbers may change, and only if that text does nothing but compute:
any other program has a fresh child for each frame.
"""

from __future__ import annotations

import ast
import io
import threading
import time
import tokenize
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from explorer import limits
from explorer.program import ProgramRefused
from explorer.program.completion import complete
from explorer.program.parsing import parse_tree
from explorer.sandbox import exit_reasons
from explorer.sandbox.client import Call, submit
from explorer.sandbox.typed_calls import read_trace
from explorer.trace import Trace
from explorer.trace.running import validate_arguments

#: The jobs that leave the process as they found it, so that one child can do them again and again,
#: with the texts of a request that are run.
JOBS: dict[str, Callable[[Any], tuple[str, ...]]] = {
    "run": lambda request: (request["source"],),
    "look_ahead": lambda request: (request["at"]["setup"], request["at"]["loss"]),
}
#: The modules with which a program computes and does nothing else, and parts of them that do more.
_MODULES = frozenset({"torch", "math", "random"})
_NOT = ("torch.distributed", "torch.multiprocessing", "torch.utils", "torch.library", "torch.hub")
#: Names of Python that reach what no text of a program mentions.
_REACHING = frozenset(
    {"__import__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "input"}
    | {"locals", "open", "setattr", "vars"}
)

Submit = Callable[..., Call[Any]]


class LiveRun:
    """Does one job after the other in one child, which the first starts and 2 s without a request
    end; a request for another job takes another child. Safe to use from several threads, one after
    the other.

    If the child has ended while it rested, the next request starts another. If too many readers
    drag at once, each request has a child of its own, as an ordinary run.
    """

    def __init__(
        self, submit: Submit, reader: str | None = None, limit: float = limits.FRAME_SECONDS
    ) -> None:
        self._submit, self._reader, self._limit = submit, reader, limit
        self._lock = threading.Lock()
        self._call: Call[Any] | None = None
        self._program: tuple[str, ...] = ()  # of the child: its job, and its texts without numbers
        self._stays = False
        self._is_closed = False

    @property
    def alive(self) -> bool:
        """Whether there was a child after the last request, which may rest still."""
        call = self._call
        return call is not None and call.connected

    def run(
        self,
        source: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        capture: str = "hook",
        upstream: Any = None,
        iteration: int | None = None,
        seed: int = 0,
    ) -> Trace:
        """What the program did; see `explorer.run`. Waits for about a second at most.

        Raises ProgramRefused, with an error for the reader, if the program was too slow or ended
        its child; the next call starts another. Raises ValueError where `explorer.run` does.
        """
        arguments = validate_arguments(seed, capture, upstream, iteration, inputs)
        request, read = {"source": source, **arguments}, partial(read_trace, source)
        trace: Trace = self._perform("run", request, read, _is_stopped)
        return trace

    def call(self, job: str, request: Any) -> Any:
        """The plain answer of a job of `JOBS`; waits for about a second at most.

        Raises ProgramRefused, as `run` does; an answer that comes too late is none.
        """
        if job not in JOBS:
            raise ValueError(f"{job} does not leave a child as it was")
        return self._perform(job, request, lambda get: get(), lambda answer, is_late: is_late)

    def close(self) -> None:
        """End the child. A request under way in another thread ends it when it is done."""
        self._is_closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._end_child()
            finally:
                self._lock.release()

    def _perform(
        self,
        job: str,
        request: Any,
        read: Callable[[Callable[[], Any]], Any],
        is_stopped: Callable[[Any, bool], bool],
    ) -> Any:
        with self._lock:
            if self._is_closed:
                raise exit_reasons.refused("stopped_in_queue")
            try:
                return self._ask(job, request, read, is_stopped)
            except ProgramRefused:
                self._end_child()
                raise
            finally:
                if self._is_closed:  # meanwhile, by another thread
                    self._end_child()

    def _ask(
        self,
        job: str,
        request: Any,
        read: Callable[[Callable[[], Any]], Any],
        is_stopped: Callable[[Any, bool], bool],
    ) -> Any:
        texts = JOBS[job](request)
        program = (job, *map(without_numbers, texts))
        if program != self._program:
            self._end_child()
            self._program, self._stays = program, all(map(only_computes, texts))
        if self._call is None or not self._stays:
            options: dict[str, Any] = {"timeout": self._limit, "reader": self._reader}
            self._call = self._submit(job, request, live=self._stays, **options)
        else:
            self._call.again(request)
        call, answer = self._call, None
        error = exit_reasons.explain("queue_full")
        if call.wait(self._limit + limits.FRAME_DELAY):
            try:
                answer = read(call.result)
            except ProgramRefused as refused:
                error = refused.error
        soon = limits.SOFT_SHARE * self._limit
        is_late = call.started is not None and time.monotonic() > call.started + soon
        if answer is not None:
            if not is_stopped(answer, is_late):
                return answer
            is_late = True
        if is_late:
            error = exit_reasons.explain("too_slow_to_follow", timeout=self._limit)
        raise ProgramRefused(error)

    def _end_child(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()


def _is_stopped(trace: Trace, is_late: bool) -> bool:
    """Whether a run was ended by its limit, which the child's clock may say a moment before it is
    known here."""
    error = trace.error
    return error is not None and (is_late or exit_reasons.is_out_of_time(error))


def submit_live(reader: str | None = None) -> LiveRun:
    """A live run in the app's sandbox. The first request starts the child."""
    return LiveRun(submit, reader)


def without_numbers(text: str) -> str:
    """The text with 0 in place of every number: what stays the same while a number is dragged. One
    that Python cannot read stays as it is."""
    try:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        kinds = [(token.type, token.string) for token in tokens]
    except (tokenize.TokenError, SyntaxError):
        return text
    return repr([(kind, "0" if kind == tokenize.NUMBER else name) for kind, name in kinds])


def only_computes(text: str) -> bool:
    """Whether the program seems to do nothing but compute, so that a child is the same after it.

    A program that hides what it does is not found; it can deceive its own reader only.
    """
    try:
        tree = parse_tree(complete(text).code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = _imported_modules(node)
            if not all(map(_is_computing, modules)):
                return False
            imported |= {name.asname or name.name.partition(".")[0] for name in node.names}
    return not any(_reaches_out(node, imported) for node in ast.walk(tree))


def _imported_modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [f"{node.module}.{name.name}" for name in node.names]


def _is_computing(module: str) -> bool:
    return module.partition(".")[0] in _MODULES and not f"{module}.".startswith(
        tuple(f"{name}." for name in _NOT)
    )


def _reaches_out(node: ast.AST, imported: set[str]) -> bool:
    """Whether it reaches for more than the program's own objects, or changes what is imported."""
    if isinstance(node, ast.Name):
        return node.id in _REACHING
    if not isinstance(node, ast.Attribute):
        return False
    if node.attr.startswith("_") and node.attr != "__init__":
        return True
    if isinstance(node.ctx, ast.Load):
        return False
    owner: ast.AST = node.value
    while isinstance(owner, ast.Attribute | ast.Subscript | ast.Call):
        owner = owner.func if isinstance(owner, ast.Call) else owner.value
    return isinstance(owner, ast.Name) and owner.id in imported
