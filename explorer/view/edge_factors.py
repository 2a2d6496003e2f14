"""What stands on the edges of a graph: by what a gradient is multiplied on its way to an input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer import limits
from explorer.trace import BackwardPass, BackwardStep, Node, Summary
from explorer.trace.rules.factors import Factor, factors
from explorer.trace.rules.plain import PRIVATE, plain, raised
from explorer.trace.rules.rule import ALIASES, summed_words
from explorer.trace.rules.table import RULES
from explorer.trace.text import number, shape_text
from explorer.view.graph import inputs_of
from explorer.view.node_words import written

#: Most characters of a factor in letters, and of a tensor's entries.
_LETTERS, _ENTRIES = 16, 20
#: Most characters of a number that is not rounded to three digits.
_EXACT = 6
_FIELD = re.compile(r"<(?:([^<>:]+):)?(\w+)>")
#: G times a matrix that has a name, on either side.
_PRODUCT = re.compile(r"(?:(\S+) )?G(?: (\S+))?")
_TRANSPOSED, _NAME = re.compile(r"\.m?T$"), re.compile(r"[\w.]+(\[\d+\])?ᵀ?")
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
    input twice, as in x * x, there are two. `only` those of one step, if it is given."""
    nodes = {node.id: node for node in shown.nodes}
    found: dict[tuple[str, str], list[EdgeFactor]] = defaultdict(list)
    for step in shown.steps if only is None else (only,):
        names = names_of(step, shown, nodes)
        given = factors(step.name, step.grads_in, step.grads_out, step.saved)
        for factor, flow in zip(given, step.grads_out, strict=True):
            if factor is not None and flow.to is not None:
                found[flow.to, step.node].append(_edge_factor(factor, step, names))
    return found


def listed(given: Sequence[EdgeFactor]) -> str:
    """The factors on one edge in a few characters."""
    texts = [one.text for one in given]
    if len(texts) > 1 and len(set(texts)) == 1:
        return f"{texts[0]}, {'twice' if len(texts) == 2 else f'{len(texts)} times'}"
    return " and ".join(texts[: limits.FACTORS_ON_AN_EDGE])


def names_of(step: BackwardStep, shown: BackwardPass, nodes: Mapping[str, Node]) -> dict[str, str]:
    """What the program calls the letters of a step's rule: its inputs, and its result y."""
    rule = RULES.get(step.name)
    if rule is None:
        return {}
    names, missing = {}, []
    for slot, flow in enumerate(step.grads_out):
        part, node = rule.part(slot), nodes.get(flow.to or "")
        if part is None or rule.repeat:
            continue
        if node is None:
            missing.append(part.letter)
            continue
        names[part.letter] = called(node, shown)
    frozen = [node.label for node in inputs_of(step.node, shown) if node.kind == "frozen"]
    if len(frozen) == len(missing) == 1:
        names[missing[0]] = frozen[0]
    if own := nodes.get(step.node):
        names["y"] = own.label
    return {letter: name for letter, label in names.items() if (name := name_of(label))}


def called(node: Node, shown: BackwardPass) -> str:
    """The label of a node; of an AccumulateGrad its leaf's, of a transposed tensor "Wᵀ"."""
    inputs = inputs_of(node.id, shown)
    if node.kind == "accumulate" and inputs:
        return inputs[0].label
    if node.name.startswith("TBackward") and len(inputs) == 1:
        return f"{called(inputs[0], shown)}ᵀ"
    return node.label


def name_of(label: str) -> str:
    """What the program calls a value, short enough for an edge; empty if nothing is."""
    label = _TRANSPOSED.sub("ᵀ", label)
    if _NAME.fullmatch(label):
        name = label.rpartition(".")[2]
        return name if len(name) <= _LETTERS else ""
    text = written(label)
    return f"({text})" if text else ""


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
        return EdgeFactor(f"× {shown}{summed}", numbers)
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
    size = f" {shape_text(value.shape[::-1])}" if isinstance(value, np.ndarray | Summary) else ""
    left, right = product.groups()
    return f"{left} ·{size}" if left else f"· {right}{size}"


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
