"""A cure holds only if the program then runs on, the symptom is gone, nothing new is found about
the same tensors, and nothing has changed without a reason. Each program also stands inside a
function."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest
import torch

import explorer
from explorer.trace import Answer, Symptom, Trace
from explorer.trace.proof.symptoms import fails_by_change
from tests.trace.explain.test_true_sentences import FORMS, T, answers

prove = importlib.import_module("explorer.trace.proof.prove")


def grad_of(source: str) -> object:
    """The gradient of the only leaf, in a run of a program."""
    (leaf,) = (r for r in explorer.run(source).tensors if r.is_leaf and r.requires_grad)
    return leaf.grad


def judged(body: str, old: str, new: str, symptom: Symptom) -> Answer | None:
    """What is left of an answer whose cure is to write something else in a program."""
    trace: Trace = explorer.run(T + body)
    changed = trace.source.replace(old, new)
    assert changed != trace.source
    answer = Answer(
        key="test",
        title="Why?",
        text="Because.",
        cure=f"Write {new}",
        line=1,
        names=symptom.names,
        fix=changed,
        symptom=symptom,
    )
    plain = replace(answer, fix=None)
    return prove._Tries(trace, float("inf")).judge(replace(answer, alternatives=(plain,)))


def judged_by_error(body: str, old: str, new: str) -> bool:
    """Whether an error of the changed program is one that the change has made."""
    before = explorer.run(T + body)
    after = explorer.run((T + body).replace(old, new))
    assert after.error is not None
    return fails_by_change(before, after)


IN_PLACE = """\
w = torch.tensor(1.0, requires_grad=True)
weights = torch.stack([w * 2, w * 3])
loss = (weights ** 2).sum()
weights[0] *= 1.5
loss.backward()
"""
SHOWN = """\
w = torch.tensor(2.0, requires_grad=True)
y = w * 3
print(y.numpy())
y.backward()
"""
COPIED = """\
import copy
model = nn.Linear(2, 1)
model.kept = model(torch.ones(1, 2))
other = copy.deepcopy(model)
"""
REFUTED = {
    "the same error in the changed line": (
        IN_PLACE, "weights[0] *= 1.5", "weights[0] = weights[0] * 1.5",
        Symptom("error", ("weights",)),
    ),
    "an error that the change makes in the next line": (
        SHOWN, "print(y.numpy())", "y = y.detach()", Symptom("error", ("y",)),
    ),
    "an error of the change": (
        COPIED, "copy.deepcopy(model)", "model.detach().clone()", Symptom("error", ("model",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUTED)
def test_what_fails_because_of_the_change_is_no_cure(name: str) -> None:
    kept = judged(*REFUTED[name])
    assert kept is not None
    assert (kept.fix, kept.cure) == (None, "")  # nor is it told in words


CUT = {
    "assigned": "y = y.detach()",
    "in place": "y.detach_()",
    "a number": "y = y.item()  # the value",
    "a block": "with torch.no_grad():\n    y = w * 3",
    "with another": "y, z = y.detach(), w",
    "over two lines": "y = y.mul(\n    w.detach()).detach()",
}
USES = ("y.backward()", "torch.autograd.grad(y, w)", "y.retain_grad()")


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", CUT)
def test_a_cut_name_without_a_graph_fails_by_the_change(name: str, use: str) -> None:
    if name == "a number" and use == USES[1]:
        return  # grad says that it is no tensor
    body = SHOWN.replace("y.backward()", use)
    assert judged_by_error(body, "print(y.numpy())", CUT[name])


HELD = """\
class Cell:
    pass

