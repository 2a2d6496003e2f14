"""Calls of a training loop in the wrong place, or missing, and loops in which they are right."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

NET = (
    "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nnet = nn.Linear(3, 1)\n"
    "x = torch.randn(4, 3)\nopt = torch.optim.SGD(net.parameters(), lr=0.01)\n"
)
CLIP = "    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
LOOP = (
    "for epoch in range(3):\n    opt.zero_grad()\n    loss = (10 * net(x)).pow(2).mean()\n"
    "    loss.backward()\n    opt.step()\n"
)
BACK, STEP = "    loss.backward()\n", "    opt.step()\n"
SCHEDULE = "schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)\n"
AMP = (
    NET + "scaler = torch.amp.GradScaler('cpu')\nfor epoch in range(3):\n    opt.zero_grad()\n"
    "    loss = net(x).pow(2).mean()\n    scaler.scale(loss).backward()\n"
    "    scaler.unscale_(opt)\n" + CLIP + "    scaler.step(opt)\n    scaler.update()\n"
)
BATCHES = NET + (
    "schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=5)\nfor epoch in range(3):\n"
    "    for b in torch.randn(8, 4, 3):\n        opt.zero_grad()\n"
    "        net(b).pow(2).mean().backward()\n        opt.step()\n        schedule.step()\n"
)
PARTS = NET + (
    "for i, b in enumerate(torch.randn(4, 3, 3)):\n    loss = (30 * net(b)).pow(2).mean() / 2\n"
    "    loss.backward()\n" + CLIP + "    if i % 2 == 1:\n        opt.step()\n"
    "        opt.zero_grad()\n"
)

#: Key, program, words, a part of the fix.
CAUSES = {
    "clipped before backward": (
        "order.clip",
        NET + LOOP.replace(BACK, CLIP + BACK),
        ["line 10", "no gradient yet", "line 11"],
        BACK + CLIP + STEP,
    ),
    "clipped after the step": (
        "order.clip",
        NET + LOOP + CLIP,
        ["line 12", "after the step on line 11"],
        BACK + CLIP + STEP,
    ),
    "clipped after each backward": (
        "order.clip",
        PARTS,
        ["line 10 clips after each backward"],
        "1:\n        nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n        opt.step()",
    ),
    "scheduled first": (
        "order.scheduler",
        NET + SCHEDULE + LOOP.replace("    opt.zero", "    schedule.step()\n    opt.zero"),
        ["line 9", "line 13", "skipped"],
        STEP + "    schedule.step()",
    ),
    "scheduled first, before an inner loop": (
        "order.scheduler",
        NET + SCHEDULE + "for e in range(2):\n    schedule.step()\n    for b in x.split(2):\n"
        "        opt.zero_grad()\n        net(b).pow(2).mean().backward()\n        opt.step()\n",
        ["line 9"],
        "        opt.step()\n    schedule.step()",
    ),
    "never scheduled": (
        "order.scheduler",
        NET + SCHEDULE + LOOP,
        ["line 7", "nothing calls its step()"],
        STEP + "    schedule.step()",
    ),
    "scheduled per batch": (
        "order.scheduler",
        BATCHES,
        ["line 13 is in the inner loop", "24 times in 3 iterations", "from 0.01 to 1e-06"],
        "        opt.step()\n    schedule.step()\n",
    ),
    "milestones of epochs, counted in batches": (
        "order.scheduler",
        BATCHES.replace("StepLR(opt, step_size=5)", "MultiStepLR(opt, [4, 6, 8, 10])"),
        ["MultiStepLR", "the last one would be 0.01"],
        "        opt.step()\n    schedule.step()\n",
    ),
    "a cosine of epochs, counted in batches": (
        "order.scheduler",
        BATCHES.replace("StepLR(opt, step_size=5)", "CosineAnnealingLR(opt, T_max=3)"),
        ["T_max=3 batches", "rises again"],
        "        opt.step()\n    schedule.step()\n",
    ),
    "no step": (
        "order.step",
        NET + LOOP.replace(STEP, ""),
        ["never calls opt.step()"],
        BACK + STEP,
    ),
    "no backward": (
        "order.backward",
        NET + LOOP.replace(BACK, ""),
        ["line 10", "Nothing calls it"],
        BACK + STEP,
    ),
    "clipped while scaled": (
        "order.unscale",
        AMP.replace("    scaler.unscale_(opt)\n", ""),
        ["line 12", "65536", "before clip_grad_norm_"],
        "    scaler.unscale_(opt)\n" + CLIP,
    ),
    "a step while scaled": (
        "order.unscale",
        AMP.replace("    scaler.unscale_(opt)\n" + CLIP + "    scaler.step(opt)", "    opt.step()"),
        ["line 12", "65536"],
        "    scaler.step(opt)",
    ),
    "scaled for nothing": (
        "order.unscale",
        AMP.replace("scaler.scale(loss).backward()", "scaled = scaler.scale(loss)\n    "
                    "loss.backward()").replace("    scaler.unscale_(opt)\n" + CLIP, ""),
        ["line 12", "65536"],
        "scaler.scale(loss).backward()",
    ),
    "no update": (
        "order.scaler",
        AMP.replace("    scaler.update()\n", "").replace("    scaler.unscale_(opt)\n" + CLIP, ""),
        ["line 12", "scaler.update()"],
        "scaler.step(opt)\n    scaler.update()",
    ),
    "never scaled": (
        "order.scaler",
        AMP.replace("scaler.scale(loss)", "loss").replace("    scaler.unscale_(opt)\n" + CLIP, ""),
        ["line 12", "line 11", "not scaled"],
        "scaler.scale(loss).backward()",
    ),
    "every step skipped": (
        "order.skipped",
        AMP.replace("range(3)", "range(1)").replace("net(x).pow", "(1e17 * net(x)).pow").replace(
            CLIP, "").replace("    scaler.unscale_(opt)\n", ""),
        ["line 12", "skipped every step"],
        None,
    ),
}  # fmt: skip


#: Causes that make a program fail.
FAILING = {"a step while scaled", "no update", "never scaled"}


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_told_with_a_cure_that_works(name: str) -> None:
    key, program, words, fix = CAUSES[name]
    trace = proved(program)
    assert trace.error is None or name in FAILING, trace.error
    answers = {answer.key: answer for answer in trace.answers}
    assert key in answers, list(answers)
    answer = answers[key]
    text = f"{answer.title} {answer.text} {answer.cure} line {answer.line}"
    for word in words:
        assert word.lower() in text.lower(), text
    assert (answer.fix is None) == (fix is None)
    assert fix is None or fix in (answer.fix or ""), answer.fix
    assert answer.tried
    if "per batch" in name:
        assert "the last loss is" in answer.tried
    assert [k for k in answers if k.startswith("order.")] == [key]


FINE = {
    "clipped in between": NET + LOOP.replace(STEP, CLIP + STEP),
    "a norm that is only measured": NET + LOOP
    + CLIP.replace("    nn", "    norm = nn").replace("1.0", "float('inf')"),
    "zeroed at the end": NET + LOOP.replace("    opt.zero_grad()\n", "") + "    opt.zero_grad()\n",
    "clipped once per step": PARTS.replace(CLIP, "").replace(
        "        opt.step()", "    " + CLIP + "        opt.step()"),
    "scheduled after the steps": NET + SCHEDULE + LOOP + "    schedule.step()\n",
    "scheduled per epoch": BATCHES.replace("        schedule", "    schedule"),
    "a cosine over all batches": BATCHES.replace(
        "StepLR(opt, step_size=5)", "CosineAnnealingLR(opt, T_max=24)"),
    "a slow decay per batch": BATCHES.replace(
        "StepLR(opt, step_size=5)", "ExponentialLR(opt, gamma=0.9)"),
    "a step of as many batches as an epoch": BATCHES.replace("step_size=5", "step_size=8"),
    "a schedule that is only looked at": NET + SCHEDULE
    + "for i in range(3):\n    print(schedule.get_last_lr())\n    schedule.step()\n",
    "two schedules in one": NET + "s = torch.optim.lr_scheduler\na = s.ConstantLR(opt, 0.5, 2)\n"
    "b = s.ExponentialLR(opt, 0.9)\nboth = s.SequentialLR(opt, [a, b], [2])\n" + LOOP
    + "    both.step()\n",
    "mixed precision": AMP,
    "mixed precision that is off": AMP.replace("'cpu'", "'cpu', enabled=False"),
    "a look at gradients": NET + "(10 * net(x)).pow(2).mean().backward()\nprint(net.weight.grad)\n",
    "updated by hand": NET + LOOP.replace(STEP, "    with torch.no_grad():\n        for p in "
                                         "net.parameters():\n            p -= 0.01 * p.grad\n"),
    "a closure": NET + "opt = torch.optim.LBFGS(net.parameters())\ndef closure():\n"
    "    opt.zero_grad()\n    loss = net(x).pow(2).mean()\n    loss.backward()\n    return loss\n"
    "for i in range(2):\n    opt.step(closure)\n",
    "a step in a method": NET + "class Trainer:\n    def __init__(self, opt):\n"
    "        self.opt = opt\n    def fit(self):\n        for i in range(3):\n"
    "            self.opt.zero_grad()\n            net(x).pow(2).mean().backward()\n"
    "            self.opt.step()\nTrainer(opt).fit()\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_healthy_program_gets_no_such_answer(name: str) -> None:
    trace = proved(FINE[name])
    assert trace.error is None, trace.error
    assert [a.key for a in trace.answers if a.key.startswith("order.")] == []
