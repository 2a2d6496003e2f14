"""What can be asked of a child, with types: what each job takes and gives.

Each function asks for a job of `jobs.JOBS`. Those that submit return a `Call` at once; `options`
are those of `Sandbox.submit`, and `sandbox`, by default the app's. A child can answer anything, so
each answer is checked. Where there is none, or none that can be read, `result` raises
ProgramRefused with an error for the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from explorer import limits
from explorer.networks.runs import read_run as read_network_run
from explorer.networks.settings import Settings
from explorer.program import ProgramError, ProgramRefused
from explorer.program.figures import Figure
from explorer.sandbox import exit_reasons
from explorer.sandbox.client import (
    Call,
    OnWait,
    Sandbox,
    Unanswered,
    WithData,
    app_sandbox,
    parse_answer,
)
from explorer.trace import Trace, to_plain
from explorer.trace.check import Check
from explorer.trace.proof.prove import NO_TIME, Proof, name_of_answers, untried
from explorer.trace.running import validate_arguments
from explorer.trace.sampling import Samples
from explorer.vision.own_network import OwnNetwork
from explorer.vision.validation import read_network
from explorer.vision.validation import read_run as read_vision_run
from explorer.vision.weights import (
    OPTIONAL,
    FittedWeights,
    WeightsError,
    with_classes,
)

#: Gives a plain answer, or raises ProgramRefused.
Get = Callable[[], Any]


def _submit(
    job: str,
    request: Any,
    read: Callable[[Get], Any],
    *,
    sandbox: Sandbox | None = None,
    **options: Any,
) -> Call[Any]:
    return (sandbox or app_sandbox).submit(job, request, read=read, **options)


def _read(read: Callable[[Any], Any], get: Get) -> Any:
    """What `read` makes of an answer. Raises ProgramRefused for one that it cannot read."""
    answer = get()
    try:
        return read(answer)
    except Exception:
        raise exit_reasons.refused("unreadable_answer") from None


# --- programs: run, checked, sampled, and their answers tried ---

_EARLIER = "The program's process has ended: what is shown is from a moment before that."


def run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    timeout: float = limits.JOB_SECONDS,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = app_sandbox,
) -> Trace:
    """`explorer.run` in a child, which may run for `timeout` seconds.

    Never raises for the program: if its child died, the Trace holds the source and the error.
    Raises ValueError where `explorer.run` does.
    `on_wait` and `reader` are those of `Sandbox.submit`.
    """
    arguments = validate_arguments(seed, capture, upstream, iteration, inputs)
    options = {"timeout": timeout, "on_wait": on_wait, "reader": reader}
    request = {"source": source, **arguments}
    return _to_trace(source, arguments, lambda: sandbox.call("run", request, **options))


def submit_run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    **options: Any,
) -> Call[Trace]:
    """The same without waiting."""
    arguments = validate_arguments(seed, capture, upstream, iteration, inputs)
    request = {"source": source, **arguments}
    return _submit("run", request, partial(_to_trace, source, arguments), **options)


def check(source: str, **options: Any) -> Check:
    """`submit_check`, and its result. Raises ProgramRefused with an error for the reader."""
    return submit_check(source, **options).result()


def submit_check(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    upstream: Any = None,
    **options: Any,
) -> Call[Check]:
    """`explorer.trace.check.check` in a child."""
    arguments = validate_arguments(seed, "hook", upstream, inputs=inputs)
    kept = {name: arguments[name] for name in ("inputs", "seed", "upstream")}
    request = {"source": source, **kept}
    return _submit("check", request, lambda get: parse_answer(Check, get()), **options)


def submit_sample(
    source: str,
    *,
    names: Sequence[str],
    ranges: Sequence[Sequence[float]],
    result: str,
    seed: int = 0,
    **options: Any,
) -> Call[Samples]:
    """`explorer.trace.sampling.sample` in a child."""
    leaves = {"names": list(names), "ranges": [list(ends) for ends in ranges]}
    request: dict[str, Any] = {"source": source, "result": result, "seed": seed, **leaves}
    return _submit("sample", request, lambda get: parse_answer(Samples, get()), **options)


def _to_trace(source: str, arguments: dict[str, Any], get: Callable[[], Any]) -> Trace:
    """The Trace in the answer; where there is none, what was sent of it, with the error."""
    trace = Trace(source, seed=arguments["seed"], capture=arguments["capture"])
    try:
        return read_trace(source, get)
    except ProgramRefused as refused:
        error = _with_text(refused.error, source)
        part = refused.part if isinstance(refused, Unanswered) else lambda: None
    said: tuple[str, ...] = ()
    with suppress(ProgramRefused):
        if (plain := part()) is not None:
            trace = read_trace(source, lambda: plain)
            said = (_EARLIER,)
    return replace(trace, error=error, notices=(*trace.notices, *said))


def read_trace(source: str, get: Callable[[], Any]) -> Trace:
    """The Trace in the answer. Raises ProgramRefused if there is none."""
    return replace(parse_answer(Trace, get()), source=source)


def _with_text(error: ProgramError, source: str) -> ProgramError:
    """The error with the text of its line."""
    lines = source.splitlines()
    if error.text or error.line is None or not 0 < error.line <= len(lines):
        return error
    return replace(error, text=lines[error.line - 1][:1000])


def prove(trace: Trace, **options: Any) -> Trace:
    """`explorer.prove` in a child."""
    return submit_prove(trace, **options).result()


def submit_prove(trace: Trace, **options: Any) -> Call[Trace]:
    """The same without waiting, in the background. The child runs the program once more and tries
    its answers, unless they are others then."""
    request = {
        "source": trace.source,
        "inputs": trace.inputs,
        "seed": trace.seed,
        "capture": trace.capture,
        "upstream": trace.upstream,
        "answers": name_of_answers(trace),
        "seconds": trace.seconds,
    }

    def read(get: Callable[[], Any]) -> Trace:
        try:
            return parse_answer(Proof, get()).of(trace)
        except ProgramRefused:
            return untried(trace, NO_TIME)

    defaults = {"timeout": limits.PROVE_SECONDS, "background": True}
    return _submit("prove", request, read, **defaults | options)


# --- figures ---

_PNG = b"\x89PNG\r\n\x1a\n"


def repaint(figure: Figure, **options: Any) -> bytes:
    """A figure of `Trace.figures` as PNG, as a browser may get it. Raises ProgramRefused.

    What a child has drawn may be any file that begins as a PNG does. A fresh child, in which nobody
    has been, reads it and writes its pixels anew.
    """
    return submit_repaint(figure, **options).result()


def submit_repaint(figure: Figure, **options: Any) -> Call[bytes]:
    """The same without waiting."""

    def read(get: Get) -> bytes:
        png = get()
        if not _is_png(png, (figure.width, figure.height)):
            raise exit_reasons.refused("unreadable_answer")
        return bytes(png)

    return _submit("repaint", figure.png.tobytes(), read, **options)


def _is_png(png: Any, size: tuple[int, int]) -> bool:
    if type(png) is not bytes or png[:8] != _PNG or png[12:16] != b"IHDR":
        return False
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    return (width, height) == size and width * height <= 1.1 * limits.MOST_FIGURE_PIXELS


# --- networks of readers, and weights ---


def submit_network(
    name: str,
    settings: Settings,
    arguments: Mapping[str, Any],
    **options: Any,
) -> Call[Any]:
    """Do the run `name` of `explorer.networks.runs` with the program of `settings`."""
    request = {"name": name, "settings": to_plain(settings), "arguments": to_plain(dict(arguments))}
    read = partial(_read, partial(read_network_run, name))
    return _submit("network", request, read, **options)


#: The name of a run of `explorer.vision.own_network`, and its arguments.
Asked = tuple[str, Mapping[str, Any]]


def submit_vision(
    source: str,
    asked: Sequence[Asked],
    image: Any,
    weights: bytes = b"",
    **options: Any,
) -> Call[list[Any]]:
    """The results of several runs of a program's network on an image, an array, with the weights of
    the program or a file."""

    def read(answer: Any) -> list[Any]:
        runs = zip(asked, answer, strict=True)
        return [read_vision_run(name, result) for (name, _), result in runs]

    runs = [(name, to_plain(dict(arguments))) for name, arguments in asked]
    request = {"source": source, "runs": runs, "image": to_plain(image)}
    return _submit("vision", request, partial(_read, read), data=weights, **options)


def submit_own_network(source: str, weights: bytes = b"", **options: Any) -> Call[OwnNetwork]:
    """What the network of a program takes, and whether a file of weights fits it."""

    def read(answer: Any) -> OwnNetwork:
        (network,) = answer
        return read_network(network)

    request: dict[str, Any] = {"source": source, "runs": [], "image": None}
    return _submit("vision", request, partial(_read, read), data=weights, **options)


def read_weights(
    data: bytes,
    needed: Mapping[str, Tensor],
    *,
    any_classes: bool = False,
    **options: Any,
) -> FittedWeights:
    """The tensors that a network needs, from a file that `torch.save` has written. With
    `any_classes`, a classifier's last layer takes the file's number of classes.

    The app says which tensors its network has, with shapes and types. The child finds them in the
    file and sends their values, so the app allocates what its own network needs and never what a
    file, or a child that a file has taken over, says. See `explorer.vision.checkpoint`.

    Raises WeightsError for a file that does not fit, and ProgramRefused if reading it failed.
    """
    return submit_weights(data, needed, any_classes=any_classes, **options).result()


def submit_weights(
    data: bytes,
    needed: Mapping[str, Tensor],
    *,
    any_classes: bool = False,
    **options: Any,
) -> Call[FittedWeights]:
    """The same without waiting."""
    listed = [
        [name, list(t.shape), str(t.dtype).removeprefix("torch.")] for name, t in needed.items()
    ]
    largest = [needed, with_classes(needed, limits.MOST_CLASSES)] if any_classes else [needed]
    return _submit(
        "weights",
        {"needed": listed, "any_classes": any_classes},
        partial(_read_fitted, dict(needed), any_classes=any_classes),
        data=data,
        returns=max(1, *(sum(tensor.nbytes for tensor in like.values()) for like in largest)),
        **{"timeout": limits.WEIGHTS_SECONDS} | options,
    )


def _read_fitted(
    needed: Mapping[str, Tensor], get: Get, *, any_classes: bool = False
) -> FittedWeights:
    try:
        answer: WithData = get()
    except ProgramRefused as refused:
        if exit_reasons.is_out_of_time(refused.error):
            raise WeightsError("Reading this file took too long, so it was stopped.") from None
        raise
    try:
        classes = _classes(answer.answer) if any_classes else 0
        needed = with_classes(needed, classes) if classes else needed
        error, notes, tensors = _parse_weights(needed, *answer)
    except Exception:
        raise exit_reasons.refused("unreadable_answer") from None
    if error:
        raise WeightsError(error)
    return FittedWeights(tensors, notes, classes)


def _classes(answer: Any) -> int:
    """How many classes the file has, if not the network's number. Raises ValueError."""
    classes = answer.get("classes", 0)
    if type(classes) is not int or not 0 <= classes <= limits.MOST_CLASSES:
        raise ValueError("not a number of classes")
    return classes


def _parse_weights(
    needed: Mapping[str, Tensor], answer: Any, data: bytearray
) -> tuple[str, tuple[str, ...], dict[str, Tensor]]:
    """The parts of an answer. Raises an exception if it is not one."""
    error, notes = answer.get("error", ""), answer.get("notes", [])
    present = answer.get("present", [])
    texts = [error, *notes]
    if len(notes) > limits.WEIGHTS_NOTES or any(
        type(t) is not str or len(t) > limits.NOTE_CHARACTERS for t in texts
    ):
        raise ValueError("not sentences")
    if error:
        return error, (), {}
    wanted = [name for name in needed if name in present or not name.endswith(OPTIONAL)]
    if present != wanted or len(data) != sum(needed[name].nbytes for name in wanted):
        raise ValueError("not the tensors that were asked for")
    tensors, at = {}, 0
    for name in wanted:
        like = needed[name]
        values = torch.empty(0, dtype=like.dtype)
        if like.numel():
            values = torch.frombuffer(data, dtype=like.dtype, count=like.numel(), offset=at)
        tensors[name] = values.reshape(like.shape)
        at += like.nbytes
    return "", tuple(notes), tensors