cell, other = Cell(), Cell()
w = torch.tensor(2.0, requires_grad=True)
v = torch.tensor(1.0)
cell.h = w * 3
print(cell.h.numpy())
{fails}
"""
UNRELATED = {
    "with": "with torch.enable_grad(): (v * 2).backward()",
    "for": "for i in range(2): (v * 2).backward()",
    "print": "print((v * 2).backward())",
    "another attribute": "cell.v = v\ncell.v.backward()",
    "another object": "other.h = v\nother.h.backward()",
    "another error about gradients": "cell.h.grad_fn(1, 2, 3)",
}


@pytest.mark.parametrize("name", UNRELATED)
@pytest.mark.parametrize(
    "cure",
    [
        "cell.h = cell.h.detach()",
        "with torch.no_grad(): cell.h = w * 3",
        "for i in range(2): cell.h = cell.h.detach()",
        "print(cell.h.detach().numpy())",
    ],
)
def test_an_error_about_something_else_refutes_no_cut(name: str, cure: str) -> None:
    assert not judged_by_error(HELD.format(fails=UNRELATED[name]), "print(cell.h.numpy())", cure)


def test_what_an_object_holds_is_cut() -> None:
    body = HELD.format(fails="cell.h.backward()")
    assert judged_by_error(body, "print(cell.h.numpy())", "cell.h = cell.h.detach()")


def test_an_error_that_has_nothing_to_do_with_it_may_follow() -> None:
    body = SHOWN + "print(torch.ones(2) @ torch.ones(3))\n"
    kept = judged(body, "y.numpy()", "y.detach().numpy()", Symptom("error", ("y",)))
    assert kept is not None
    assert "This error is gone" in kept.tried or "this error is gone" in kept.tried


MISSING = {
    "where": "mask = ~torch.isnan(y)\nloss = torch.where(mask, (w * x - y) ** 2, x * 0).sum()\n",
    "product": "loss = (w * x - y) ** 2\nmask = ~torch.isnan(y)\nloss = (loss * mask).sum()\n",
    "compared": "mask = (y == y).float()\nloss = (mask * (w * x - y) ** 2).sum()\n",
}
TARGETS = """\
x = torch.tensor([1.0, 2.0, 3.0])
y = torch.tensor([2.0, float("nan"), 6.0])
w = torch.tensor(1.0, requires_grad=True)
{loss}loss.backward()
print(w.grad)
"""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MISSING)
def test_a_missing_target_does_not_become_0(name: str, form: str) -> None:
    found = answers(TARGETS.format(loss=MISSING[name]), form)
    assert found
    for answer in found:
        assert answer.fix is None
        assert "nan_to_num" not in answer.cure


LOOKED_AT = {
    "isnan": "y = x / x\nbad = torch.isnan(y)\nprint(bad.any())\n",
    "isfinite": "y = x * torch.log(x)\nfinite = torch.isfinite(y)\nprint(finite.all())\n",
    "compared": "y = torch.sqrt(x)\nbig = y > 1e-8\nprint(big.sum())\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOOKED_AT)
def test_what_is_only_looked_at_may_change(name: str, form: str) -> None:
    body = "x = torch.tensor([0.0, 2.0], requires_grad=True)\n" + LOOKED_AT[name]
    (answer,) = answers(body + "y.sum().backward()\nprint(x.grad)\n", form)
    assert answer.fix is not None
    assert torch.isfinite(torch.as_tensor(grad_of(answer.fix))).all()


REBOUND = """\
w = torch.tensor(1.0, requires_grad=True)
for i in range(2):
    loss = (w - 3) ** 2
    loss.backward()
    w = w - 0.1 * w.grad
print(w.grad)
"""


@pytest.mark.parametrize("form", FORMS)
def test_a_name_that_is_kept_does_not_add_up_gradients(form: str) -> None:
    """-4 in the first pass, -3.2 in the second; their sum is -7.2."""
    (answer,) = (a for a in answers(REBOUND, form) if a.key == "none.rebound")
    assert "-7.2" not in answer.tried
    if form == FORMS[0]:  # of a function's names no cure is written
        assert answer.fix is not None
        trace = explorer.run(answer.fix)
        assert trace.error is None
        assert "-3.2" in trace.output


def test_a_cure_that_adds_up_is_refuted() -> None:
    trace: Trace = explorer.run(T + REBOUND)
    new = "    with torch.no_grad():\n        w -= 0.1 * w.grad\n"
    fix = trace.source.replace("    w = w - 0.1 * w.grad\n", new)
    answer = next(a for a in trace.answers if a.key == "none.rebound")
    answer = replace(answer, fix=fix, alternatives=())
    assert prove._Tries(trace, float("inf")).judge(answer) is None


DROPPED = """\
x = torch.ones(4, requires_grad=True)
for i in range(2):
    h = x * 2
    h.{method}
    s = {used}
    s.backward()
"""
#: The result is not kept: with it, the next line fails, or x loses its gradient.
UNFIT = {
    "view(2, 2)": "(h @ torch.ones(4)).sum()",
    "reshape(4, 1)": "(h @ torch.ones(4)).sum()",
    "unsqueeze(0)": "(h.view(4) * h[3]).sum()",
    "long()": "(h * 1.5).sum()",
    "half()": "(h @ torch.ones(4)).sum()",
    "double()": "(h @ torch.ones(4)).sum()",
    "detach()": "(h * 1.5).sum()",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", UNFIT)
def test_a_cure_does_not_break_a_program_that_runs(method: str, form: str) -> None:
    found = {a.key: a for a in answers(DROPPED.format(method=method, used=UNFIT[method]), form)}
    answer = found["result.dropped"]
    assert (answer.fix, answer.cure, answer.tried) == (None, "", "")


@pytest.mark.parametrize(("method", "is_meant"), [("detach()", True), ("long()", False)])
def test_only_a_detach_may_lose_a_gradient(method: str, is_meant: bool) -> None:
    program = DROPPED.format(method=method, used="(h * w).sum()")
    found = answers("w = torch.tensor(3.0, requires_grad=True)\n" + program, FORMS[0])
    (answer,) = (a for a in found if a.key == "result.dropped")
    assert (answer.fix is not None) == is_meant


def test_values_of_two_tensors_are_not_compared() -> None:
    """A layer is replaced: net.2.weight was another tensor, of another shape."""
    (answer,) = answers(
        "net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 5))\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet[2] = nn.Linear(3, 1)\n"
        "for i in range(3):\n    opt.zero_grad()\n    loss = net(torch.ones(4, 2)).pow(2).mean()\n"
        "    loss.backward()\n    opt.step()\n",
        FORMS[0],
    )
    shown = answer.tried.split("net.2.weight changes from ")[1].split(" and ")[0]
    assert shown.count("[") == 2 + 2  # a matrix of one row, twice
