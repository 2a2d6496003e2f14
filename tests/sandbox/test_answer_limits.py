"""Which answers take too much memory to be parsed."""

import pytest

from explorer import limits, trace
from explorer.sandbox import wire
from explorer.sandbox.messages import LIMITS, fits
from explorer.trace import to_plain
from explorer.trace.examples import EXAMPLES

MEMORY = LIMITS["run"].memory
#: Each takes more than the limit when parsed, some of them ten times as much. Made where they
#: are tested: every process collects the tests.
TOO_LARGE = {
    "empty lists": lambda: b"[" + b"[]," * 1_000_000 + b"0]",
    "lists of one": lambda: b"[" + b"[0]," * 600_000 + b"0]",
    "empty dicts": lambda: b"[" + b"{}," * 1_000_000 + b"0]",
    "dicts": lambda: b"[" + b'{"a":0},' * 600_000 + b"0]",
    "numbers": lambda: b"[" + b"1.5," * 2_000_000 + b"0]",
    "strings": lambda: b"[" + b'"ab",' * 1_500_000 + b'""]',
    "escapes": lambda: b"[" + b'"\\u0100",' * 1_200_000 + b"0]",
    "a string of four bytes a character": lambda: b'"\\ud83d\\ude00' + b"a" * 20_000_000 + b'"',
    "escapes alone": lambda: b'"' + b"\\u0041" * 4_000_000 + b'"',
    "escapes without an end": lambda: b'"\\u0041' + b'\\"' * 10_000_000 + b"\\",
    "different keys": lambda: b"{" + b",".join(b'"k%d":0' % n for n in range(500_000)) + b"}",
    "bytes": lambda: b'{"$bytes":"' + b"A" * 35_000_000 + b'"}',
    "bytes by another name": lambda: b'{"\\u0024bytes":"' + b"A" * 35_000_000 + b'"}',
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_too_large(name: str) -> None:
    assert not fits(TOO_LARGE[name](), MEMORY)


def test_only_ascii() -> None:
    with pytest.raises(wire.InvalidMessage):
        fits('"é"'.encode(), MEMORY)


@pytest.mark.parametrize("text", [b'"' * 3, b'"a"'])
def test_strings_without_places_for_them_are_not_all_looked_at(text: bytes) -> None:
    """Each took the app 0.3 microseconds."""
    with pytest.raises(wire.InvalidMessage):
        fits(text * 12_000_000, MEMORY)


@pytest.mark.parametrize(
    "text", ['"a"', '["a"]', '["a","b"]', '{"a":"b"}', '{"a":["b",{"c":"d"}]}']
)
def test_as_many_strings_as_places_fit(text: str) -> None:
    """Whatever the room is: each string is looked at where it is small."""
    assert {fits(text.encode(), memory) for memory in range(0, 2000, 10)} == {True, False}


def test_equal_keys_count_once() -> None:
    assert fits(b"[" + b'{"name":0},' * 300_000 + b"0]", MEMORY)


def test_long_texts_fit() -> None:
    assert fits(b'"' + b"A" * limits.MESSAGE + b'"', MEMORY)


def test_the_largest_image_fits() -> None:
    pixels = b'{"rgb":{"$bytes":"' + b"A" * (4 * limits.IMAGE_SIDE**2) + b'"}}'
    assert len(pixels) < LIMITS["image"].bytes
    assert fits(pixels, LIMITS["image"].memory)


def test_every_example_takes_a_small_part() -> None:
    for example in EXAMPLES[::8]:
        assert fits(wire.dump(to_plain(trace.run(example.source))), MEMORY // 20)
