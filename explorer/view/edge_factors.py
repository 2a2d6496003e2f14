"""What stands on the edges of a graph: by what a gradient is multiplied on its way to an input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer import limits
from explorer.trace import Array, BackwardPass, BackwardStep, Node, Summary
from explorer.trace.rules.factors import Factor, factors
from explorer.trace.rules.plain import PRIVATE, plain, raised
from explorer.trace.rules.rule import ALIASES, summed_words
from explorer.trace.rules.table import RULES
from explorer.trace.text import number, shape_text
from explorer.view.kept import kept_with_pass
from explorer.view.node_words import written

#: Most characters of a factor in letters, and of a tensor's entries.
_LETTERS, _ENTRIES = 16, 20
#: Most characters of a number that is not rounded to three digits.
_EXACT = 6
_FIELD = re.compile(r"<(?:([^<>:]+):)?(\w+)>")
#: G times a matrix that has a name, on either side.
_PRODUCT = re.compile(r"(?:(\S+) )?G(?: (\S+))?")
_NAME = re.compile(r"(?!.*\.m?T$)[\w.]+(\[\d+\])?")
#: "3 - 1" in an exponent, parentheses within parentheses, and around all.
_LESS_ONE, _DOUBLE = re.compile(r"\^\((\d+) - 1\)"), re.compile(r"\(\(([^()]*)\)\)")
_WHOLE = re.compile(r"\([^() ]*\)")
#: The letters of the rules for saved values.
_LETTER = {saved: letter for letter, saved in ALIASES.items()}


@dataclass(frozen=True)
class EdgeFactor:
    """What stands on an edge: `text`, such as "× cos(a) = 0.878"; and the factor in `numbers`,
    where it is not a matrix: "0.878", "[2, 4]"."""

    text: str
    numbers: str = ""


def edge_factors(
    shown: BackwardPass, *, only: BackwardStep | None = None
) -> dict[tuple[str, str], list[EdgeFactor]]:
    """The factors on each edge, by the ids of its source and target; where an operation uses one
    input twice, as in x * x, there are two. `only` those of one step, if it is given. There is none
    where the gradient that was passed on is another, which a hook has changed."""
    program = program_names(shown)
    found: dict[tuple[str, str], list[EdgeFactor]] = defaultdict(list)
    for step in shown.steps if only is None else (only,):
        names = program.of(step)
        given = factors(step.name, step.grads_in, step.grads_out, step.saved)
        for factor, flow in zip(given, step.grads_out, strict=True):
            if factor is not None and flow.to is not None and _leads_to(factor, step, flow.grad):
                found[flow.to, step.node].append(_edge_factor(factor, step, names))
    return found


def _leads_to(factor: Factor, step: BackwardStep, passed: Array | None) -> bool:
    """Whether the factor gives what the step passed on, as far as that can be told."""
    grad = step.grads_in[0] if step.grads_in else None
    if factor.entries is None or not (
        isinstance(grad, np.ndarray) and isinstance(passed, np.ndarray)
    ):
        return True
    with np.errstate(all="ignore"):
        product = factor.times(grad, passed.shape).astype(passed.dtype)
    return bool(np.allclose(product, passed, 1e-2, 1e-6, equal_nan=True))


def listed(given: Sequence[EdgeFactor]) -> str:
    """The factors on one edge in a few characters."""
    texts = [one.text for one in given]
    if len(texts) > 1 and len(set(texts)) == 1:
        return f"{texts[0]}, {'twice' if len(texts) == 2 else f'{len(texts)} times'}"
    return " and ".join(texts[: limits.FACTORS_ON_AN_EDGE])


class ProgramNames:
    """What the program calls the values of one pass. A name that several of them had, one after the
    other, tells none of them."""

    def __init__(self, shown: BackwardPass) -> None:
        self.nodes = {node.id: node for node in shown.nodes}
        self.inputs: dict[str, list[Node]] = defaultdict(list)
        for source, target in dict.fromkeys((edge.source, edge.target) for edge in shown.edges):
            if source in self.nodes:
                self.inputs[target].append(self.nodes[source])
        having: dict[str, set[object]] = defaultdict(set)
        for node in shown.nodes:
            if node.label and node.kind in ("leaf", "function", "frozen"):
                having[name_of(node.label)].add(node.id if node.tensor is None else node.tensor)
        self.unclear = {name for name, values in having.items() if len(values) > 1}

    def name(self, node: Node | None) -> str:
        """What the value that a node made is called, in parentheses if that is no single name; of
        an AccumulateGrad its leaf, of a transposed tensor "Wᵀ"; empty if it has no clear name."""
        if node is None:
            return ""
        inputs = self.inputs[node.id]
        if node.kind == "accumulate" and inputs:
            return self.name(inputs[0])
        if node.name.startswith("TBackward") and len(inputs) == 1 and not node.label.isidentifier():
            inner = self.name(inputs[0])
            return inner.removesuffix("ᵀ") if inner.endswith("ᵀ") else f"{inner}ᵀ" if inner else ""
        name = name_of(node.label)
        return "" if name in self.unclear else name

    def of(self, step: BackwardStep) -> dict[str, str]:
        """The names of a step's inputs and of its result y, by the letters of its rule."""
        rule = RULES.get(step.name)
        if rule is None:
            return {}
        names, missing = {}, []
        for slot, flow in enumerate(step.grads_out):
            part = rule.part(slot)
            if part is None or rule.repeat:
                continue
            if flow.to in self.nodes:
                names[part.letter] = self.name(self.nodes[flow.to])
            else:
                missing.append(part.letter)
        frozen = [node for node in self.inputs[step.node] if node.kind == "frozen"]
        if len(frozen) == len(missing) == 1:
            names[missing[0]] = self.name(frozen[0])
        names["y"] = self.name(self.nodes.get(step.node))
        return {letter: name for letter, name in names.items() if name}


