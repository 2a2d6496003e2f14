"""time and datetime. A program never waits."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

from explorer.language.notices import notice
from explorer.language.vocabulary.everyday.checks import require_text

TITLE = "Time and date"


def _sleep(seconds: float) -> None:
    """The program does not wait."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    notice("time.sleep does not wait here.")


def with_short_format(function: Callable[..., str], place: int = 0) -> Callable[..., str]:
    """A `strftime`, whose format is short: the text of one field may be as long as its width."""

    def strftime(*args: Any, **kwargs: Any) -> str:
        given = kwargs.get("format", args[place] if len(args) > place else "")
        require_text(given, "The format", 200)
        return function(*args, **kwargs)

    strftime.__doc__ = function.__doc__
    return strftime


def get_strftime(receiver: Any, name: str) -> Any:
    """How `strftime` of a date is read."""
    return with_short_format(receiver.strftime)


_CLOCKS = """
    time_ns monotonic monotonic_ns perf_counter_ns process_time process_time_ns thread_time
    localtime gmtime ctime asctime mktime
"""
ADDED: dict[str, tuple[str, Any]] = {
    "time.sleep": (TITLE, _sleep),
    "time.strftime": (TITLE, with_short_format(time.strftime)),
    **{f"time.{name}": (TITLE, getattr(time, name)) for name in _CLOCKS.split()},
    **{
        f"datetime.{name}": (TITLE, getattr(datetime, name))
        for name in ("date", "datetime", "time", "timedelta", "timezone")
    },
}
KINDS = (time.struct_time,)
MEMBERS = {
    datetime.date: """year month day weekday isoweekday isoformat strftime replace toordinal
        timetuple ctime""",
    datetime.datetime: """hour minute second microsecond tzinfo timestamp date time astimezone
        utcoffset""",
    datetime.time: "hour minute second microsecond tzinfo isoformat strftime replace",
    datetime.timedelta: "days seconds microseconds total_seconds",
}
CLASS_MEMBERS: dict[type, dict[str, Any]] = {
    datetime.date: {
        name: getattr(datetime.date, name)
        for name in ("today", "fromisoformat", "fromtimestamp", "fromordinal", "min", "max")
    },
    datetime.datetime: {
        **{
            name: getattr(datetime.datetime, name)
            for name in [
                "now",
                "today",
                "utcnow",
                "fromisoformat",
                "fromtimestamp",
                "combine",
                "min",
                "max",
            ]
        },
        "strptime": lambda text, form: datetime.datetime.strptime(
            require_text(text, "The date", 200), require_text(form, "The format", 200)
        ),
    },
    datetime.timezone: {"utc": datetime.UTC},
}
