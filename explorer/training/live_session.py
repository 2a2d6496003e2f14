"""One instance of a problem, one real optimizer, and the real calls on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from explorer.language import ProgramError, ProgramRefused, ProgramStopped
from explorer.language.explain import short_text
from explorer.training.history import Action, Snapshot, Track, copy_tensors
from explorer.training.optimizers import optimizer_spec
from explorer.training.problem import Live, Problem, random_stream


class ActionFailed(Exception):
    """An action that could not be done; carries what to tell the reader."""

    def __init__(self, error: ProgramError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass
class StepInput:
    """What a step works from: by parameter name, as independent tensors."""

    parameters: dict[str, Tensor]
    grads: dict[str, Tensor | None]
    optimizer: dict[str, dict[str, Any]]
    hyper: dict[str, Any]


class LiveSession:
    """Does actions one by one. Of the past it keeps only the last step; see `Timeline`."""

    instance: Live
    optimizer: Any
    seed: int
    hyper: dict[str, Any]
    random: Tensor
    track: Track

    def __init__(self, problem: Problem, optimizer: str) -> None:
        self.problem, self.spec = problem, optimizer_spec(optimizer)
        self.loss: Tensor | None = None
        self.used = False
        self.remember = True
        self.last_step: StepInput | None = None

    @property
    def graph(self) -> str:
        """ "none" before a forward, "live" until backward, "freed" after it."""
        return "none" if self.loss is None else "freed" if self.used else "live"

    def do(self, action: Action, remember: bool = True) -> None:
        """Do one action of `CALLS`; `ActionFailed` if it cannot be done.

        `remember` keeps what a step works from, for its arithmetic.
        """
        name, argument = action
        self.remember = remember
        CALLS[name](self, argument)

    def step_input(self) -> StepInput:
        """What a step would work from now."""
        parameters = self.instance.parameters
        return StepInput(
            {name: p.detach().clone() for name, p in parameters.items()},
            {
                name: None if p.grad is None else p.grad.detach().clone()
                for name, p in parameters.items()
            },
            {
                name: copy_tensors(self.optimizer.state[p])
                for name, p in parameters.items()
                if p in self.optimizer.state
            },
            dict(self.hyper),
        )

    def capture(self) -> Snapshot | None:
        """A snapshot of the present; None where the problem's state cannot be copied."""
        state = self.instance.state()
        if state is None:
            return None
        now = self.step_input()
        return Snapshot(
            seed=self.seed,
            parameters=now.parameters,
            grads=now.grads,
            optimizer=now.optimizer,
            state=state,
            random=self.random,
            hyper=now.hyper,
            track=self.track,
            mark=self.track.mark(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot, without a graph. Its track is cut back and continued."""
        self._reset((snapshot.seed, snapshot.hyper))  # `restore` below need only undo changes
        for name, parameter in self.instance.parameters.items():
            parameter.data.copy_(snapshot.parameters[name])
            grad = snapshot.grads[name]
            parameter.grad = None if grad is None else grad.clone()
        for name, state in snapshot.optimizer.items():
            self.optimizer.state[self.instance.parameters[name]] = copy_tensors(state)
        self.instance.restore(snapshot.state)
        self.random = snapshot.random
        self.track = snapshot.track
        self.track.return_to(snapshot.mark)

    def _iteration(self, zero_grad: bool) -> None:
        if zero_grad:
            self._zero_grad(True)
        self._forward()
        self._backward()
        self._step()

    def _reset(self, start: tuple[int, dict[str, Any]]) -> None:
        seed, hyper = start
        self.instance = self.problem.build(seed)
        self.optimizer = self.spec.make(self.instance.parameters.values(), hyper)
        self.seed, self.hyper, self.random = seed, dict(hyper), self.instance.random
        self.track = Track()
        self.loss, self.used, self.last_step = None, False, None

    def _set(self, hyper: dict[str, Any]) -> None:
        self.hyper = {**self.hyper, **hyper}
        self.optimizer.param_groups[0].update(hyper)

    def _zero_grad(self, set_to_none: bool) -> None:
        self.optimizer.zero_grad(set_to_none=set_to_none)
        self.track.passes = 0

    def _forward(self, _: None = None) -> None:
        try:
            with random_stream(self.random) as state, torch.enable_grad():
                loss = self.instance.loss()
                random, value = state(), loss.item()
        except ProgramRefused as refused:
            raise ActionFailed(refused.error) from None
        except Exception as error:
            raise ActionFailed(
                ProgramError("The loss could not be computed.", detail=str(error))
            ) from error
        if not torch.equal(random, self.random):
            self.random = random
        self.loss, self.used = loss, False
        track = self.track
        track.losses.append(value)
        track.loss_steps.append(track.steps)
        if not math.isfinite(value):
            self._note_trouble(f"the loss became {value}")

    def _backward(self, _: None = None) -> None:
        if self.loss is None:
            raise ActionFailed(
                ProgramError(
                    "There is no graph to go back through.",
                    hint="Call forward first: it builds one.",
                )
            )
        try:
            self.loss.backward()
        except ProgramStopped as stopped:  # in a hook of the program
            raise ActionFailed(ProgramError(stopped.message, hint=stopped.hint)) from None
        except Exception as error:
            raise ActionFailed(_explain_backward_error(short_text(error), self.used)) from error
        for name, parameter in self.instance.parameters.items():
            if parameter.grad is not None and parameter.grad.is_sparse:
                message = f"The gradient of {name} is sparse, which is not supported here."
                raise ActionFailed(ProgramError(message, hint="Use sparse=False."))
        self.used = True
        track = self.track
        track.passes += 1
        norm = gradient_norm(self.instance.parameters)
        track.norms.append(norm)
        track.norm_steps.append(track.steps)
        if not math.isfinite(norm):
            self._note_trouble("a gradient became infinite or NaN")

    def _step(self, _: None = None) -> None:
        before = self.step_input() if self.remember else None
        try:
            self.optimizer.step()
        except Exception as error:
            large = "overflow" in str(error)
            hint = "A setting is too large for the parameters' dtype. Lower lr." if large else ""
            raise ActionFailed(
                ProgramError("The optimizer could not step.", hint=hint, detail=str(error))
            ) from error
        self.last_step = before
        self.track.steps += 1

    def _note_trouble(self, what: str) -> None:
        track = self.track
        if not track.trouble:
            when = f"after step {track.steps}" if track.steps else "before any step"
            track.trouble = f"{what[0].upper()}{what[1:]} {when}."


#: What each action calls, with its argument.
CALLS: dict[str, Callable[[LiveSession, Any], None]] = {
    "reset": LiveSession._reset,
    "set": LiveSession._set,
    "zero_grad": LiveSession._zero_grad,
    "forward": LiveSession._forward,
    "backward": LiveSession._backward,
    "step": LiveSession._step,
    "iteration": LiveSession._iteration,
}


def gradient_norm(parameters: dict[str, Tensor]) -> float:
    """The Euclidean norm of all gradients together; those that are None count as 0."""
    squares = 0.0
    for parameter in parameters.values():
        if parameter.grad is not None:
            grad = parameter.grad.detach()
            wide = None if grad.is_complex() else torch.float64  # no overflow in the squares
            norm = torch.linalg.vector_norm(grad, dtype=wide).item()
            squares += norm * norm
    return math.sqrt(squares)


def _explain_backward_error(detail: str, used: bool) -> ProgramError:
    """Why torch refused a backward, in a sentence, and what to do; `used` says whether one of our
    own actions has been through the graph."""
    for pattern, message, hint in _REFUSALS:
        if pattern in detail:
            if pattern == _TWICE and not used:
                message = "The loss code calls backward itself, so its graph has been used."
                hint = "Remove that call from the loss code: here you press backward yourself."
            return ProgramError(message, hint=hint, detail=detail)
    return ProgramError("The backward pass failed.", detail=detail)


_TWICE = "backward through the graph a second time"
_REFUSALS = (
    (
        _TWICE,
        "This graph has been used: backward freed the values it had saved.",
        "Call forward again: it builds a new graph.",
    ),
    (
        "modified by an inplace operation",
        "A value saved in the graph was changed after forward, so its gradient would be wrong.",
        "Call forward again, then backward, and only then step.",
    ),
    (
        "does not require grad",
        "The loss depends on no parameter, so there is no graph to go back through.",
        "Compute the loss from the parameters.",
    ),
)
