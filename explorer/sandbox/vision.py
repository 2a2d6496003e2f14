"""The runs of Feature maps on the network of a reader's program, in a child: see
`explorer.vision.own_network`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explorer.program import ProgramRefused
from explorer.sandbox import exit_reasons
from explorer.sandbox.calls import Call
from explorer.sandbox.client import submit
from explorer.trace import to_plain
from explorer.vision.own_network import OwnNetwork
from explorer.vision.validation import read_network, read_run

#: A run's name and its arguments.
Asked = tuple[str, Mapping[str, Any]]


def submit_vision(
    source: str, asked: Sequence[Asked], image: Any, weights: bytes = b"", **options: Any
) -> Call[list[Any]]:
    """The results of several runs on an image, an array, with the weights of the program or a file;
    `options` are those of `Sandbox.submit`. The call's result raises ProgramRefused."""
    runs = [(name, to_plain(dict(arguments))) for name, arguments in asked]

    def read(plain: Any) -> list[Any]:
        names = [name for name, _ in asked]
        return [read_run(name, result) for name, result in zip(names, plain, strict=True)]

    return _submit(source, runs, to_plain(image), weights, read, options)


def submit_own_network(source: str, weights: bytes = b"", **options: Any) -> Call[OwnNetwork]:
    """What the network of a program takes, and whether a file of weights fits it."""

    def read(plain: Any) -> OwnNetwork:
        (network,) = plain
        return read_network(network)

    return _submit(source, [], None, weights, read, options)


def _submit(
    source: str,
    runs: list[Any],
    image: Any,
    weights: bytes,
    read: Callable[[Any], Any],
    options: Mapping[str, Any],
) -> Call[Any]:
    def checked(get: Callable[[], Any]) -> Any:
        answer = get()
        try:
            return read(answer)
        except Exception:
            raise ProgramRefused(exit_reasons.unreadable_answer()) from None

    request = {"source": source, "runs": runs, "image": image}
    return submit("vision", request, data=weights, read=checked, **options)
