"""Frames arrive whole and unchanged, however they are split on the way."""

import math
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.sandbox import protocol

pytestmark = pytest.mark.fast

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


@given(plain)
def test_messages_survive(message: object) -> None:
    assert protocol.load(protocol.dump(message)) == message


def test_nan_and_lone_surrogates_survive() -> None:
    assert math.isnan(protocol.load(protocol.dump(math.nan)))
    assert protocol.load(protocol.dump("\ud800")) == "\ud800"


@given(st.lists(st.binary(max_size=30), max_size=5), st.integers(1, 7))
def test_frames_survive_any_split(bodies: list[bytes], size: int) -> None:
    stream = b"".join(protocol.make_frame(protocol.PROGRESS, body) for body in bodies)
    buffer, frames = protocol.FrameBuffer(), []
    for start in range(0, len(stream), size):
        buffer.feed(stream[start : start + size])
        frames += buffer.frames()
    assert frames == [(protocol.PROGRESS, body) for body in bodies]


def test_too_large_is_refused_on_both_sides() -> None:
    with pytest.raises(protocol.MessageTooLarge):
        protocol.make_frame(protocol.ANSWER, bytes(protocol.LIMIT + 1))
    head = (protocol.LIMIT + 1).to_bytes(4, "big") + bytes([protocol.ANSWER])
    buffer = protocol.FrameBuffer()
    buffer.feed(head)
    with pytest.raises(protocol.MessageTooLarge):
        list(buffer.frames())
    near, far = socket.socketpair()
    with near, far:
        near.sendall(head)
        with pytest.raises(protocol.MessageTooLarge):
            protocol.receive_frame(far)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 200_000, b"9" * 5000])
def test_an_invalid_message_is_refused(body: bytes) -> None:
    with pytest.raises(protocol.InvalidMessage):
        protocol.load(body)


def test_a_dict_that_looks_like_bytes_does_no_harm() -> None:
    assert protocol.load(b'{"$bytes": "a"}') == {"$bytes": "a"}
    assert protocol.load(b'{"$bytes": 3}') == {"$bytes": 3}


def test_bytes_only_where_they_are_expected() -> None:
    body = protocol.dump({"image": b"abc"})
    assert protocol.load(body, with_bytes=False) == {"image": {"$bytes": "YWJj"}}
