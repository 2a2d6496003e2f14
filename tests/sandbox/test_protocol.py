"""Frames arrive whole and unchanged, however they are split on the way."""

import contextlib
import math
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer import limits
from explorer.sandbox import wire

pytestmark = pytest.mark.fast

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


@given(plain)
def test_messages_survive(message: object) -> None:
    assert wire.load(wire.dump(message)) == message


def test_nan_and_lone_surrogates_survive() -> None:
    assert math.isnan(wire.load(wire.dump(math.nan)))
    assert wire.load(wire.dump("\ud800")) == "\ud800"


@given(st.lists(st.binary(max_size=30), max_size=5), st.integers(1, 7))
def test_frames_survive_any_split(bodies: list[bytes], size: int) -> None:
    stream = b"".join(wire.make_frame(wire.PROGRESS, body) for body in bodies)
    near, far = socket.socketpair()
    with near, far:
        far.setblocking(False)
        reader, frames = wire.FrameReader(far), []
        for start in range(0, len(stream), size):
            near.sendall(stream[start : start + size])
            with contextlib.suppress(BlockingIOError):
                while True:
                    frames.append(reader.receive())
    assert frames == [(wire.PROGRESS, body) for body in bodies]


def test_too_large_is_refused_on_both_sides() -> None:
    with pytest.raises(wire.MessageTooLarge):
        wire.make_frame(wire.ANSWER, bytes(limits.MESSAGE + 1))
    head = (limits.MESSAGE + 1).to_bytes(4, "big") + bytes([wire.ANSWER])
    near, far = socket.socketpair()
    with near, far:
        near.sendall(head)
        with pytest.raises(wire.MessageTooLarge):
            wire.receive_frame(far)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 200_000, b"9" * 5000])
def test_an_invalid_message_is_refused(body: bytes) -> None:
    with pytest.raises(wire.InvalidMessage):
        wire.load(body)


def test_a_dict_that_looks_like_bytes_does_no_harm() -> None:
    assert wire.load(b'{"$bytes": "a"}') == {"$bytes": "a"}
    assert wire.load(b'{"$bytes": 3}') == {"$bytes": 3}


def test_bytes_only_where_they_are_expected() -> None:
    body = wire.dump({"image": b"abc"})
    assert wire.load(body, with_bytes=False) == {"image": {"$bytes": "YWJj"}}