program_names = kept_with_pass(ProgramNames)


def name_of(label: str) -> str:
    """What the program calls a value, short enough for an edge; empty if nothing is."""
    if _NAME.fullmatch(label):
        name = label if len(label) <= _LETTERS else label.rpartition(".")[2]
        return name if len(name) <= _LETTERS else ""
    text = written(label)
    return text if re.fullmatch(r"(\w+ᵀ)?", text) else f"({text})"


def _edge_factor(factor: Factor, step: BackwardStep, names: Mapping[str, str]) -> EdgeFactor:
    if factor.words:
        return EdgeFactor(factor.words)
    letters = _in_letters(factor.template, step, names)
    short = len(letters) <= _LETTERS
    if factor.entries is None:
        return EdgeFactor(_matrix(factor.template, letters, step))
    summed = f", {summed_words(factor.summed)}" if factor.summed else ""
    numbers = numbers_text(factor.entries)
    if numbers == "1" and summed:
        return EdgeFactor(summed_words(factor.summed))
    if factor.entries.ndim:
        shown = numbers or (letters if short else "") or "element by element"
        return EdgeFactor(f"× {shown}{summed}", "" if summed else numbers)
    told = short and letters not in ("", numbers, f"({numbers})")
    shown = f"{letters} = {numbers}" if told else numbers
    return EdgeFactor(f"× {shown}{summed}", "" if summed else numbers)


def _matrix(template: str, letters: str, step: BackwardStep) -> str:
    """A factor that is a matrix: the one that is multiplied with, where that is one."""
    if letters.startswith("Σ"):
        return "summed"
    product = _PRODUCT.fullmatch(letters)
    if product is None or len(letters) > _LETTERS:
        return "Jᵀ ·"
    matrix = next(name for _, name in _FIELD.findall(template) if name != "G")
    value = step.saved.get(ALIASES.get(matrix, matrix))
    size = (
        f" {shape_text(_swapped(value.shape))}" if isinstance(value, np.ndarray | Summary) else ""
    )
    left, right = product.groups()
    return f"{left} ·{size}" if left else f"· {right}{size}"


def _swapped(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], *reversed(shape[-2:]))


def _short(value: float) -> str:
    """With three digits, unless five say it exactly."""
    text = number(value)
    exact = abs(float(text) - value) <= 1e-6 * abs(value)
    return text if exact and len(text.lstrip("-")) <= _EXACT else number(float(f"{value:.3g}"))


def numbers_text(entries: np.ndarray) -> str:
    """All numbers of a small tensor, with three digits; empty for a larger one."""
    if entries.size > limits.FACTOR_ENTRIES:
        return ""
    text = _nested(entries)
    return text if len(text) <= _ENTRIES else ""


def _nested(entries: np.ndarray) -> str:
    return f"[{', '.join(map(_nested, entries))}]" if entries.ndim else _short(float(entries))


def _in_letters(template: str, step: BackwardStep, names: Mapping[str, str]) -> str:
    """The factor with the program's names, and the numbers of what has none; empty if there is
    something that has neither."""
    unnamed, pieces = [], []

    def piece(match: re.Match[str]) -> str:
        letter, name = match.groups()
        shown = letter or _LETTER.get(name, name)
        if name == "G" or shown in names:
            return names.get(shown, "G")
        value = step.saved.get(name, step.saved.get(ALIASES.get(name, "")))
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, int | float | np.number):
            unnamed.append(name)
            return ""
        text = _short(float(value))
        return f"({text})" if text.startswith("-") else text

    def mark(match: re.Match[str]) -> str:
        pieces.append(piece(match))
        return chr(PRIVATE + len(pieces) - 1)  # a name must not be read as LaTeX

    text = plain(_FIELD.sub(mark, template))
    for place, what in enumerate(pieces):
        text = text.replace(chr(PRIVATE + place), what)
    return "" if unnamed else _tidied(text)


def _tidied(text: str) -> str:
    """Without parentheses that say nothing, "3 - 1" in an exponent worked out."""
    text = _LESS_ONE.sub(lambda found: raised(str(int(found[1]) - 1)), text)
    text = _DOUBLE.sub(r"(\1)", text).replace("ᵀᵀ", "").replace(" - ", " − ")
    return text[1:-1] if _WHOLE.fullmatch(text) else text
