"""What app, server and child say to each other: a task, how it ended, and what its answer may take.

A child can send anything, and JSON grows when it is parsed: `[],[],…` to fifty times its length. So
the server counts bytes and progress messages, and the app estimates from the text how much memory
the values in it will take, before it parses them.

The server imports this file, so it must not import torch.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace
from mmap import mmap
from typing import Any

from explorer import limits
from explorer.sandbox import wire


@dataclass(frozen=True)
class Task:
    """One execution of a job from `jobs.JOBS`: the job's name, the request as JSON, and the time
    limit in seconds. The child of a `live` task stays for further requests. `data_size` is the
    length of the caller's file, `data` the file once a child has received it."""

    job: str
    body: bytes | bytearray
    timeout: float
    live: bool = False
    data_size: int = 0
    data: bytearray = field(default_factory=bytearray)

    def header(self) -> dict[str, Any]:
        """What is sent ahead of the request."""
        return {
            "job": self.job, "timeout": self.timeout, "live": self.live, "data": self.data_size,
        }  # fmt: skip


@dataclass(frozen=True)
class ChildExit:
    """How a child ended: its status as `Popen.wait` returns it, and the line it last stored."""

    status: int
    line: int | None


_line_format = struct.Struct("=I")


def read_line(line: mmap) -> int | None:
    """The line number last stored in the memory that a child shares with whoever ends it, or None
    before the first and for what is none."""
    number: int = _line_format.unpack_from(line)[0]
    return number if 0 < number < 2**31 else None


# --- what a child may send ---

#: How many bytes of memory a list, a dict, a value after a comma and one after a colon may take.
_COSTS = {b"[": 200, b"{": 160, b",": 78, b":": 20}
#: More for each key that no other object has; the parser keeps one copy of equal keys.
_DISTINCT_KEY = 140
#: For each byte of text: the text itself, and the strings made of it; one more if it may contain
#: bytes, four more if escapes make Python store four bytes for every character of the string.
_TEXT, _BYTES, _WIDE = 2, 1, 4

#: A string, and the colon after a key. It matches at every quote and gives nothing back (`*+`), or
#: a text of many escapes, or without an end, would take minutes or gigabytes.
_STRING = re.compile(rb'"([^"\\]*+(?:\\.?[^"\\]*+)*+)"?\s*+(:?)', re.DOTALL)


@dataclass(frozen=True)
class AnswerLimits:
    """What one task of a job may send: `bytes` of an answer, which may take `memory` bytes when it
    is parsed, and `progress` messages of `progress_bytes` before it. Only an answer `with_bytes`
    may contain bytes. `parts` of it may be sent while the job goes on. `data` is how
    many raw bytes may be sent ahead of the answer: whoever asks knows how many they need, and sets
    it for the one call."""

    bytes: int = 2**20
    memory: int = 2**24
    progress: int = 0
    progress_bytes: int = 2**8
    with_bytes: bool = False
    parts: int = 0
    data: int = 0

    def allow_data(self, size: int, frames: int) -> bool:
        """Whether so many raw bytes may be sent in so many frames: each tensor begins one."""
        return size <= self.data and frames <= self.data // wire.CHUNK + limits.SENT_TENSORS

    def frames(self) -> dict[int, int]:
        """The largest size of each kind of frame that a child may send."""
        sizes = {
            wire.ANSWER: self.bytes,
            wire.ERROR: limits.ERROR_BYTES,
            wire.PROGRESS: self.progress_bytes,
            wire.STOP: 2**3,
        }
        if self.parts:
            sizes[wire.PART] = limits.PART_BYTES
        return sizes | ({wire.DATA: wire.CHUNK} if self.data else {})


#: For traces and replays. Four backward passes of two thousand steps need 93 MB of the memory, four
#: hundred tensors of four thousand elements most of the bytes. `replay` sends its progress about
#: fifty times.
_LARGE = AnswerLimits(limits.MESSAGE, memory=100 * 10**6, progress=100)
#: The bytes of the largest image (`limits.IMAGE_SIDE`, twice), three a pixel, as base64.
_PIXELS = 4 * 2048**2

#: The bytes of a drawn figure as base64.
_PICTURE = 12 * 2**20

#: A path of `limits.MOST_AHEAD_NUMBERS` numbers of eight bytes as base64, and more.
_PATH = 12 * 2**20

#: By the job's name; for a job that is not named here, `AnswerLimits()`. Not a part of the registry
#: of jobs, which imports what they need: the app knows only their limits.
LIMITS: dict[str, AnswerLimits] = {
    "run": replace(_LARGE, progress=1000, progress_bytes=2**15, parts=100),
    "prove": AnswerLimits(2**22, memory=2**25),
    "replay": _LARGE,
    "vision": _LARGE,
    "network": replace(_LARGE, progress=1000),
    "look_ahead": AnswerLimits(_PATH, memory=4 * _PATH),
    "check": AnswerLimits(2**22, memory=2**25),
    "repaint": AnswerLimits(_PICTURE, memory=4 * _PICTURE, with_bytes=True),
    "image": AnswerLimits(_PIXELS + 2**16, memory=4 * _PIXELS, with_bytes=True),
    "weights": AnswerLimits(2**20, memory=2**23),
    "self_test": AnswerLimits(progress=1000),
}


def limits_of(job: str) -> AnswerLimits:
    return LIMITS.get(job, AnswerLimits())


def fits(body: bytes | bytearray, memory: int) -> bool:
    """Whether the values in a message will take at most so many bytes of `memory`. Raises
    InvalidMessage if it is not ASCII, as everything that `wire.dump` makes is.

    Brackets and commas count in strings as well, which only makes the limit stricter. What takes
    longer, looking at each string, is done only where the limit could be exceeded.
    """
    if not body.isascii():
        raise wire.InvalidMessage("not ASCII")
    room = memory - _TEXT * len(body) - sum(cost * body.count(at) for at, cost in _COSTS.items())
    text = _BYTES + (_WIDE if b"\\u" in body else 0)
    most = text * len(body) + _DISTINCT_KEY * body.count(b":")
    return most <= room or _strings_fit(body, room)


def _strings_fit(body: bytes | bytearray, room: int) -> bool:
    """Whether `room` is enough for the different keys, the strings with escapes, and bytes."""
    keys = set[bytes]()
    most = 1 + sum(map(body.count, _COSTS))  # in JSON each follows one of these
    for number, match in enumerate(_STRING.finditer(body)):
        if number >= most:
            raise wire.InvalidMessage("more strings than places for them")
        start, end = match.span(1)  # a text itself would be a copy, of 30 MB perhaps
        if body.find(b"\\u", start, end) >= 0:
            room -= _WIDE * (end - start)
        if match[2] and match[1] not in keys:
            keys.add(match[1])
            room -= _DISTINCT_KEY
        if room < 0:
            return False
    may_have_bytes = any(key == b"$bytes" or b"\\" in key for key in keys)
    return room >= (_BYTES * len(body) if may_have_bytes else 0)
