"""A step's rule with the program's names in place of the letters of the rules: ∂out/∂x."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from explorer.trace import BackwardPass, BackwardStep, Node
from explorer.trace.rules.rule import ALIASES
from explorer.trace.rules.statement import Names, literal, state, stored
from explorer.trace.rules.table import RULES
from explorer.trace.text import join_names
from explorer.view.edge_factors import name_of, names_of
from explorer.view.graph import inputs_of

_PARTIAL = re.compile(r"\\frac\{\\partial L\}\{\\partial (\w+'?)\}")
#: Letters of large arrays, which stand above their shapes.
_LARGE = re.compile(r"(?<=\}\{)(\w+)(?=\})")
_LETTER_OF = re.compile(r"[A-Za-z](_\d)?'?")


#: What a rule's letters are where the program has no name.
_UNNAMED = {
    "G": "the gradient that arrives",
    "a": "the first input",
    "b": "the second input",
    "y": "the result",
}
_USED = re.compile(r"(?<![\\\w{.])(?:\\partial )?([Gaby])(?![\w.])")


@dataclass(frozen=True)
class Rule:
    """The rule of a step in LaTeX, in names and with numbers, and what the letters left mean."""

    formula: str
    numbers: str
    letters: str = ""


def named_rule(step: BackwardStep, shown: BackwardPass) -> Rule:
    """The rule of a step of the pass. Empty where none is known."""
    if not step.formula:
        return Rule("", "")
    nodes = {node.id: node for node in shown.nodes}
    root, meant = _root(shown)
    own = nodes.get(step.node)
    gradient = _gradient(own, root, shown)
    letters = {letter: _tex(name) for letter, name in names_of(step, shown, nodes).items()}
    letters |= _constants(step, letters)
    names = Names(root, gradient or "G", letters)
    if own is not None and own.kind == "accumulate":
        leaf = next(iter(inputs_of(own.id, shown)), own).label
        statement = stored(step.grads_in, step.before, step.after, names, _tex(leaf))
        return Rule(statement.formula, statement.numbers, meant)
    formula = state(step.name, step.grads_in, step.grads_out, step.saved, names).formula
    formula = formula or step.formula
    used = set(_USED.findall(formula)) - set(letters)
    left = [f"{letter} is {what}" for letter, what in _UNNAMED.items() if letter in used]
    sentence = f"Here {join_names(left)}." if left else ""
    return Rule(formula, _renamed(step.numbers, names), " ".join(filter(None, (meant, sentence))))


def _constants(step: BackwardStep, named: Mapping[str, str]) -> dict[str, str]:
    """The numbers in a program that need no gradient, by their letters."""
    found = {}
    rule = RULES.get(step.name)
    for slot, flow in enumerate(step.grads_out):
        part = rule.part(slot) if rule and flow.to is None else None
        if part is not None and part.letter not in named:
            value = step.saved.get(ALIASES.get(part.letter, part.letter))
            if isinstance(value, np.ndarray) and not value.ndim:
                found[part.letter] = literal(value, part.letter)
    return found


def _renamed(numbers: str, names: Names) -> str:
    """The numbers of a rule, which hooks may have changed since, with names on the left."""

    def partial(match: re.Match[str]) -> str:
        below = names.letters.get(match[1], match[1])
        return rf"\frac{{\partial {names.root}}}{{\partial {below}}}"

    def large(match: re.Match[str]) -> str:
        return names.gradient if match[1] == "G" else names.letters.get(match[1], match[1])

    return _PARTIAL.sub(
        partial, re.sub(r"\\underset\{[^}]*\}\{\w+\}", lambda m: _LARGE.sub(large, m[0]), numbers)
    )


def _root(shown: BackwardPass) -> tuple[str, str]:
    """What the gradients are derivatives of, in LaTeX, and a sentence if that has no name."""
    outputs = [node for node in shown.nodes if node.kind == "output"]
    name = name_of(shown.root)
    if len(outputs) == 1 and name and not outputs[0].shape:
        return _tex(name), ""
    if len(outputs) == 1 and outputs[0].shape:
        return "L", f"L is {shown.root} times the gradient given to backward, summed."
    return "L", "L is what backward started from."


def _gradient(own: Node | None, root: str, shown: BackwardPass) -> str:
    """The gradient that comes in, as a derivative; empty where the result has no name."""
    if own is None:
        return ""
    label = (
        next(iter(inputs_of(own.id, shown)), own).label if own.kind == "accumulate" else own.label
    )
    name = name_of(label)
    return rf"\frac{{\partial {root}}}{{\partial {_tex(name)}}}" if name else ""


def _tex(name: str) -> str:
    """A name in LaTeX. It holds letters, digits and signs that mean nothing there, but for `_`."""
    transposed = name.removesuffix("ᵀ")
    if transposed != name:
        return rf"{_tex(transposed)}^{{\top}}"
    if _LETTER_OF.fullmatch(name):
        return name
    return rf"\text{{{name.replace('_', chr(92) + '_')}}}"
