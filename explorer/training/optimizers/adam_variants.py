"""Relatives of Adam: NAdam looks ahead, RAdam waits with dividing, Adamax divides by a maximum."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.shared import (
    BETAS,
    DECAY,
    DECOUPLED,
    EPS,
    EXP_AVG,
    EXP_AVG_SQ,
    LR,
    MAXIMIZE,
    STEP,
    add_average,
    add_decayed,
    add_gradient,
    add_square,
    next_step,
    read_buffer,
)


def _nadam(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Dozat 2016, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ"""
    (beta1, beta2), decay, lr = h["betas"], h["momentum_decay"], h["lr"]
    p, g = add_decayed(d, p, g, h)
    t = next_step(state)
    d.define(t=t)
    now = beta1 * (1.0 - 0.5 * (0.96 ** (t * decay)))
    coming = beta1 * (1.0 - 0.5 * (0.96 ** ((t + 1) * decay)))
    d.add_number(
        "μ",
        f"momentum of step {t:.0f}",
        r"\mu_t = \beta_1\,(1 - \tfrac12\,0.96^{t\psi})",
        "{beta1} · (1 − 0.5 · 0.96^({t} · {momentum_decay}))",
        now,
    )
    d.add_number(
        "μ₊",
        "momentum of the next step",
        r"\mu_{t+1} = \beta_1\,(1 - \tfrac12\,0.96^{(t+1)\psi})",
        "{beta1} · (1 − 0.5 · 0.96^(({t} + 1) · {momentum_decay}))",
        coming,
    )
    product = state["mu_product"] if state else torch.tensor(1.0)
    d.define(M=product.item())
    product = product * now
    d.add_number(
        "M", "all momenta multiplied (mu_product)", r"M \leftarrow M\,\mu_t", "{M} · {μ}",
        product.item(),
    )  # fmt: skip
    m, v = add_average(d, g, state, beta1), add_square(d, g, state, beta2)
    root = d.add(
        "√v̂",
        f"root of the bias-corrected square, step {t:.0f}",
        r"\sqrt{\hat v} = \sqrt{v / (1-\beta_2^t)}",
        "√({v} / (1 − {beta2}^{t}))",
        v.div(1 - beta2**t).sqrt(),
    )
    of_g = -lr * (1.0 - now) / (1.0 - product.item())
    of_m = (-lr * coming) / (1.0 - product.item() * coming)
    d.add_number(
        "a", "rate of the gradient", r"a = \eta\,(1-\mu_t) / (1-M)",
        "{lr} · (1 − {μ}) / (1 − {M})", -of_g,
    )  # fmt: skip
    d.add_number(
        "b", "rate of its average", r"b = \eta\,\mu_{t+1} / (1-M\mu_{t+1})",
        "{lr} · {μ₊} / (1 − {M} · {μ₊})", -of_m,
    )  # fmt: skip
    below = root.add(h["eps"])
    d.add_result(
        r"\theta \leftarrow \theta - (a\,g + b\,m) / (\sqrt{\hat v} + \epsilon)",
        "{p} − ({a} · {g} + {b} · {m}) / ({√v̂} + {eps})",
        p.addcdiv(g, below, value=of_g).addcdiv(m, below, value=of_m),
    )


