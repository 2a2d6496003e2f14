"""Frames come out as they went in, whole, however they were cut on the way."""

import math
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
def test_frames_survive_any_cut(bodies: list[bytes], size: int) -> None:
    stream = b"".join(wire.pack(wire.PROGRESS, body) for body in bodies)
    inbox, found = wire.Inbox(), []
    for start in range(0, len(stream), size):
        inbox.feed(stream[start : start + size])
        found += inbox.frames()
    assert found == [(wire.PROGRESS, body) for body in bodies]


def test_too_large_is_refused_on_both_sides() -> None:
    with pytest.raises(wire.TooLarge):
        wire.pack(wire.ANSWER, bytes(wire.LIMIT + 1))
    head = (wire.LIMIT + 1).to_bytes(4, "big") + bytes([wire.ANSWER])
    inbox = wire.Inbox()
    inbox.feed(head)
    with pytest.raises(wire.TooLarge):
        list(inbox.frames())
    near, far = socket.socketpair()
    with near, far:
        near.sendall(head)
        with pytest.raises(wire.TooLarge):
            wire.receive(far)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 200_000, b"9" * 5000])
def test_nonsense_is_unreadable(body: bytes) -> None:
    with pytest.raises(wire.Unreadable):
        wire.load(body)


def test_a_dict_that_looks_like_bytes_does_no_harm() -> None:
    assert wire.load(b'{"$bytes": "a"}') == {"$bytes": "a"}
    assert wire.load(b'{"$bytes": 3}') == {"$bytes": 3}
