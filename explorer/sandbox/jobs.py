"""The registry of jobs: from a job's name to the function that a child calls.

A job takes a plain request (JSON values and bytes) and a `Context`, and returns a plain answer.
A ProgramRefused that it raises is shown to the reader; any other exception becomes a general
message. To add a job, write its function here and add a line to `JOBS`, and one to `LIMITS` in
`messages.py` if its answers are large.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from explorer import trace
from explorer.networks import runs
from explorer.networks.from_program import confined
from explorer.program import Limits
from explorer.sandbox.progress import ChildJob, Context, Job, RunReporter
from explorer.sandbox.self_test import self_test
from explorer.trace import to_plain
from explorer.trace.check import check
from explorer.trace.proof.prove import IS_ANOTHER, Proof, name_of_answers, untried
from explorer.trace.sampling import sample
from explorer.training.replay import replay, replay_ahead
from explorer.vision import checkpoint, own_network
from explorer.vision.image import decode_to_plain, repainted
from explorer.vision.weights import WeightsError


def run_program(request: Any, context: Context) -> Any:
    """Run a program; see `explorer.run`."""
    reporter = RunReporter(context)
    with reporter.before_exit():
        ran = trace.run(
            **request,
            on_line=context.on_line,
            deadline=context.deadline,
            on_pulse=reporter,
            on_stuck=lambda stuck: context.finish(to_plain(stuck)),
        )
    return to_plain(ran)


def prove_answers(request: Any, context: Context) -> Any:
    """Run a program again and try its answers; see `explorer.prove`. Only if they are those of the
    first run, for a program may do something else each time."""
    expected, seconds, end = request.pop("answers"), request.pop("seconds"), context.deadline
    again = replace(trace.run(**request, deadline=end), seconds=seconds)
    is_same = name_of_answers(again) == expected
    proved = trace.prove(again, deadline=end) if is_same else untried(again, IS_ANOTHER)
    return to_plain(Proof(proved.answers, proved.error, is_same=is_same))


def replay_training(request: Any, context: Context) -> Any:
    """A press of a session whose calls a child makes; progress is the number of iterations."""
    return replay(request, context.progress, deadline=context.deadline, on_line=context.on_line)


def look_ahead(request: Any, context: Context) -> Any:
    """Where such a session would go; see `TrainingSession.look_ahead`."""
    return replay_ahead(request, deadline=context.deadline, on_line=context.on_line)


def check_gradients(request: Any, context: Context) -> Any:
    """Check the gradients of a program's last backward pass numerically."""
    return to_plain(check(**request, deadline=context.deadline))


def sample_program(request: Any, context: Context) -> Any:
    """The result of a program for many values of a leaf; see `explorer.trace.sampling.sample`."""
    return to_plain(sample(**request, deadline=context.deadline))


def decode_image(request: bytes, context: Context) -> dict[str, Any]:
    """Decode an uploaded file to pixels; see `vision.image.from_plain`."""
    return decode_to_plain(request)


def repaint(request: bytes, context: Context) -> bytes:
    """A PNG that another child has made, written anew; see `vision.image.repainted`."""
    return repainted(request)


def run_network(request: Any, context: Context) -> Any:
    """One run of the network of a reader's program; see `explorer.networks.runs`."""
    with confined(Limits(context.deadline, context.on_line)):
        return to_plain(runs.perform(**request, job=ChildJob(context)))


def run_vision(request: Any, context: Context) -> list[Any]:
    """Runs of Feature maps on the network of a reader's program; see `vision.own_network`."""
    with confined(Limits(context.deadline, context.on_line)):
        return own_network.perform(**request, weights=context.data)


def read_weights(request: Any, context: Context) -> dict[str, Any]:
    """Read a file of torch.save for a network; see `sandbox.read_weights`. The values of the
    tensors are sent as raw bytes, in the order in which the request names them."""
    needed = {
        name: torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
        for name, shape, dtype in request["needed"]
    }
    any_classes = request["any_classes"]
    try:
        fitted = checkpoint.read_weights(context.data, needed, any_classes=any_classes)
    except WeightsError as error:
        return {"error": str(error)}
    present = [name for name in needed if name in fitted.tensors]
    for name in present:
        values = fitted.tensors[name].contiguous().reshape(-1)
        context.send(values.view(torch.uint8).numpy())
    return {"present": present, "notes": list(fitted.notes), "classes": fitted.classes}


JOBS: dict[str, Job] = {
    "run": run_program,
    "prove": prove_answers,
    "replay": replay_training,
    "look_ahead": look_ahead,
    "check": check_gradients,
    "sample": sample_program,
    "repaint": repaint,
    "network": run_network,
    "image": decode_image,
    "vision": run_vision,
    "weights": read_weights,
    "self_test": self_test,
}
