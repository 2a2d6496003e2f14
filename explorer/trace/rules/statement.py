r"""A step's rule written in LaTeX, with its letters and with its numbers."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from explorer import limits
from explorer.program.parsing import LineAt
from explorer.trace.records import Array, Flow, Plain, Summary
from explorer.trace.rules import complex_numbers
from explorer.trace.rules.rule import ALIASES, NotStated, Part, Rule, Values, sum_tex, summed_axes
from explorer.trace.rules.table import RULES, applied
from explorer.trace.text import number

_LOG = logging.getLogger(__name__)

#: Said of a node for which no short rule is kept here.
UNKNOWN = "This operation has no short rule; torch's documentation describes it."

#: Arrays with more rows, columns or elements than this are named, not written out.
ROWS, COLUMNS, ELEMENTS = 3, 4, 6

_FIELD = re.compile(r"<(?:([^<>:]+):)?(\w+)>")
#: Before what a formula says of a letter it uses: "y * d, d = a - b".
_NAMED = re.compile(r",\\ (?=\\?[a-zA-Z]+'? = )")
_TIMES = re.compile(r"(\S+) \* (?=(\S+))")
#: Letters shown for saved values, where a template does not choose its own.
_LETTERS = {saved: letter for letter, saved in ALIASES.items()}


@dataclass(frozen=True)
class Statement:
    """The rule of one step: in letters, with its numbers, and what is to be said in words."""

    formula: str = ""
    numbers: str = ""
    words: str = ""


@dataclass(frozen=True)
class Names:
    """What formulas call things, in LaTeX: the result that backward starts from, the gradient that
    comes in, and by a rule's letters its inputs and saved values. `parts` are the letters of inputs
    that get other gradients, too, so that the rule gives a part of theirs."""

    root: str = "L"
    gradient: str = "G"
    letters: Mapping[str, str] = field(default_factory=dict)
    parts: frozenset[str] = frozenset()

    def partial(self, letter: str) -> str:
        """The left side of the rule of an input."""
        below = self.letters.get(letter, letter)
        part = r"\text{part of }" if letter in self.parts else ""
        return rf"{part}\frac{{\partial {self.root}}}{{\partial {below}}}"


NO_NAMES = Names()


def state(
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
    names: Names = NO_NAMES,
) -> Statement:
    """What the node `name` does with its gradient. Fields are empty where no rule is known."""
    try:
        return _state(name, grads_in, flows, saved, names)
    except Exception:  # the trace is worth more than one statement
        _LOG.exception("the rule of %s failed", name)
        return Statement(words=UNKNOWN)


def _state(
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
    names: Names,
) -> Statement:
    if complex_numbers.is_complex(grads_in, flows, saved):
        lines = complex_numbers.formulas(name, grads_in, flows, saved)
        return Statement(_aligned(lines), "", complex_numbers.WORDS)
    rule = RULES.get(name)
    if rule is None:
        return Statement(words=UNKNOWN)
    formulas, numbers, words = [], [], [rule.words] if rule.words else []
    if all(flow.grad is None for flow in flows):
        words.append("No gradient is passed on.")
    inputs = applied(rule, name, grads_in, flows, saved)
    for values, part, flow in inputs[: limits.MOST_STATED_INPUTS]:
        try:
            formula, number, axes = _line(rule, values, part, flow.grad, names)
        except NotStated:
            continue
        formulas.append(formula)
        numbers.append(number)
        if axes:
            words.append(_summed(names.letters.get(part.letter, part.letter), axes))
    if len(inputs) > limits.MOST_STATED_INPUTS:
        words.append("The other inputs follow the same rule.")
    return Statement(_aligned(formulas), _aligned(numbers), " ".join(dict.fromkeys(words)))


def stored(
    grads_in: Sequence[Array | None],
    before: Array | None,
    after: Array | None,
    names: Names = NO_NAMES,
    leaf: str = "",
) -> Statement:
    """What AccumulateGrad does: the old `.grad` of the `leaf` plus the gradient, or the gradient
    itself."""
    grad = grads_in[0] if grads_in else None
    stored = rf"{leaf}\text{{.grad}}"
    if before is None:
        formula = f"{stored} = {names.gradient}"
        words = "The leaf's .grad was None: it becomes the gradient."
        numbers = f"{stored} = {_result(after if after is not None else grad)}"
    else:
        formula = rf"{stored} = {stored}_{{\text{{old}}}} + {names.gradient}"
        words = "The leaf's .grad was not None: the gradient is added to it."
        numbers = f"{stored} = {literal(before, 'g')} + {literal(grad, 'G')} = {_result(after)}"
    return Statement(formula, numbers, words)


def _closure(function: Any) -> Mapping[str, Any]:
    return inspect.getclosurevars(function).nonlocals


def _is_generated(method: Any) -> bool:
    """Whether torch.library has made this backward, which calls one that was registered."""
    code = getattr(method, "__code__", None)
    return code is not None and "info" in code.co_freevars and "_library" in code.co_filename


def own_backward(node: Any, line_at: LineAt) -> tuple[str, int] | None:
    """The name and line of its backward, where the node is an autograd.Function. The line of one
    that is not the reader's own is 0."""
    kind = getattr(type(node), "_forward_cls", None)
    method = None if kind is None else getattr(kind, "backward", None)
    custom = _closure(method).get("info") if _is_generated(method) else None
    if custom is not None:  # of torch.library.custom_op
        method = custom._backward_fn
    code = getattr(getattr(method, "__wrapped__", method), "__code__", None)
    if kind is None or code is None or method is torch.autograd.Function.backward:
        return None
    return kind.__name__, line_at(code.co_filename, code.co_firstlineno)


# -- writing ------------------------------------------------------------------------------------


