"""What a child can send in place of its answer, from end to end."""

# ruff: noqa: E501
from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from explorer import sandbox
from explorer.program import ProgramError
from explorer.sandbox import Sandbox
from explorer.sandbox.messages import LIMITS

#: Seconds a task may take, those that should reach the limit, and how much later the app may have
#: its answer on a busy machine. Where nothing else runs, it has it within 1.5 s.
LIMIT, SHORT, MARGIN = 5.0, 0.5, 4.0
#: How many bytes the app may grow by: the largest answer (36 MB) as bytes, as text and as values,
#: and holes that malloc may leave between them. Values of 36 MB of brackets would take 1.8 GB.
GROWTH = 150 * 2**20
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

#: The child's own side: `A(body)` and so on send a frame, `trace(part)` a Trace.
PRELUDE = """
def send(data):
    while data: data = data[os.write(channel, data):]
def frame(kind, body): send(len(body).to_bytes(4, "big") + kind + body)
def A(body): frame(b"A", body)
def E(body): frame(b"E", body)
def P(body): frame(b"P", body)
def T(body): frame(b"T", body)
def trace(part): A(b'{"$":"Trace","source":"x",' + part + b"}")
def values(item, count): trace(b'"variables":{"a":[' + item * count + b"0]}")
def tensor(value): trace(b'"variables":{"a":{"$":"array",' + value + b"}}")
"""

#: By what the reader is told.
REFUSED: dict[str, dict[str, str]] = {
    "could not be read": {
        "a text without an end": "A(b'\"' + b'\\\\\"' * 15_000_000)",
        "bytes": """A(b'{"$bytes":"' + b"A" * 33_000_000 + b'"}')""",
        "more bytes than any answer": "A(b' ' * (37 << 20))",
        "a length without a body": "send(b'\\xff\\xff\\xff\\xffA')",
        "depth that can be parsed": "trace(b'\"variables\":{\"a\":' + b'[' * 900 + b']' * 900 + b'}')",
        "an integer of 100,000 digits": "values(b'9' * 100_000 + b',', 1)",
        "infinity for an integer": "trace(b'\"seed\":Infinity')",
        "NaN for an integer": "trace(b'\"seed\":NaN')",
        "a wrong type": "trace(b'\"output\":[1]')",
        "an unknown type": "A(b'{\"$\":\"Sandbox\"}')",
        "an unknown field": "trace(b'\"dot\":1')",
        "no text at all": "A(bytes(range(256)))",
        "UTF-8": "A('{\"source\":\"é\"}'.encode())",
        "nothing": "A(b'')",
        "two values": "A(b'null null')",
        "no base64": """tensor(b'"dtype":"<f4","shape":[1],"data":"====AAAA"')""",
        "a huge shape": """tensor(b'"dtype":"<f4","shape":[4611686018427387904,4],"data":""')""",
        "a negative shape": """tensor(b'"dtype":"<f4","shape":[-1,-1],"data":"AAAA"')""",
        "objects": """tensor(b'"dtype":"O","shape":[1],"data":"AAAAAAAA"')""",
        "many elements": """tensor(b'"dtype":"|b1","shape":[24000000],"data":"' + b"A" * 32_000_000 + b'"')""",
        "a kind of node that does not exist": "trace(b'\"passes\":[{\"$\":\"Node\",\"id\":\"a\",\"kind\":\"b\",\"name\":\"\"}]')",
        "a frame of an unknown kind": "frame(b'Z', b'null')",
        "a frame of the server's": "frame(b'S', b'null'); frame(b'W', b'1')",
        "a request": "frame(b'H', b'{}'); frame(b'Q', b'{}')",
        "progress that nobody asked for": "while True: P(b'1')",
        "large progress": "P(b'[' + b'[],' * 12_000_000 + b'0]')",
        "parts without an end": "while True: T(b'null')",
        "a large part": "T(b'[' + b'[],' * 12_000_000 + b'0]')",
        "a large error": "E(b'\"' + b'x' * 30_000_000 + b'\"')",
        "an error that is none": "E(b'[1, 2]')",
        "no number of a line": "E(b'{\"$\":\"ProgramError\",\"message\":\"m\",\"line\":-5}')",
    },
    "too large": {
        "empty lists": "A(b'[' + b'[],' * 12_000_000 + b'0]')",
        "dicts": "A(b'[' + b'{},' * 12_000_000 + b'0]')",
        "short texts": """values(b'"ab",', 6_000_000)""",
        "numbers": "values(b'1.5,', 8_000_000)",
        "different keys": "A(b'{' + b','.join(b'\"k%d\":0' % n for n in range(400_000)) + b'}')",
        "characters of four bytes": r'''A(b'"\\ud83d\\ude00' + b"a" * 30_000_000 + b'"')''',
        "depth": "A(b'[' * 900_000)",
        "an error that grows": "E(b'[' + b'[],' * 80_000 + b'0]')",
    },
    "ended without a result": {
        "half a frame": "send((100).to_bytes(4, 'big') + b'Anull'); os._exit(0)",
        "a part that is none": "T(bytes(range(256))); os._exit(0)",
        "a part of another type": "T(b'[1, 2]'); os._exit(0)",
        "a part that grows": "T(b'[' + b'[],' * 1_300_000 + b'0]'); os._exit(0)",
        "half a prefix": "send(b'\\0\\0'); os._exit(0)",
    },
    "stopped": {
        "half a frame, and then nothing": "send((100).to_bytes(4, 'big') + b'Anull'); time.sleep(60)",
        "nothing at all": "time.sleep(60)",
        "a byte at a time": "send((10**6).to_bytes(4, 'big') + b'A')\nwhile True: send(b' '); time.sleep(.01)",
        "an answer after the limit": "time.sleep(30); A(b'{\"$\":\"Trace\",\"source\":\"\"}')",
        "slow progress": "while True: P(b'1'); time.sleep(.1)",
    },
}  # fmt: skip

