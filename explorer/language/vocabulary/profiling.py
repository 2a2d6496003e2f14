"""`torch.profiler` and the like: functions are counted and timed in Python.

torch's own profiler makes system calls that are refused here, and writes files. This one sees every
function of torch that is called while it is active, times it, and prints a small table of the same
columns. What backward and optimizers run is not seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.stand_in import StandIn

#: Most different names in a table, and most profilers that are active at once.
MOST_NAMES, MOST_ACTIVE = 1000, 10
_COUNTED = (
    "The profiler here counts the torch functions of the forward pass; recording them makes their "
    "times longer."
)


class _Counter(TorchFunctionMode):
    """Counts and times the functions of torch that are called while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, Entry] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = time.perf_counter()
        try:
            return func(*args, **(kwargs or {}))
        finally:
            name = str(getattr(func, "__name__", "_"))
            if name[:1] != "_":
                self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        if name in self.entries or len(self.entries) < MOST_NAMES:
            self.entries.setdefault(name, Entry(name)).add(seconds)


#: The profilers that are active, the innermost last.
_active: list[_Counter] = []


def stop_all() -> None:
    """Forget the profilers that a program has left active."""
    _active.clear()


class Entry(StandIn):
    """One row of the table: an operator, or a `record_function`. Times are in microseconds."""

    def __init__(self, key: str) -> None:
        self.key, self.count = key, 0
        self.cpu_time_total = self.self_cpu_time_total = self.cpu_time = 0.0

    def add(self, seconds: float) -> None:
        """Count one more call."""
        self.count += 1
        self.cpu_time_total += seconds * 1e6
        self.self_cpu_time_total = self.cpu_time_total
        self.cpu_time = self.cpu_time_total / self.count

    def __repr__(self) -> str:
        return f"<{self.key}: {self.count} calls, {self.cpu_time_total:.0f} us>"


class Averages(StandIn):
    """What `key_averages()` returns."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    def table(self, sort_by: Any = None, row_limit: int = 100, *args: Any, **options: Any) -> str:
        """The entries as a table, those that took longest first, if that is asked for."""
        entries = self._entries
        if isinstance(sort_by, str) and "time" in sort_by:
            entries = sorted(entries, key=lambda entry: -entry.cpu_time_total)
        elif isinstance(sort_by, str) and "count" in sort_by:
            entries = sorted(entries, key=lambda entry: -entry.count)
        shown = entries[: max(int(row_limit), 0)] if row_limit is not None else entries
        rows = [("Name", "CPU total", "CPU time avg", "# of Calls")]
        rows += [
            (e.key[:60], _time(e.cpu_time_total), _time(e.cpu_time_total / e.count), str(e.count))
            for e in shown
            if e.count
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        line = "  ".join("-" * width for width in widths)
        lines = ["  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
        return "\n".join([line, lines[0], line, *lines[1:], line])

    def total_average(self) -> Entry:
        """All entries in one."""
        total = Entry("Total")
        for entry in self._entries:
            total.add(entry.cpu_time_total / 1e6)
            total.count += entry.count - 1
        return total

    def __iter__(self) -> Any:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> Entry:
        return self._entries[int(index)]

    def __str__(self) -> str:
        return self.table()


def _time(microseconds: float) -> str:
    """As torch writes it."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


class Profile(StandIn):
    """`torch.profiler.profile` and `torch.autograd.profiler.profile`."""

    def __init__(self, schedule: Any = None, on_trace_ready: Any = None) -> None:
        self._counter = _Counter()
        self._schedule = None if schedule is None else as_function(schedule)
        self._ready = None if on_trace_ready is None else as_function(on_trace_ready)
        self._is_counting = False
        self.step_num = 0

    def __enter__(self) -> Profile:
        notice(_COUNTED)
        if len(_active) >= MOST_ACTIVE:
            raise OutsideLanguage(
                "Too many profilers are active at once.", "Leave the outer ones first."
            )
        self._follow_schedule()
        return self

    def __exit__(self, *error: object) -> None:
        was_counting = self._is_counting
        self._set_counting(False)
        if self._ready is not None and was_counting and error[0] is None:
            self._ready(self)

    def start(self) -> None:
        """Begin, without a `with`."""
        raise OutsideLanguage(
            "A profiler is used in a with statement here.",
            "Write `with torch.profiler.profile() as prof:` around the code.",
        )

    def step(self) -> None:
        """One step of the schedule is done."""
        action = self._action()
        self.step_num += 1
        if action == "save":
            self._set_counting(False)
            if self._ready is not None:
                self._ready(self)
            self._counter.entries = {}
        self._follow_schedule()

    def _action(self) -> str:
        return "record" if self._schedule is None else str(self._schedule(self.step_num))

    def _follow_schedule(self) -> None:
        self._set_counting(self._action() in ("record", "save"))

    def _set_counting(self, wanted: bool) -> None:
        if wanted and not self._is_counting:
            self._counter.__enter__()
            _active.append(self._counter)
        elif self._is_counting and not wanted:
            self._counter.__exit__(None, None, None)
            if self._counter in _active:
                _active.remove(self._counter)
        self._is_counting = wanted

    def key_averages(self, *args: Any, **options: Any) -> Averages:
        """The operators that ran, each with its count and time."""
        return Averages(list(self._counter.entries.values()))

    def events(self) -> Averages:
        """The same: single calls are not kept."""
        return self.key_averages()

    def table(self, **options: Any) -> str:
        """`key_averages().table()`"""
        return self.key_averages().table(**options)

    def total_average(self) -> Entry:
        """All operators in one entry."""
        return self.key_averages().total_average()

    def export_chrome_trace(self, path: Any) -> None:
        """Would write a file."""
        notice("The profiler writes no files here.")

    def export_stacks(self, path: Any, metric: Any = "") -> None:
        """Would write a file."""
        notice("The profiler writes no files here.")

    def export_memory_timeline(self, path: Any, device: Any = None) -> None:
        """Would write a file."""
        notice("The profiler writes no files here.")

    def __str__(self) -> str:
        return self.table()