def _line(
    rule: Rule, values: Values, part: Part, result: Array | None, names: Names
) -> tuple[str, str, tuple[int, ...]]:
    """One input's formula and numbers, and the axes it was summed over for broadcasting."""
    template = part.template(values)
    grad = values.grads_in[0] if values.grads_in else None
    axes: tuple[int, ...] = ()
    if rule.elementwise and grad is not None:
        axes = summed_axes(tuple(grad.shape), values.shape)
    template = sum_tex(axes, f"({template})") if axes else template
    left = names.partial(part.letter)
    formula = f"{left} &= {_filled(template, values, None, names)}"
    place = _first(rule, result) if not axes else None
    first, *named = _NAMED.split(template)
    written, *named = (_filled(tex, values, place or (), names) for tex in (first, *named))
    index = "" if place is None else f"[{', '.join(map(str, place))}]"
    got = _result(result if place is None else _first_element(result))
    equals = "" if template == "<G>" else f" = {got}"
    return formula, f"{left}{index} &= " + r",\ ".join([written + equals, *named]), axes


def _filled(template: str, values: Values, place: tuple[int, ...] | None, names: Names) -> str:
    """The template with letters (`place` None), all numbers (()), or those of one element."""

    def piece(match: re.Match[str]) -> str:
        shown, value = _shown(*match.groups()), values.raw(match[2])
        if place is None and not (len(shown) > 1 and isinstance(value, int | float)):
            return names.gradient if shown == "G" else names.letters.get(shown, shown)
        return literal(_first_element(value) if place else value, shown)

    def times(match: re.Match[str]) -> str:
        left, right = match.groups()
        ends = re.search(r"(?:^|[{(-])[\d.]+$", left) or re.match(r"[\d.]+[)}]*$", right)
        scalar = bool(ends or place) or _is_number(left, values) or _is_number(right, values)
        return f"{left} {'·' if scalar else '⊙'} "

    signed = _TIMES.sub(times, template)
    return _FIELD.sub(piece, signed.replace("·", r"\cdot").replace("⊙", r"\odot"))


def letters(template: str) -> dict[str, str]:
    """What a template's letters stand for: the name of the saved value, by the letter shown."""
    return {_shown(letter, name): name for letter, name in _FIELD.findall(template)}


def _shown(letter: str | None, name: str) -> str:
    shown = letter or _LETTERS.get(name, name)
    long = len(shown) > 1 and not letter
    return rf"\text{{{shown.replace('_', ' ')}}}" if long else shown


def _is_number(text: str, values: Values) -> bool:
    """Whether this factor of a product is a single number."""
    fields = _FIELD.findall(text)
    return bool(fields) and all(
        not isinstance(values.raw(name), np.ndarray | Summary) or values.raw(name).ndim == 0
        if not isinstance(values.raw(name), Summary)
        else False
        for _, name in fields
    )


def _first(rule: Rule, result: Array | None) -> tuple[int, ...] | None:
    """Large arrays of an element-wise rule are shown at their first element: where that is."""
    if not rule.elementwise or result is None or is_short(result):
        return None
    return (0,) * len(result.shape)


def _first_element(value: Any) -> Any:
    """The first element of an array; a single number as it is."""
    if isinstance(value, Summary):
        value = value.corner
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    return value[(0,) * value.ndim] if value.size else value


def _result(result: Any) -> str:
    if result is None:
        return ""
    if not isinstance(result, np.ndarray | Summary) or not result.shape:
        return scalar(result[()] if isinstance(result, np.ndarray) else result)
    if is_short(result):
        return literal(result, "")
    return rf"\text{{{' × '.join(map(str, result.shape))} numbers}}"


def _summed(letter: str, axes: tuple[int, ...]) -> str:
    which = ("axis " if len(axes) == 1 else "axes ") + ", ".join(map(str, axes))
    return f"Summed over {which}, because {letter} was broadcast."


def _aligned(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0].replace(" &= ", " = ", 1)
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


# -- numbers and arrays as short LaTeX ---------------------------------------------------------


def is_short(value: Any) -> bool:
    """Whether a value is written out with all its numbers."""
    if isinstance(value, Summary):
        return False
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return True
    if value.size > ELEMENTS or value.size == 0:
        return False
    columns = value.shape[-1]
    rows = value.shape[-2] if value.ndim > 1 else 1
    return value.size == rows * columns and rows <= ROWS and columns <= COLUMNS


def scalar(value: Any) -> str:
    """A number as it is shown everywhere, with 1.5e-07 as 1.5·10⁻⁷, nan and inf as words and ∞."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    text = number(value)
    if "nan" in text:
        return r"\text{nan}"
    if "inf" in text:
        return text.replace("inf", r"\infty")
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent.lstrip("+-").isdigit() else text


def literal(value: Any, letter: str) -> str:
    """A value written out; a large one as its letter with its shape below."""
    if isinstance(value, np.ndarray | Summary) and not is_short(value):
        return rf"\underset{{{shape(value.shape)}}}{{{letter}}}"
    if isinstance(value, np.ndarray) and value.ndim:
        rows = value.reshape(-1, value.shape[-1])
        return matrix(rows)
    if value is None or isinstance(value, str):
        return rf"\text{{{re.sub(r'[^A-Za-z0-9 ]', '', str(value))}}}"
    if isinstance(value, list):
        return "(" + ", ".join(scalar(item) for item in value) + ")"
    text = scalar(value[()] if isinstance(value, np.ndarray) else value)
    return f"({text})" if text.startswith("-") or "cdot" in text else text


def matrix(rows: np.ndarray) -> str:
    body = r" \\ ".join(" & ".join(scalar(v) for v in row) for row in rows)
    return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


def shape(sizes: tuple[int, ...]) -> str:
    return r" \times ".join(map(str, sizes)) or "1"