#: Each is a result, and whether it is an error.
READ: dict[str, tuple[str, bool]] = {
    "NaN and infinity": ("trace(b'\"variables\":{\"a\":[NaN,-Infinity,1e999]}')", False),
    "a float of 100,000 digits": ("values(b'1.' + b'9' * 100_000 + b',', 1)", False),
    "duplicate keys": ("trace(b'\"output\":\"a\",' * 1000 + b'\"output\":\"b\"')", False),
    "lone surrogates": (r'''trace(b'"output":"\\ud800\\udfff\\ud800"')''', False),
    "two answers": ("trace(b'\"seed\":1'); trace(b'\"seed\":2')", False),
    "an error": ("E(b'{\"$\":\"ProgramError\",\"message\":\"m.\",\"column\":99}')", True),
}  # fmt: skip


class Forging:
    """Has the child of each call run the program as plain Python."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box

    def call(self, job: str, request: Any, **options: Any) -> Any:
        code = PRELUDE + request["source"] + "\ntime.sleep(60)"
        return self.box.call("raw", {"code": code}, **options)


@pytest.fixture
def forging(forking: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Any:
    forking.call("double", 1, timeout=60)  # starts the server
    monkeypatch.setitem(LIMITS, "raw", LIMITS["run"])
    return Forging(forking)


def memory(name: str) -> int:
    """This process's in bytes: `VmRSS` now, `VmHWM` the most since it was cleared."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def error_after(forging: Any, code: str, limit: float) -> ProgramError | None:
    """The error of a program, which must come in time and in memory."""
    CLEAR.write_text("5")
    before, start = memory("VmRSS"), time.monotonic()
    trace = sandbox.run(code, sandbox=forging, timeout=limit)
    seconds, growth = time.monotonic() - start, memory("VmHWM") - before
    assert seconds < limit + MARGIN
    assert growth < GROWTH, f"{growth / 2**20:.0f} MB"
    return trace.error


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(code, message, id=name)
        for message, codes in REFUSED.items()
        for name, code in codes.items()
    ],
)
def test_refused(forging: Any, code: str, message: str) -> None:
    error = error_after(forging, code, SHORT if message == "stopped" else LIMIT)
    assert error is not None
    assert message in error.message
    assert error.message.endswith(".")


@pytest.mark.parametrize("name", READ)
def test_read(forging: Any, name: str) -> None:
    code, is_error = READ[name]
    assert (error_after(forging, code, LIMIT) is not None) == is_error


def test_a_part_stands_for_an_answer_that_does_not_come(forging: Any) -> None:
    part = b'{"$":"Trace","source":"x","output":"so far"}'
    for end, message in (("os._exit(0)", "ended without"), ("time.sleep(60)", "stopped")):
        trace = sandbox.run(f"T(b'{{}}'); T({part!r}); {end}", sandbox=forging, timeout=SHORT)
        assert trace.error is not None
        assert message in trace.error.message
        assert trace.output == "so far"
    answer = b'{"$":"Trace","source":"x","output":"all"}'
    assert sandbox.run(f"T({part!r}); A({answer!r})", sandbox=forging).output == "all"
