"""Runs a program and checks the gradients of its last backward."""

from __future__ import annotations

from explorer.language import Environment, Program, ProgramRefused, isolated
from explorer.trace.check.comparison import Comparison
from explorer.trace.check.last_pass import PassKeeper, watch_apply
from explorer.trace.check.records import Check
from explorer.trace.check.repeating import as_it_was
from explorer.trace.check.tape import CannotRepeat
from explorer.trace.running import Upstream, _own_backward, settings


def check(
    source: str, *, seed: int = 0, upstream: Upstream = None, deadline: float | None = None
) -> Check:
    """Check the gradients of a program's last backward (ours, if it never calls one).

    What is compared is what that one pass sent to each leaf, so it does not matter what `.grad`
    held before. `upstream` as for `run`; `deadline` is a time.monotonic() value at which checking
    stops: a leaf of which no element was reached is "unchecked". Never raises for a bad program;
    ValueError for a seed as for `run`.
    """
    asked = settings(seed, "hook", upstream)
    seed, upstream = asked["seed"], asked["upstream"]
    try:
        program = Program(source)
    except ProgramRefused as refused:
        return Check(reason=refused.error.message)
    recorder = PassKeeper(deadline=deadline)
    environment = Environment(recorder)
    watch_apply(environment, recorder.tape)
    with isolated(seed):
        failure = ""
        try:
            with recorder.watching(), recorder.tape:
                environment.run(program)
                if not recorder.pass_count:
                    recorder.upstream = upstream
                    _own_backward(recorder, environment, program, upstream)
        except ProgramRefused as refused:
            failure = refused.error.message
        last = recorder.last
        if last is None:
            return Check(reason=failure or "The program has no backward that could be checked.")
        try:
            with as_it_was():
                return Comparison(recorder, last, deadline).result()
        except CannotRepeat as why:
            return Check(reason=str(why), number=last.number)
