"""The real calls of a training loop: one instance of a problem, one real optimizer.

Each method below is one call of PyTorch, with what a page says of it recorded: `forward` computes
the loss, `backward` calls `loss.backward()`, `step` calls `optimizer.step()`. `ACTIONS` names them
all, so that what was done can be done again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from explorer.program import ProgramError, ProgramRefused, ProgramStopped
from explorer.program.error_messages import short_text
from explorer.training.arguments import split_name
from explorer.training.call_errors import explain_backward_error, explain_step_error
from explorer.training.clipping import clip_spec
from explorer.training.history import (
    Action,
    Evaluated,
    Settings,
    Snapshot,
    StepInput,
    Track,
    copy_tensors,
)
from explorer.training.optimizers import optimizer_spec
from explorer.training.problem import Live, Problem, random_stream
from explorer.training.schedulers import Schedule
from explorer.training.settings import (
    Group,
    change_settings,
    check_names,
    make_optimizer,
    read_groups,
)


class ActionFailed(Exception):
    """An action that could not be done; carries what to tell the reader."""

    def __init__(self, error: ProgramError) -> None:
        super().__init__(error.message)
        self.error = error


class TrainingLoop:
    """Makes calls one by one. Of the past it keeps only the last step; see `Timeline`.

    `settings` are what a reader has chosen, `hyper` the hyperparameters that the next step uses: a
    scheduler changes the latter. `clipped` are the gradients before the last clipping, as long as
    no other loss has been computed, `scheduled` the hyperparameters of each group before the last
    `scheduler.step()`.
    """

    instance: Live
    optimizer: Any
    seed: int
    settings: Settings
    hyper: dict[str, Any]
    scheduler: Schedule | None
    scheduled: list[dict[str, Any]]
    clipped: dict[str, Tensor] | None
    random: Tensor
    track: Track

    def __init__(self, problem: Problem, optimizer: str) -> None:
        self.problem, self.spec = problem, optimizer_spec(optimizer)
        self.loss: Tensor | None = None
        self.used = False
        self.remember = True
        self.last_step: StepInput | None = None

    def do(self, action: Action, remember: bool = True) -> None:
        """Do one action of `ACTIONS`; `ActionFailed` if it cannot be done.

        `remember` keeps what a step works from, for its arithmetic.
        """
        name, argument = action
        self.remember = remember
        ACTIONS[name](self, argument)

    # -- the calls, in the order of an iteration -----------------------------------------------

    def reset(self, start: tuple[int, Settings]) -> None:
        """Begin anew, with this seed and these settings."""
        seed, settings = start
        instance = self.problem.build(seed)
        if "start" in settings:
            settings = {**settings, "start": _put(instance.parameters, settings["start"])}
        self.spec.check_parameters(instance.parameters)
        groups = settings.get("groups", ())
        try:
            check_names(instance.parameters, groups)
        except ValueError as error:
            raise ActionFailed(ProgramError(str(error))) from None
        self.instance, self.settings = instance, settings
        self.optimizer = make_optimizer(self.spec, instance.parameters, settings["hyper"], groups)
        self.seed, self.hyper = seed, dict(settings["hyper"])
        self.random = instance.random
        self.track = Track()
        self.loss, self.used, self.last_step = None, False, None
        self.scheduler, self.scheduled, self.clipped = None, [], None
        if "scheduler" in settings:
            try:
                self.scheduler = Schedule(self.optimizer, settings["scheduler"])
            except ValueError as error:
                raise ActionFailed(ProgramError(str(error))) from None
            self._read_hyper()

    def iteration(self, zero_grad: bool) -> None:
        """All calls of an iteration; without `zero_grad`, as in a loop that forgets it."""
        if zero_grad:
            self.zero_grad(True)
        self.forward()
        self.backward()
        if "clip" in self.settings:
            self.clip()
        self.step()
        if self.scheduler:
            self.schedule()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """`optimizer.zero_grad(set_to_none=…)`"""
        self.optimizer.zero_grad(set_to_none=set_to_none)
        self.track.passes = 0

    def forward(self) -> None:
        """Compute the loss; its graph is kept until the next forward."""
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
        self.loss, self.used, self.clipped = loss, False, None
        self.track.loss.add(value, self.track.steps)
        if not math.isfinite(value):
            self._note_trouble("The loss", str(value))

    def backward(self) -> None:
        """`loss.backward()`: adds to every `.grad` and frees the graph."""
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
            raise ActionFailed(explain_backward_error(short_text(error), self.used)) from error
        for name, parameter in self.instance.parameters.items():
            if parameter.grad is not None and parameter.grad.is_sparse:
                message = f"The gradient of {name} is sparse, which is not supported here."
                raise ActionFailed(ProgramError(message, hint="Use sparse=False."))
        self.used = True
        self.track.passes += 1
        norm = gradient_norm(self.instance.parameters)
        self.track.norm.add(norm, self.track.steps)
        if not math.isfinite(norm):
            self._note_trouble("A gradient", "infinite or NaN")

    def clip(self) -> None:
        """The call that was chosen as `clip`, which changes every `.grad`."""
        if "clip" not in self.settings:
            raise ActionFailed(ProgramError("No clipping is chosen for this run."))
        name, arguments = split_name(self.settings["clip"])
        before = self.grads() if self.remember else None
        try:
            clip_spec(name).clip(self.instance.parameters.values(), arguments)
        except Exception as error:
            message, hint = "The gradients could not be clipped.", ""
            if all(p.grad is None for p in self.instance.parameters.values()):
                message, hint = (
                    f"{name} needs a gradient, and there is none.",
                    "Call backward first.",
                )
            raise ActionFailed(
                ProgramError(message, hint=hint, detail=short_text(error))
            ) from error
        self.clipped = before

    def step(self) -> None:
        """`optimizer.step()`: changes every parameter, using its `.grad`."""
        before = self.step_input() if self.remember else None
        try:
            if self.spec.evaluates:
                self._step_with_closure(before)
            else:
                self.optimizer.step()
        except ActionFailed:  # in the closure
            raise
        except Exception as error:
            raise ActionFailed(explain_step_error(error)) from error
        self.last_step = before
        self.track.lr.add(float(self.hyper["lr"]), self.track.steps)
        self.track.steps += 1

    def _step_with_closure(self, before: StepInput | None) -> None:
        """A step that computes the loss itself: it calls zero_grad, forward and backward as often
        as it likes. The curves show the loss of a forward that was pressed."""
        track, self.track = self.track, Track(steps=self.track.steps)
        grads: dict[str, Tensor | None] = {}

        def closure() -> Tensor:
            self.zero_grad(True)
            self.forward()
            self.backward()
            if "clip" in self.settings:
                self.clip()
            if not grads:
                grads.update(self.step_input().grads)
            assert self.loss is not None
            return self.loss

        try:
            self.optimizer.step(closure)
        finally:
            inner, self.track = self.track, track
        track.passes, track.trouble = inner.passes, track.trouble or inner.trouble
        if before is not None:
            after = self.step_input().parameters
            before.grads, before.evaluated = grads, Evaluated(len(inner.loss), after)

    def schedule(self) -> None:
        """`scheduler.step()`, with the last loss where the scheduler takes one."""
        if self.scheduler is None:
            raise ActionFailed(ProgramError("No scheduler is chosen for this run."))
        loss = None if self.loss is None else self.loss.item()
        name = self.scheduler.spec.name
        if loss is None and self.scheduler.spec.needs_loss:
            message = f"{name} compares losses, and there is none yet."
            raise ActionFailed(ProgramError(message, hint="Call forward first."))
        self.scheduled = self.hyper_of_groups()
        try:
            self.scheduler.step(loss)
        except ValueError as error:
            message = f"{name} cannot go on: there is no learning rate for the next step."
            raise ActionFailed(ProgramError(message, hint="Reset.", detail=str(error))) from None
        self._read_hyper()

    def set(self, change: dict[str, Any]) -> None:
        """Change hyperparameters of a group, from the next step on; see `validate_change`."""
        if change.get("group", 0) not in range(len(self.settings.get("groups", ())) + 1):
            raise ActionFailed(ProgramError(f"There is no group {change['group']}."))
        self.settings = change_settings(self.settings, change)
        new = {name: value for name, value in change.items() if name != "group"}
        if not change.get("group"):
            self.hyper = {**self.hyper, **new}
        self.optimizer.param_groups[change.get("group", 0)].update(new)

    # -- what is known between two calls -------------------------------------------------------

    @property
    def graph(self) -> str:
        """ "none" before a forward, "live" until backward, "freed" after it."""
        return "none" if self.loss is None else "freed" if self.used else "live"

    def groups(self) -> tuple[Group, ...]:
        """The groups of parameters besides the first."""
        return read_groups(self.spec, self.optimizer, self.settings.get("groups", ()))

    def hyper_of(self, name: str) -> dict[str, Any]:
        """The hyperparameters that the next step of this parameter uses."""
        own = (group.hyper for group in self.groups() if name in group.parameters)
        return next(own, self.hyper)

    def hyper_of_groups(self) -> list[dict[str, Any]]:
        """The hyperparameters of each group, the first included, as the next step uses them."""
        return [self.hyper, *(group.hyper for group in self.groups())]

    def grads(self) -> dict[str, Tensor]:
        """The gradients there are, copied."""
        return {
            name: p.grad.detach().clone()
            for name, p in self.instance.parameters.items()
            if p.grad is not None
        }

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
            {name: group.hyper for group in self.groups() for name in group.parameters},
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
            schedule=self.scheduler.state() if self.scheduler else {},
            state=state,
            random=self.random,
            hyper=now.hyper,
            settings=self.settings,
            track=self.track,
            mark=self.track.mark(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot, without a graph. Its track is cut back and continued."""
        # `restore` below need only undo changes.
        self.reset((snapshot.seed, snapshot.settings))
        for name, parameter in self.instance.parameters.items():
            parameter.data.copy_(snapshot.parameters[name])
            grad = snapshot.grads[name]
            parameter.grad = None if grad is None else grad.clone()
        for name, state in snapshot.optimizer.items():
            self.optimizer.state[self.instance.parameters[name]] = copy_tensors(state)
        if self.scheduler:
            self.scheduler.restore(snapshot.schedule)
            self.hyper = dict(snapshot.hyper)
        self.instance.restore(snapshot.state)
        self.random = snapshot.random
        self.track = snapshot.track
        self.track.return_to(snapshot.mark)

    def _read_hyper(self) -> None:
        """What the scheduler has changed."""
        group = self.optimizer.param_groups[0]
        self.hyper = {name: group.get(name, value) for name, value in self.hyper.items()}

    def _note_trouble(self, what: str, value: str) -> None:
        track = self.track
        if not track.trouble:
            when = f"became {value} after step {track.steps}"
            track.trouble = f"{what} {when if track.steps else f'is {value} at the start'}."


#: What each recorded action calls, with its argument.
ACTIONS: dict[str, Callable[[TrainingLoop, Any], None]] = {
    "reset": TrainingLoop.reset,
    "move": TrainingLoop.reset,
    "set": TrainingLoop.set,
    "zero_grad": TrainingLoop.zero_grad,
    "forward": lambda loop, _: loop.forward(),
    "backward": lambda loop, _: loop.backward(),
    "clip": lambda loop, _: loop.clip(),
    "step": lambda loop, _: loop.step(),
    "schedule": lambda loop, _: loop.schedule(),
    "iteration": TrainingLoop.iteration,
}


def _put(parameters: dict[str, Tensor], start: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give the parameters these values, and return them in the parameters' shapes and precision;
    `ActionFailed` where they do not fit."""
    for name, values in start.items():
        parameter = parameters.get(name)
        if parameter is None or parameter.numel() != values.numel():
            message = f"The start does not fit this problem: {name[:40]}."
            raise ActionFailed(ProgramError(message, hint="Reset the start."))
        if not bool(torch.isfinite(values).all()):
            raise ActionFailed(ProgramError("The start has to be finite numbers."))
        parameter.data.copy_(values.view(parameter.shape))
    return {name: parameters[name].detach().clone() for name in start}


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
