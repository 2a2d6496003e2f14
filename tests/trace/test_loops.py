"""Of a loop, some turns are recorded: what the Trace shows is what full recording shows of them.

A loop may end otherwise, or do otherwise, than its first turns promise.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer import limits
from explorer.program import Limits, Program, ProgramStopped, Run, process_state
from explorer.trace import Trace, run, running, to_plain
from explorer.trace.recording import iterations
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.running import record
from explorer.trace.validation import validate

HEAD = """\
import torch
from torch import nn
w = torch.tensor([1., -2.], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
x = torch.tensor([0.3, 0.7])
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True), nn.Linear(2, 2))
cell, hidden = nn.GRUCell(2, 2), torch.zeros(1, 2)
optimizer = torch.optim.SGD([w, b, *net.parameters()], lr=0.01, momentum=0.9)
adam = torch.optim.Adam([*cell.parameters(), w], lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
losses, kept, turns, total = [], [], [], 0.0
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a**3
    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        slope = 3 * a**2
        return slope * g
def bend(a, turn):
    c = torch.tanh(a)
    if turn > 14:
        return c
    d = c * 2
    return d + a
"""

LOSS = "loss = (h**2).mean()"
#: What computes h from h.
FORWARD = """\
h = h * w + b
h = torch.tanh(h) + x
h = net(h.unsqueeze(0))[0]
h = Cube.apply(h * 0.5)
h = bend(h, turn)
h = h * h.detach()
h = h.clone(); h[0] = 1.0
h = h * 1.0; h += 0.5
h = h.view(1, 2).squeeze(0) * 2
hidden = cell(h.unsqueeze(0), hidden.detach()); h = h + hidden[0]
h = h * w if turn < {at} else h + w
h = h + torch.rand(2)
for k in range(3): h = h * 0.9 + k * b
for k in range(3 if turn < {at} else 1): h = torch.sin(h)
first, second = h; h = torch.stack([first * second, second])
h.register_hook(lambda g: g * 0.5)
h.retain_grad()
""".splitlines()

BACKWARD = """\
loss.backward()
loss.backward()
loss.backward(); losses.append(loss.item())
loss.backward(retain_graph=True); loss.backward()
if turn % 3 == 1: loss.backward()
if turn != {at}: loss.backward()
if turn < {at}: loss.backward()
grad_w, = torch.autograd.grad(loss, w, create_graph=True); (grad_w**2).sum().backward()
torch.autograd.backward([loss, (w * b).sum()])
h.backward(torch.ones_like(h))
""".splitlines()

UPDATE = """\
optimizer.step(); optimizer.zero_grad()
optimizer.zero_grad(set_to_none=False)
optimizer.step(); adam.step(); adam.zero_grad()
nn.utils.clip_grad_norm_([w, b], 1.0); optimizer.step(); scheduler.step()
if turn % 4 == 3: optimizer.step(); optimizer.zero_grad()
w.data -= 0.01 * w.grad if w.grad is not None else 0
w.data.clamp_(-2, 2); w.grad = None
w = (w * 0.99).detach().requires_grad_()
w.grad = None; b.grad = None
""".splitlines()

OTHER = """\
if turn == {at}: once = (w * 3).exp(); deep = once * b
if turn == {at}: kept.append(h); kept.append(loss)
if turn == {at}: w.register_hook(lambda g: g * 2)
if turn == {at}: print(h.grad, w.grad, w)
if turn == {at}: x = w.detach() * 0.5
if turn == {at}: w.requires_grad_(False)
if turn == {at} + 1: w.requires_grad_(True)
if turn == {at}: w = w * 1.5
if turn < {at}: early = (w * x).sum()
if turn > {at}: late = (w * x).sum()
if turn % 5 == 2: rare = w**2; rare.sum().backward()
with torch.no_grad(): check = (w * x).sum()
with torch.no_grad(): w *= 0.99
losses.append(loss)
kept.append(w.grad)
total += loss.item()
copy = w.clone()
print(turn, loss.item())
net.train(turn % 2 == 0)
note = torch.tensor(float(loss))
del h
""".splitlines()

#: What ends a turn or the loop, or fails.
END = """\
if turn == {at}: continue
if turn > {at}: continue
if turn == {at}: break
if turn == {at}: raise ValueError("stop")
if turn == {at}: w += 1
if turn == {at}: loss.backward(); loss.backward()
q = [1, 2][0 if turn < {at} else 5]
assert turn < {at}
if turn == {at}: turns.clear()
if turn == {at}: del turns[-5:]
if turn == {at}: turns.append(99)
""".splitlines()

AROUND = """\
for turn in range({turns}):
for turn in range({turns}):
turns = list(range({turns}));for turn in turns:
for turn in (t for t in range({turns})):
for turn, row in enumerate(torch.randn({turns}, 2)):
for outer in range({turns} // 4):;    for turn in range(outer % 4 + 1):
for outer in range(3):;    for turn in range({turns}):
turn = -1;while turn < {turns}:;    turn += 1
turn = -1;while True:;    turn += 1;    if turn >= {turns}: break
turn = -1;while turn < {turns} and w.norm() < 99:;    turn += 1;    if turn == {at}: break
size = w.sum();turn = 0;while (size > -99) and turn < {turns}:;    turn += 1;    size = w.sum()
for turn in range(99):;    if turn >= {turns}: break
for turn in range(99):;    if turn >= {at} and w.norm() > 0: break
for outer in range(4):;    for turn in range(99):;        if turn * (outer + 1) >= {turns}: break
for outer in range(9):;    if outer == 3: break;    for turn in range({turns}):
outer = 0;while outer < 4:;    outer += 1;    turn = 0;    while turn < 9:;        turn += 1
for turn in range({turns}):;    try:
try:;    for turn in range({turns}):
def train(turn):;    global w, x, hidden, total
""".splitlines()

AFTER = """\
end = (w * x).sum()
end = (w * b).sum(); end.backward()
loss.backward()
print(sum(float(q) for q in losses))
sum(torch.as_tensor(q) for q in losses).backward()
kept[0].sum().backward()
""".splitlines()


def indented(lines: list[str], by: int) -> Iterator[str]:
    """The lines, and what follows a semicolon on a line of its own."""
    for line in lines:
        head, colon, rest = line.partition(": ")
        block = colon and head.split()[0] in ("if", "for", "with")
        parts = rest if block else line
        if block:
            yield "    " * by + head + ":"
        for part in parts.split(";"):
            yield "    " * (by + bool(block)) + part.strip()


@st.composite
def loops(draw: st.DrawFn) -> str:
    def some(lines: list[str], least: int, most: int) -> list[str]:
        return draw(st.lists(st.sampled_from(lines), min_size=least, max_size=most, unique=True))

    turns = draw(st.sampled_from([3, 9, 13, 17, 24]))
    body = [
        "h = w * x",
        *some(FORWARD, 1, 3),
        LOSS,
        draw(st.sampled_from(BACKWARD)),
        *some(UPDATE, 0, 2),
    ]
    for line in [*some(OTHER, 0, 3), *some(END, 0, 1)]:
        body.insert(draw(st.integers(body.index(LOSS) + 1, len(body))), line)
    around = draw(st.sampled_from(AROUND)).split(";")
    depth = max(len(line) - len(line.lstrip()) for line in around if line[-1] == ":") // 4 + 1
    if around[0].startswith("def"):
        body = [line.replace("continue", "return").replace("break", "return") for line in body]
        depth = 1
    lines = [*around, *indented(body, depth)]
    if "try:" in around[0]:
        lines += ["except (RuntimeError, ValueError, IndexError): print('failed')"]
    elif "try:" in around[-1]:
        lines += ["    except (RuntimeError, ValueError, IndexError): kept.append(w)"]
    elif around[0].startswith("def"):
        lines += [f"for turn in range({turns}): train(turn)", "train(1)"]
    text = "\n".join([*lines, *indented(some(AFTER, 0, 1), 0)])
    at = draw(st.sampled_from([2, 8, 11, 16, turns // 2, turns - 2]))
    return HEAD + text.replace("{at}", str(at)).replace("{turns}", str(turns)) + "\n"


def fully_recorded(
    source: str, capture: str = "hook", iteration: int | None = None, **until: Any
) -> Trace:
    given: dict[str, Any] = {"capture": capture, "iteration": iteration, "totals": {}}
    recorder = ProgramRecorder(Limits(**until), **given)
    return record(Run(Program(source, {}), recorder), None, 0)


def differences(a: Any, b: Any, at: str = "") -> Iterator[str]:
    """Where two plain traces differ."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from differences(a[key], b[key], f"{at}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, parts in enumerate(zip(a, b, strict=True)):
            yield from differences(*parts, f"{at}[{i}]")
    elif json.dumps(a) != json.dumps(b):
        yield f"{at}: {str(a)[:200]}, fully recorded {str(b)[:200]}"


def check(source: str, capture: str = "hook") -> Trace:
    trace = run(source, capture=capture)
    full = fully_recorded(source, capture)
    full = replace(full, notes=trace.notes, seconds=trace.seconds)  # torch warns only once
    found = list(differences(to_plain(trace), to_plain(full)))
    assert not found, "\n".join([*found[:5], source])
    return trace


def every_turn(source: str) -> Trace:
    """With all records of all turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "FIRST_VISITS", 10**6)
        return fully_recorded(source)


def shown(trace: Trace) -> set[str]:
    """Each tensor and each gradient that is shown, with its line and turn; that of a leaf is the
    one in which it was seen first with this value."""
    tensors = [
        [r.line, 0 if r.is_leaf else r.origin.visit, r.shape, r.value, r.grad]
        for r in trace.tensors
    ]
    passes = [[p.number, p.line, [s.grads_in for s in p.steps]] for p in trace.passes]
    return {json.dumps(to_plain(fact)) for fact in [*tensors, *passes]}


def check_shown(source: str) -> Trace:
    """Nothing is shown of a turn that was not so in it; what the program does is all there."""
    trace, full = run(source), every_turn(source)
    assert shown(trace) <= shown(full), source
    assert (trace.output, trace.error, trace.pass_count) == (
        full.output,
        full.error,
        full.pass_count,
    )
    assert {a.key for a in trace.answers} <= {a.key for a in full.answers}, source
    return trace


@settings(max_examples=15, deadline=None, derandomize=True)
@given(loops())
def test_random_loops(source: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iterations, "MOST_ITERATIONS", 4)  # or none of the loops would be long enough
        check_shown(source)


@pytest.mark.parametrize("change", ["w.requires_grad_(False)", "w.requires_grad = False"])
def test_a_leaf_is_frozen_in_the_middle_of_a_loop(change: str) -> None:
    check_shown(
        "import torch\nw = torch.tensor([1., -2.], requires_grad=True)\n"
        "b = torch.tensor(0.5, requires_grad=True)\n"
        "for turn in range(17):\n    h = w * 0.5\n    h = h * w + b\n    loss = (h**2).mean()\n"
        f"    if turn == 8:\n        {change}\n    loss.backward()\n"
    )


def test_a_function_returns_a_variable_in_the_last_turns_alone() -> None:
    check(
        "import torch\nw = torch.tensor([1., -2.], requires_grad=True)\n"
        "def bend(a, turn):\n    c = torch.tanh(a)\n    if turn > 14:\n        return c\n"
        "    d = c * 2\n    return d + a\n"
        "for turn in range(17):\n    h = bend(w * 2, turn)\n    (h**2).mean().backward()\n"
    )


STEP = """\
    y = w * x + b
    loss = (y**2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        b -= 0.05 * b.grad
    w.grad.zero_()
    b.grad.zero_()
"""


@pytest.mark.parametrize("turns", [1, 3, 4, 8, 15, 16, 17, 18, 33])
@pytest.mark.parametrize("capture", ["hook", "retain_grad"])
def test_each_number_of_turns(turns: int, capture: str) -> None:
    trace = check(f"{HEAD}for i in range({turns}):\n{STEP}", capture)
    assert trace.pass_count == turns
    assert [p.number for p in trace.passes] == sorted({1, 2, 3, turns} & set(range(turns + 1)))


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> list[ProgramRecorder]:
    """The recorder of each run of a program."""
    made: list[ProgramRecorder] = []

    class Recorder(ProgramRecorder):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            made.append(self)

    monkeypatch.setattr(running, "ProgramRecorder", Recorder)
    return made


UNTIL = {
    "while": f"i = 0\nwhile i < {{turns}}:\n    i += 1\n{STEP}",
    "while True": f"i = 0\nwhile True:\n    i += 1\n{STEP}    if i == {{turns}}: break\n",
    "or": f"""
i = 0
while True:
    i += 1
{STEP}
    if w.norm() > 99 or i == {{turns}}:
        break
""",
    "break": f"for i in range(1000):\n    if i == {{turns}}: break\n{STEP}",
    "break in a loop around": f"""
for epoch in range(1000):
    for i in range(1):
{STEP.replace("    ", "        ")}
    if epoch + 1 == {{turns}}: break
""",
    "return": f"""
def train():
    global w, b
    for i in range(1000):
        if i == {{turns}}: return
{STEP.replace("    ", "        ")}
train()
""",
}


@pytest.mark.parametrize("kind", UNTIL)
def test_a_loop_of_unknown_length(kind: str, recorders: list[ProgramRecorder]) -> None:
    """A small program in which one has become long is run again, now that its end is known."""
    turns = 2 * iterations.MOST_ITERATIONS
    trace = check(HEAD + UNTIL[kind].format(turns=turns))
    assert trace.pass_count == turns
    assert [p.number for p in trace.passes] == [1, 2, 3, turns]
    assert [recorder.totals is None for recorder in recorders] == [True, False]
    assert len(recorders[1].pass_lines) < turns / 5


def test_the_chosen_turn_of_a_loop_of_unknown_length() -> None:
    turns = 2 * iterations.MOST_ITERATIONS
    text = HEAD + UNTIL["while"].format(turns=turns)
    trace = run(text, iteration=turns - 20)
    assert [p.number for p in trace.passes] == [1, 2, 3, turns - 20, turns]
    full = replace(fully_recorded(text, iteration=turns - 20), seconds=trace.seconds)
    assert not list(differences(to_plain(trace), to_plain(full)))


def test_a_short_loop_runs_once(recorders: list[ProgramRecorder]) -> None:
    check(HEAD + UNTIL["while True"].format(turns=iterations.MOST_ITERATIONS))
    assert len(recorders) == 1


@pytest.mark.thorough
def test_a_long_loop_of_unknown_length_runs_once(recorders: list[ProgramRecorder]) -> None:
    """Turns at growing distance are recorded: the last that is shown is near the end."""
    turns = 4000
    trace = run(HEAD + UNTIL["while"].format(turns=turns))
    assert len(recorders) == 1
    numbers = [p.number for p in trace.passes]
    assert numbers[:3] == [1, 2, 3]
    assert 0.95 * turns <= numbers[3] <= turns
    assert (
        trace.variables["w"].origin.visits == turns
    )  # the value is that of the end, whatever is shown
    assert len(recorders[0].pass_lines) == limits.MOST_PASS_LINES
    chosen = run(trace.source, iteration=turns)
    assert [p.number for p in chosen.passes] == [1, 2, 3, turns]


def test_a_library_that_calls_a_function_many_times() -> None:
    """Most calls are not recorded, as most turns of a loop are not."""
    calls = "import torch\nfrom functools import reduce\ndef f(h, k):\n    return torch.sin(h)\n"
    text = f"{calls}h = reduce(f, range(3000), torch.ones(2, requires_grad=True))\n"
    trace = run(f"{text}h.sum().backward()\n")
    assert trace.error is None
    assert len({r.origin.visit for r in trace.tensors if r.line == 4}) < 10
    assert trace.passes[0].step_count > 3000


def test_a_program_that_does_otherwise_the_second_time(
    monkeypatch: pytest.MonkeyPatch, recorders: list[ProgramRecorder]
) -> None:
    """As one that looks at the clock: what is shown is all from the first run."""
    turns = iter([95, 70, 95])
    monkeypatch.setattr(
        process_state, "seed_generators", lambda seed: torch.manual_seed(next(turns))
    )
    source = f"{HEAD}i = 0\nwhile i < torch.initial_seed():\n    i += 1\n{STEP}"
    trace = run(source)
    assert (trace.pass_count, len(recorders)) == (95, 2)
    full = {p.number: p for p in every_turn(source).passes}
    for one in trace.passes:
        assert to_plain(one.steps) == to_plain(full[one.number].steps)


def test_what_a_middle_turn_failed_at_is_known(recorders: list[ProgramRecorder]) -> None:
    """A program that failed where nothing was recorded runs again."""
    text = f"{HEAD}for i in range(4000):\n    y = w * (x if i < 900 else x[:1].repeat(3))\n"
    trace = run(text + "    y.sum().backward()\n")
    assert trace.error is not None
    assert trace.error.line == HEAD.count("\n") + 2
    assert "(2,)" in trace.error.message + str(trace.error.hint) + str(trace.error.detail)
    assert len(recorders) == 2


def test_events_of_turns_that_are_not_recorded_are_merged() -> None:
    text = (
        "for i in range(130):\n    optimizer.zero_grad()\n    ((w * x + b)**2).sum().backward()\n"
    )
    trace = check_shown(HEAD + text + "    optimizer.step()\n")
    assert trace.event_count == 390
    assert [event.number for event in trace.events[-2:]] == [389, 390]
    merged = [event for event in trace.events if event.times > 1]
    assert {event.kind for event in merged} == {"zero_grad", "backward", "step"}
    assert sum(event.times for event in trace.events) == 390
    assert len({event.object for event in trace.events if event.kind == "step"}) == 1


def test_curves_of_more_leaves_than_are_followed() -> None:
    text = """
net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(15)])
sgd = torch.optim.SGD(net.parameters(), lr=0.01)
def bend(turn):
    leaf = torch.ones(3, requires_grad=True)
    return (net(leaf) * turn).sum()
for turn in range(60):
    sgd.zero_grad()
    bend(turn).backward()
    sgd.step()
"""
    trace = check(HEAD + text)
    assert len(trace.curves) == limits.MOST_CURVES + 1
    assert trace.curves[0].at == tuple(range(1, 61))
    validate(trace)


@pytest.mark.parametrize("statement", [150, 151, 155, 159])
def test_stopped_in_the_middle(statement: int) -> None:
    """As by the time limit, or by the reader. A second run is stopped at the same place."""

    def stopped(record: Any) -> Trace:
        count = 0

        def stop(line: int) -> None:
            nonlocal count
            count += 1
            if count % statement == 0:
                raise ProgramStopped("Stopped.", "")

        return record(f"{HEAD}for i in range(60):\n{STEP}", on_line=stop)

    trace = stopped(run)
    assert trace.error is not None
    assert trace.error.message == "Stopped."
    full = replace(stopped(fully_recorded), seconds=trace.seconds)
    assert not list(differences(to_plain(trace), to_plain(full)))


def test_the_curves_are_in_the_order_of_the_passes() -> None:
    """A hook may run backward inside backward: the inner pass ends first."""
    trace = run(
        "import torch\nw = torch.ones(2, requires_grad=True)\ndef h(g):\n"
        "    with torch.enable_grad():\n        (w * 2).sum().backward()\n"
        "v = w * 3\nv.register_hook(h)\nv.sum().backward()\n"
    )
    assert [curve.at for curve in trace.curves] == [(1, 2), (1, 2)]
    inner = torch.full((2,), 2.0)
    assert trace.curves[1].values == pytest.approx([float((inner + 3).norm()), float(inner.norm())])


@pytest.mark.parametrize(("draws", "shown"), [("1", 2), ("sys.runs", 1)])
def test_a_second_run_that_draws_other_numbers_is_not_shown(
    draws: str, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "runs", 0, raising=False)
    source = (
        "import sys\nimport torch\nsys.runs += 1\nrun = sys.runs\n"
        "w = torch.ones(1, requires_grad=True)\nn = 0\n"
        f"while n < 95:\n    n += 1\n    (w * w).sum().backward()\ntorch.rand({draws})\n"
    )
    trace = run(source)
    assert sys.runs == 2
    assert trace.variables["run"] == shown