def _make_profile(
    *, activities: Any = None, schedule: Any = None, on_trace_ready: Any = None, **options: Any
) -> Profile:
    return Profile(schedule, on_trace_ready)


def _make_old_profile(enabled: bool = True, **options: Any) -> Profile:
    return Profile(None if enabled else lambda step: "none")


class RecordFunction(StandIn):
    """`record_function("name")`: a row of its own, for a block or a function."""

    def __init__(self, name: Any, args: Any = None) -> None:
        if type(name) is not str:
            raise TypeError("record_function needs a string")
        self._name, self._started = name[:100], 0.0

    def __enter__(self) -> RecordFunction:
        self._started = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        for counter in _active[-1:]:
            counter.add(self._name, time.perf_counter() - self._started)

    def __call__(self, function: Any) -> Callable[..., Any]:
        run = as_function(function)

        def recorded(*args: Any, **kwargs: Any) -> Any:
            with RecordFunction(self._name):
                return run(*args, **kwargs)

        return recorded


def _schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, **options: Any
) -> Callable[[int], str]:
    """Which steps are recorded."""
    lengths = wait, warmup, active = int(wait), int(warmup), int(active)
    if min(lengths) < 0 or active < 1:
        raise ValueError("Invalid profiler schedule arguments")

    def action(step: int) -> str:
        step -= int(skip_first)
        cycle, position = divmod(step, sum(lengths))
        if step < 0 or (repeat > 0 and cycle >= repeat) or position < wait + warmup:
            return "none"
        return "save" if position == sum(lengths) - 1 else "record"

    return action


def _tensorboard_trace_handler(dir_name: Any, *args: Any, **options: Any) -> Callable[[Any], None]:
    def handle(profile: Any) -> None:
        notice("The profiler writes no files here.")

    return handle


class Activity(StandIn):
    """A member of `ProfilerActivity`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"ProfilerActivity.{self.name}"


class Timer(StandIn):
    """`torch.utils.benchmark.Timer` and `timeit.Timer`, for functions."""

    def __init__(self, stmt: Any = "pass", setup: Any = "pass", **options: Any) -> None:
        if not callable(stmt):
            raise OutsideLanguage(
                "A statement given as text cannot be timed here.",
                "Pass a function: Timer(lambda: f(x)).",
            )
        self._run, self._setup = as_function(stmt), as_function(setup)

    def timeit(self, number: int = 1_000_000) -> Any:
        """Run it so often; the mean time."""
        return Measurement(self._measure(number) / number, number)

    def blocked_autorange(self, *args: Any, min_run_time: float = 0.2, **options: Any) -> Any:
        """Run it for a while; the mean time."""
        number = max(1, min(1000, int(min(float(min_run_time), 0.2) / (self._measure(1) + 1e-6))))
        return self.timeit(number)

    def _measure(self, number: int) -> float:
        if callable(self._setup):
            self._setup()
        started = time.perf_counter()
        for _ in range(number):
            self._run()
        return time.perf_counter() - started


class Measurement(StandIn):
    """What a Timer returns: `mean` and `median` are in seconds."""

    def __init__(self, mean: float, number: int) -> None:
        self.mean = self.median = mean
        self.number_per_run = number
        self.times = [mean]

    def __repr__(self) -> str:
        return f"{_time(self.mean * 1e6)}, mean of {self.number_per_run:,} runs"


def _timeit(stmt: Any = "pass", setup: Any = "pass", timer: Any = None, number: int = 10**6) -> Any:
    """`timeit.timeit`: seconds for all runs."""
    return Timer(stmt, setup)._measure(number)


_TITLE = "Profiling"
_PROFILE, _OLD = ClassProxy(Profile, _make_profile), ClassProxy(Profile, _make_old_profile)
_RECORD = ClassProxy(RecordFunction, RecordFunction)
ADDED: dict[str, tuple[str, Any]] = {
    "torch.profiler.profile": (_TITLE, _PROFILE),
    "torch.profiler.record_function": (_TITLE, _RECORD),
    "torch.profiler.schedule": (_TITLE, _schedule),
    "torch.profiler.tensorboard_trace_handler": (_TITLE, _tensorboard_trace_handler),
    "torch.profiler.ProfilerActivity.CPU": (_TITLE, Activity("CPU")),
    "torch.profiler.ProfilerActivity.CUDA": (_TITLE, Activity("CUDA")),
    "torch.autograd.profiler.profile": (_TITLE, _OLD),
    "torch.autograd.profiler.record_function": (_TITLE, _RECORD),
    "torch.utils.benchmark.Timer": (_TITLE, ClassProxy(Timer, Timer)),
    "timeit.Timer": (_TITLE, ClassProxy(Timer, Timer)),
    "timeit.timeit": (_TITLE, _timeit),
    "timeit.default_timer": (_TITLE, time.perf_counter),
}