def _radam(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Liu et al. 2020, https://arxiv.org/abs/1908.03265"""
    beta1, beta2 = h["betas"]
    p, g = add_decayed(d, p, g, h)
    t = next_step(state)
    m, v = add_average(d, g, state, beta1), add_square(d, g, state, beta2)
    correction1, correction2 = 1 - beta1**t, 1 - beta2**t
    limit = 2 / (1 - beta2) - 1
    length = limit - 2 * t * (beta2**t) / correction2
    d.define(t=t, limit=limit)
    corrected = d.add(
        "m̂",
        f"bias-corrected, step {t:.0f}",
        r"\hat m = m / (1-\beta_1^t)",
        "{m} / (1 − {beta1}^{t})",
        m / correction1,
    )
    d.add_number(
        "ρ",
        "steps that v averages over; 5 are too few",
        r"\rho_t = \rho_\infty - 2t\beta_2^t / (1-\beta_2^t)",
        "{limit} − 2 · {t} · {beta2}^{t} / (1 − {beta2}^{t})",
        length,
    )
    if length <= 5.0:
        d.add_result(
            r"\theta \leftarrow \theta - \eta\,\hat m",
            "{p} − {lr} · {m̂}",
            p.add(corrected * h["lr"], alpha=-1.0),
            ", not divided by √v yet",
        )
        return
    rect = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) ** 0.5
    d.add_number(
        "r",
        "rectification: how far v can be trusted",
        r"r_t = \sqrt{(\rho_t-4)(\rho_t-2)\rho_\infty / ((\rho_\infty-4)(\rho_\infty-2)\rho_t)}",
        "√(({ρ} − 4) · ({ρ} − 2) · {limit} / (({limit} − 4) · ({limit} − 2) · {ρ}))",
        rect,
    )
    scale = d.add(
        "l",
        f"1 / root of the bias-corrected square, step {t:.0f}",
        r"l_t = \sqrt{1-\beta_2^t} / (\sqrt v + \epsilon)",
        "√(1 − {beta2}^{t}) / (√{v} + {eps})",
        (correction2**0.5) / v.sqrt().add(h["eps"]),
    )
    d.add_result(
        r"\theta \leftarrow \theta - \eta\,\hat m\,l_t\,r_t",
        "{p} − {m̂} · {lr} · {l} · {r}",
        p.add(corrected * h["lr"] * scale * rect, alpha=-1.0),
    )


def _adamax(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Kingma and Ba 2015, section 7.1, https://arxiv.org/abs/1412.6980"""
    beta1, beta2 = h["betas"]
    g = add_gradient(d, p, g, h)
    t = next_step(state)
    m, u = add_average(d, g, state, beta1), read_buffer(state, "exp_inf", p)
    d.define(t=t, u=u)
    u = d.add(
        "u",
        "largest gradient, slowly forgotten (exp_inf)",
        r"u \leftarrow \max(\beta_2 u,\ |g| + \epsilon)",
        "max({beta2} · {u}, |{g}| + {eps})",
        torch.maximum(u.mul(beta2), g.abs().add(h["eps"])),
    )
    d.add_result(
        r"\theta \leftarrow \theta - \frac{\eta}{1-\beta_1^t}\,m / u",
        "{p} − {lr} / (1 − {beta1}^{t}) · {m} / {u}",
        p.addcdiv(m, u, value=-(h["lr"] / (1 - beta1**t))),
    )


_MOMENTS = {**STEP, **EXP_AVG, **EXP_AVG_SQ}
_FIRST = ("lr", "betas")

NADAM = OptimizerSpec(
    torch.optim.NAdam,
    {
        **LR,
        **BETAS,
        **EPS,
        **DECAY,
        "momentum_decay": "how fast the momentum rises from half of beta1",
        **DECOUPLED,
        **MAXIMIZE,
    },
    _nadam,
    note="Adam that looks one momentum step ahead, as Nesterov does.",
    state=_MOMENTS | {"mu_product": "All momenta so far, multiplied"},
    term="adam",
    first=_FIRST,
)
RADAM = OptimizerSpec(
    torch.optim.RAdam,
    {**LR, **BETAS, **EPS, **DECAY, **DECOUPLED, **MAXIMIZE},
    _radam,
    note="Adam that divides only once its average of the square has seen enough steps.",
    state=_MOMENTS,
    term="adam",
    first=_FIRST,
    lr_like="smaller",
)
ADAMAX = OptimizerSpec(
    torch.optim.Adamax,
    {**LR, **BETAS, **EPS, **DECAY, **MAXIMIZE},
    _adamax,
    note="Adam that divides by the largest recent gradient instead of a root mean square.",
    state={**STEP, **EXP_AVG, "exp_inf": "The largest gradient, slowly forgotten"},
    term="adam",
    first=_FIRST,
)
