"""Adam and AdamW: an average of the gradient, divided by the root of an average of its square."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.shared import (
    BETAS,
    DECAY,
    EPS,
    EXP_AVG,
    EXP_AVG_SQ,
    LR,
    MAXIMIZE,
    STEP,
    add_average,
    add_decay,
    add_gradient,
    add_sign,
    add_square,
    next_step,
    read_buffer,
)


def _adam(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Kingma and Ba 2015, https://arxiv.org/abs/1412.6980"""
    _add_moments(d, p, add_gradient(d, p, g, h), state, h)


def _adamw(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101"""
    g = add_sign(d, g, h)
    _add_moments(d, add_decay(d, p, h), g, state, h)


def _add_moments(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """What Adam and AdamW do alike. `amsgrad`: Reddi et al. 2018,
    https://openreview.net/forum?id=ryQu7f-RZ"""
    beta1, beta2 = h["betas"]
    t = next_step(state)
    d.define(t=t)
    m = add_average(d, g, state, beta1)
    v, root, of = add_square(d, g, state, beta2), r"v", "square"
    if h["amsgrad"]:
        largest = read_buffer(state, "max_exp_avg_sq", p)
        d.define(largest=largest)
        v = d.add(
            "v",
            "its largest so far (max_exp_avg_sq)",
            r"v_{\max} \leftarrow \max(v_{\max}, v)",
            "max({largest}, {v})",
            torch.maximum(largest, v),
        )
        root, of = r"v_{\max}", "largest square"
    correction1, correction2 = 1 - beta1**t, 1 - beta2**t
    d.add(
        "m̂",
        f"bias-corrected, step {t:.0f}",
        r"\hat m = m / (1-\beta_1^t)",
        "{m} / (1 − {beta1}^{t})",
        m / correction1,
    )
    denominator = v.sqrt() / correction2**0.5
    d.add(
        "√v̂",
        f"root of the bias-corrected {of}, step {t:.0f}",
        rf"\sqrt{{\hat v}} = \sqrt{{{root} / (1-\beta_2^t)}}",
        "√({v} / (1 − {beta2}^{t}))",
        denominator,
    )
    d.add_result(
        r"\theta \leftarrow \theta - \eta\,\hat m / (\sqrt{\hat v} + \epsilon)",
        "{p} − {lr} · {m̂} / ({√v̂} + {eps})",
        p.addcdiv(m, denominator.add(h["eps"]), value=-(h["lr"] / correction1)),
    )


_AMSGRAD = {"amsgrad": "divide by the largest average of the square so far"}
_LARGEST = {"max_exp_avg_sq": "Largest average of the squared gradient so far (amsgrad)"}
_MOMENTS = {**STEP, **EXP_AVG, **EXP_AVG_SQ}
_FIRST = ("lr", "betas")

ADAM = OptimizerSpec(
    torch.optim.Adam,
    {**LR, **BETAS, **EPS, **DECAY, **_AMSGRAD, **MAXIMIZE},
    _adam,
    note="Divides an average of the gradient by the root of an average of its square.",
    state=_MOMENTS | _LARGEST,
    term="adam",
    first=_FIRST,
)
ADAMW = OptimizerSpec(
    torch.optim.AdamW,
    {**LR, **BETAS, **EPS, **DECAY, **_AMSGRAD, **MAXIMIZE},
    _adamw,
    note="Adam, with weight decay that shrinks the parameter itself.",
    state=_MOMENTS | _LARGEST,
    term="adam",
    first=_FIRST,
)
