"""What becomes of a run, and which learning rate is too large.

For SGD on a quadratic loss each direction of the Hessian is a small linear recurrence of its own,
whose eigenvalues say everything: Goh 2017, "Why Momentum Really Works",
https://distill.pub/2017/momentum/. Everything else is read from the path ahead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.training.curvature import Curvature
from explorer.training.formatting import format_number, format_short, pluralize
from explorer.training.history import Track
from explorer.training.lookahead import Ahead

#: What may become of a run.
REGIMES = ("converges", "converges, oscillating", "oscillates", "diverges", "stands still")
#: Steps of a path that are too few to say anything.
FEWEST = 20
#: How far a factor may be from 1 and still be one, for rounding.
_TINY = 1e-6
#: A loss that has become so many times as large has grown, whatever comes next.
_FAR = 100
#: The share of a direction that has to be along one element for that to be its name.
_ALONG = 0.999
#: What an overshoot must be of the distance before, to be seen.
_VISIBLE = 0.01

#: What an optimizer does that 2/λ does not describe; those not named scale by past gradients.
_OTHERS = {
    "ASGD": "lowers its learning rate as it goes",
    "LBFGS": "measures the curvature itself",
    "Lion": "uses only signs",
    "Muon": "makes all its steps equally long",
    "Rprop": "uses only the signs of gradients",
}


@dataclass(frozen=True)
class Stability:
    """What becomes of a run with these settings.

    `critical` is the learning rate from which on it diverges, None where there is no such number;
    `formula` is how it follows from the largest curvature λ, and `scope` where it holds: "for any
    start" or "here". `reason` says in a sentence why there is none. `regime` is one of `REGIMES`
    or empty, where the path is too short to tell; `sentence` explains it.
    """

    critical: float | None = None
    formula: str = ""
    scope: str = ""
    reason: str = ""
    regime: str = ""
    sentence: str = ""


def find_stability(ahead: Ahead) -> Stability:
    """What becomes of a run that goes this way."""
    hyper, curvature, name = ahead.hyper, ahead.curvature, ahead.optimizer
    regime, sentence = read_path(ahead)
    reason = ""
    if name != "SGD":
        how = _OTHERS.get(name, "scales each step by past gradients")
        reason = f"{name} {how}, so λ sets no fixed limit."
    elif not ahead.is_plain:
        reason = "The limit 2/λ holds with one lr, all samples, no clipping, and zero_grad."
    elif curvature is None:
        reason = "The curvature is not known here, so no limit can be given."
    if reason or curvature is None:
        return Stability(reason=reason, regime=regime, sentence=sentence)
    critical, formula = critical_lr(curvature.largest, hyper)
    reason = "" if critical is not None else _why_none(curvature, hyper)
    scope = "for any start" if curvature.is_constant else "here"
    if curvature.is_constant and not _is_tiny(ahead):
        closed = quadratic_regime(curvature, hyper, critical)
        regime, sentence = closed if closed[0] else (regime, sentence)
    return Stability(critical, formula, scope, reason, regime, sentence)


def critical_lr(largest: float, hyper: Mapping[str, Any]) -> tuple[float | None, str]:
    """The learning rate from which on SGD diverges in the direction of the largest curvature, and
    its formula; None where it diverges with any, or with none."""
    momentum, damping = hyper.get("momentum", 0.0), 1 - hyper.get("dampening", 0.0)
    curve = _effective(largest, hyper)
    if curve <= 0 or not 0 <= momentum < 1 or damping <= 0:
        return None, ""
    decay = " + weight_decay" if hyper.get("weight_decay") else ""
    of = f"(λ{decay})" if decay else "λ"
    if not momentum:
        return 2 / curve, f"2 / {of}"
    if hyper.get("nesterov"):
        return 2 * (1 + momentum) / ((1 + momentum + damping * momentum) * curve), (
            f"2 (1 + momentum) / ((1 + 2 momentum) {of})"
        )
    dampened = "" if damping == 1 else "(1 − dampening) "
    below = f"({dampened}{of})" if dampened else of
    return 2 * (1 + momentum) / (damping * curve), f"2 (1 + momentum) / {below}"


def factors(curve: float, hyper: Mapping[str, Any]) -> np.ndarray:
    """The eigenvalues of one step of SGD along a direction with this curvature, of the distance
    from the minimum and the momentum buffer together."""
    lr, momentum = hyper["lr"], hyper.get("momentum", 0.0)
    slope = _effective(curve, hyper)
    if not momentum:
        return np.array([1 - lr * slope])
    kept = (1 - hyper.get("dampening", 0.0)) * slope
    if hyper.get("nesterov"):
        first = [1 - lr * (slope + momentum * kept), -lr * momentum**2]
    else:
        first = [1 - lr * kept, -lr * momentum]
    return np.linalg.eigvals(np.array([first, [kept, momentum]]))


def quadratic_regime(
    curvature: Curvature, hyper: Mapping[str, Any], critical: float | None
) -> tuple[str, str]:
    """The regime on a quadratic loss, from any start, and a sentence; empty where the loss is flat
    in a direction and still slopes there, and where all of the gradient is left out."""
    lr, momentum = hyper["lr"], hyper.get("momentum", 0.0)
    if lr == 0:
        return "stands still", "With lr 0, step changes nothing."
    if hyper.get("dampening", 0.0) >= 1:
        return "", ""
    curves = np.array([_effective(value, hyper) for value in curvature.eigenvalues])
    level = np.abs(curves) <= _TINY * max(np.abs(curves).max(), 1e-300)
    if (np.abs(curvature.gradient[level]) > _TINY * np.abs(curvature.gradient).max()).any():
        return "", ""
    if (curves[~level] < 0).any():
        return "diverges", "The loss falls without end in one direction, so there is no minimum."
    if level.all():
        return "", ""
    found = np.concatenate([factors(v, hyper) for v in curvature.eigenvalues[~level]])
    worst = float(np.abs(found).max())
    if worst > 1 + _TINY:
        limit = f"lr {format_number(lr)} is above the limit {format_number(critical or 0)}"
        if critical is None:
            limit = f"momentum is {format_number(momentum)}"
        return "diverges", f"Each step goes further past the minimum than the last: {limit}."
    if worst > 1 - _TINY:
        return "oscillates", "It swings around the minimum and comes no closer."
    rate = f"each step multiplies the distance by about {format_number(round(worst, 4))}"
    if (_overshoot(found) > _VISIBLE).any():
        swings = "jumps across" if not momentum else "swings around"
        return "converges, oscillating", f"It {swings} the minimum; in the long run, {rate}."
    return "converges", f"It approaches the minimum from one side; in the long run, {rate}."


def explain_growth(
    track: Track, since: int, ahead: Ahead | None, names: Sequence[str], moved: np.ndarray
) -> str:
    """How the loss has grown, in steps with the same settings, after the first `since` of a run;
    empty where it has not, or only for a while. `ahead` has the settings, and the curvature: the
    reason is given where it is known, which is for SGD on a quadratic loss. `names` are those of
    all elements, `moved` is by how much the last finite step changed these."""
    curve = zip(track.loss.steps, track.loss.values, strict=True)
    known = [(step, loss) for step, loss in curve if step >= since and np.isfinite(loss)]
    if not known or known[-1][1] <= 2 * known[0][1]:
        return ""
    (start, first), (end, last) = known[0], known[-1]
    reason = _why_it_grows(ahead, names, moved) if ahead is not None else ""
    if not (reason or track.trouble or last > _FAR * first):
        return ""
    steps = pluralize(end - start, "step")
    grew = f"The loss grew from {format_short(first)} to {format_short(last)} in {steps}"
    return f"{grew}: {reason}." if reason else f"{grew}."


def last_move(path: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
    """By how much the last step of a path changed all elements, as far as it is finite."""
    if len(path) < 2:
        return np.zeros(sum(value.size for value in path[-1].values()))
    joined = [np.concatenate([np.ravel(v) for v in values.values()]) for values in path]
    with np.errstate(all="ignore"):
        moves = np.diff(np.asarray(joined, dtype=np.float64), axis=0)
    moves = moves[np.isfinite(moves).all(axis=1) & (np.abs(moves).max(axis=1) < 1e150)]
    return moves[-1] if len(moves) else np.zeros(moves.shape[1:])


def _why_it_grows(ahead: Ahead, names: Sequence[str], moved: np.ndarray) -> str:
    """Why SGD diverges on this loss; empty where that is not known, and where the run goes another
    way than that of the largest curvature."""
    curvature, hyper = ahead.curvature, ahead.hyper
    if ahead.optimizer != "SGD" or not ahead.is_plain or curvature is None:
        return ""
    critical, formula = critical_lr(curvature.largest, hyper)
    if not curvature.is_constant or critical is None or hyper["lr"] <= critical * (1 + _TINY):
        return ""
    values = curvature.eigenvalues
    equal = int((values >= values[-1] - _TINY * np.abs(values).max()).sum())
    share = abs(moved @ curvature.steepest) / max(float(np.linalg.norm(moved)), 1e-300)
    if equal < len(values) and (equal > 1 or share < np.sqrt(0.5)):  # another way is longer
        return ""
    lr, momentum, curve = hyper["lr"], hyper.get("momentum", 0.0), curvature.largest
    # Of equal curvatures any direction is an eigenvector.
    along = np.flatnonzero((np.abs(curvature.steepest) > _ALONG) & (equal == 1))
    where = f" along {names[along[0]]}" if len(along) and len(names) > 1 else ""
    goes = f"the swings{where} grow" if momentum else f"each step overshoots{where}"
    if any(hyper.get(name) for name in ("nesterov", "dampening", "weight_decay", "maximize")):
        why = f"lr = {format_number(lr)} is above {formula} = {format_short(critical)}"
    else:
        limit = f"2 · (1 + momentum) = {format_short(2 * (1 + momentum))}" if momentum else "2"
        why = f"lr · curvature = {format_short(lr * curve)} > {limit}"
    return f"{goes}, because {why}"


def _overshoot(found: np.ndarray) -> np.ndarray:
    """What these factors leave of a distance when it changes its sign: after half a turn of a
    complex factor, and 0 where it never does."""
    turn = np.abs(np.angle(found))
    turns = turn > 1e-9
    sizes: np.ndarray = np.abs(found) ** (np.pi / np.where(turns, turn, 1.0)) * turns
    return sizes


def read_path(ahead: Ahead) -> tuple[str, str]:
    """The regime that the steps ahead show, and a sentence; both empty if they are too few."""
    path, climbs = ahead.path, ahead.hyper.get("maximize", False)
    losses = -ahead.losses if climbs else ahead.losses
    falls, grows = ("rises", "falls") if climbs else ("falls", "grows")
    rising = "rising" if climbs else "falling"
    steps = len(losses)
    if "becomes" in ahead.trouble:
        return "diverges", ahead.trouble
    if not steps:
        return "", ahead.trouble
    if steps < FEWEST:
        return "", ""
    when = f"in the next {pluralize(steps, 'step')}"
    if ahead.largest_change == 0:
        return "stands still", f"No parameter changes {when}."
    moves = np.diff(path, axis=0)
    quarter = steps // 4
    first, last = losses[:quarter], losses[-quarter:]
    before = losses[-2 * quarter : -quarter]
    span = _rounding(losses)
    swings = _swings(moves)
    if last.mean() > first.max() + span and last.mean() > before.mean() + span:
        return "diverges", f"The loss {grows} {when}."
    settled = np.ptp(path[-quarter:], axis=0).max() <= 0.01 * np.ptp(path, axis=0).max() > 0
    if _is_tiny(ahead):
        most = format_number(float(f"{ahead.largest_change:.2g}"))
        sentence = f"No parameter moves by more than about {most} a step {when}."
        return "converges" if settled else "", sentence
    if settled or last.mean() < before.mean() - span:
        rise = losses[-1] - losses[0]
        if rise > 10 * span:  # a step threw it to another place
            ends = " to ".join(format_number(ahead.losses[i]) for i in (0, -1))
            return "", f"The loss {grows} from {ends} {when}."
        still = "" if settled else f" and is still {rising} then"
        sentence = f"The loss {falls} {when}{still}"
        if rise >= -span:
            near = f"The loss stays near {format_number(ahead.losses[-1])} {when}"
            sentence = near if np.ptp(losses) <= 10 * span else f"The path settles {when}"
        if swings:
            return "converges, oscillating", f"{sentence}, on a path that swings."
        return "converges", f"{sentence}."
    if swings:
        return "oscillates", f"The path goes back and forth {when} and does not settle."
    return "", ""


def _effective(curve: float, hyper: Mapping[str, Any]) -> float:
    """The curvature that the optimizer descends: of −loss to climb, and with weight decay."""
    signed = -curve if hyper.get("maximize") else curve
    return float(signed + hyper.get("weight_decay", 0.0))


def _is_tiny(ahead: Ahead) -> bool:
    """Whether no step ahead changes a parameter by what anybody would see."""
    return ahead.largest_change <= 1e-9 * max(float(np.abs(ahead.path).max()), 1e-9)


def _swings(moves: np.ndarray) -> bool:
    """Whether some coordinate turns round again and again while it still moves visibly."""
    visible = np.abs(moves) > 1e-3 * np.abs(moves).max(0)
    turns = (moves[1:] * moves[:-1] < 0) & visible[1:] & visible[:-1]
    return bool((turns.sum(0) >= 2).any())


def _rounding(losses: np.ndarray) -> float:
    """A difference of losses that may be rounding alone."""
    return float(1e-6 * np.abs(losses).max())


def _why_none(curvature: Curvature, hyper: Mapping[str, Any]) -> str:
    if _effective(curvature.largest, hyper) <= 0:
        return "The loss does not curve upwards here, so λ sets no limit."
    return "With momentum 1 or more, or all of the gradient left out, no learning rate converges."
