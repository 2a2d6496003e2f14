"""Products of matrices and vectors, determinants, inverses.

https://en.wikipedia.org/wiki/Matrix_calculus; inverse, determinant and solve:
https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf.
"""

from __future__ import annotations

import numpy as np

from explorer.trace.rules.rule import Rule, Values, broadcast_tex, rule, sum_to


def _t(matrix: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrix, -1, -2)


def _scaled(tex: str) -> object:
    """`alpha` in front, where it is not 1."""
    return lambda v: tex if v.saved.get("alpha", 1) == 1 else f"<alpha> * {tex}"


def _added_tex(v: Values) -> str:
    """What was added to the product."""
    return broadcast_tex(v) if v.saved.get("beta", 1) == 1 else f"<beta> * {broadcast_tex(v)}"


_ADDED = (_added_tex, lambda v: sum_to(v.beta * v.G, v.shape))


def _crossed(grad: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
    return np.cross(grad, other, axis=axis)


def _det(v: Values) -> np.ndarray:
    scale = (v.G * v.y)[..., None, None]
    return scale * _t(np.linalg.inv(v.A))


def _slogdet(v: Values) -> np.ndarray:
    grad = v.Gs[1]
    if grad is None:
        return np.zeros(v.shape)
    return grad[..., None, None] * _t(np.linalg.inv(v.A))


def _inverse(v: Values) -> np.ndarray:
    y = _t(v.inverse)
    return -y @ v.G @ y


def _solve_b(v: Values) -> np.ndarray:
    a = _t(v.A)
    if v.G.ndim == v.A.ndim - 1:
        return np.linalg.solve(a, v.G[..., None])[..., 0]
    return np.linalg.solve(a, v.G) if v.left else _t(np.linalg.solve(v.A, _t(v.G)))


def _solve_a(v: Values) -> np.ndarray:
    grad, y = _solve_b(v), v.y
    if grad.ndim == v.A.ndim - 1:
        grad, y = grad[..., None], y[..., None]
    return -grad @ _t(y) if v.left else -_t(y) @ grad


RULES: dict[str, Rule] = {
    "MmBackward0": rule(
        "A's gradient needs B, and B's needs A: that is why they were saved.",
        A=(r"<G>\, <B:mat2>^{\top}", lambda v: v.G @ v.mat2.T),
        B=(r"<A:self>^{\top}\, <G>", lambda v: v.a.T @ v.G),
    ),
    "BmmBackward0": rule(
        "For each matrix of the batch.",
        A=(r"<G>\, <B:mat2>^{\top}", lambda v: v.G @ _t(v.mat2)),
        B=(r"<A:self>^{\top}\, <G>", lambda v: _t(v.a) @ v.G),
    ),
    "MvBackward0": rule(
        A=(r"<G>\, <v:vec>^{\top}", lambda v: np.outer(v.G, v.vec)),
        v=(r"<A:self>^{\top}\, <G>", lambda v: v.a.T @ v.G),
    ),
    "DotBackward0": rule(
        a=("<G> * <b:tensor>", lambda v: v.G * v.tensor), b=("<G> * <a>", lambda v: v.G * v.a)
    ),
    "VdotBackward0": rule(
        a=("<G> * <b>", lambda v: v.G * v.b), b=("<G> * <a>", lambda v: v.G * v.a)
    ),
    "AddmmBackward0": rule(
        C=_ADDED,
        A=(_scaled(r"<G>\, <B:mat2>^{\top}"), lambda v: v.alpha * v.G @ v.mat2.T),
        B=(_scaled(r"<A:mat1>^{\top}\, <G>"), lambda v: v.alpha * v.mat1.T @ v.G),
    ),
    "LinearBackward0": rule(
        x=(r"<G>\, <W:weight>", lambda v: v.G @ v.weight),
        W=(
            r"<G>^{\top}\, <x:input>",
            lambda v: np.tensordot(v.G, v.input, axes=(list(range(v.G.ndim - 1)),) * 2),
        ),
        b=(r"\textstyle\sum <G>", lambda v: sum_to(v.G, v.shape)),
    ),
    "AddmvBackward0": rule(
        c=_ADDED,
        A=(
            _scaled(r"<G>\, <v:vec>^{\top}"),
            lambda v: v.alpha * np.outer(v.G, v.vec),
        ),
        v=(_scaled(r"<A:mat>^{\top}\, <G>"), lambda v: v.alpha * v.mat.T @ v.G),
    ),
    "AddrBackward0": rule(
        C=_ADDED,
        u=(_scaled(r"<G>\, <v:vec2>"), lambda v: v.alpha * v.G @ v.vec2),
        v=(_scaled(r"<G>^{\top}\, <u:vec1>"), lambda v: v.alpha * v.G.T @ v.vec1),
    ),
    "BaddbmmBackward0": rule(
        "For each matrix of the batch.",
        C=_ADDED,
        A=(_scaled(r"<G>\, <B:batch2>^{\top}"), lambda v: v.alpha * v.G @ _t(v.batch2)),
        B=(_scaled(r"<A:batch1>^{\top}\, <G>"), lambda v: v.alpha * _t(v.batch1) @ v.G),
    ),
    "AddbmmBackward0": rule(
        "The products of the batch were added: each gets the whole gradient.",
        C=_ADDED,
        A=(_scaled(r"<G>\, <B:batch2>^{\top}"), lambda v: v.alpha * v.G @ _t(v.batch2)),
        B=(_scaled(r"<A:batch1>^{\top}\, <G>"), lambda v: v.alpha * _t(v.batch1) @ v.G),
    ),
    "TraceBackward0": rule(
        "Only the diagonal was added up.", A=("<G> * I", lambda v: v.G * np.eye(*v.shape))
    ),
    "LinalgCrossBackward0": rule(
        a=(
            r"<b> \times <G>",
            lambda v: sum_to(_crossed(v.b, v.G, int(v.saved["dim"])), v.shape),
        ),
        b=(
            r"<G> \times <a>",
            lambda v: sum_to(_crossed(v.G, v.a, int(v.saved["dim"])), v.shape),
        ),
    ),
    "LinalgDetBackward0": rule(A=(r"<G> * <y> * <A:A>^{-\top}", _det)),
    "LinalgSlogdetBackward0": rule(
        "The sign gets no gradient.", A=(r"G_{\log} * <A:A>^{-\top}", _slogdet)
    ),
    "LinalgInvExBackward0": rule(A=(r"-<Y:inverse>^{\top}\, <G>\, <Y:inverse>^{\top}", _inverse)),
    "LinalgSolveExBackward0": rule(
        A=(
            lambda v: (
                r"-<A:A>^{-\top}\, <G>\, <y>^{\top}"
                if v.left
                else r"-<y>^{\top}\, <G>\, <A:A>^{-\top}"
            ),
            _solve_a,
        ),
        b=(
            lambda v: r"<A:A>^{-\top}\, <G>" if v.left else r"<G>\, <A:A>^{-\top}",
            _solve_b,
        ),
    ),
}
