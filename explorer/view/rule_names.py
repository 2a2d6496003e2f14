"""A step's rule with the program's names in place of the letters of the rules: ∂out/∂x."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np

from explorer.trace import BackwardPass, BackwardStep, Flow, Node
from explorer.trace.rules.rule import ALIASES, Part, Values
from explorer.trace.rules.statement import Names, literal, state, stored
from explorer.trace.rules.statement import letters as letters_of
from explorer.trace.rules.table import RULES, applied
from explorer.trace.text import join_names
from explorer.view.edge_factors import ProgramNames, name_of, program_names
from explorer.view.kept import kept_with_pass

_PARTIAL = re.compile(r"\\frac\{\\partial L\}\{\\partial (\w+'?)\}")
#: Letters of large arrays, which stand above their shapes.
_LARGE = re.compile(r"(?<=\}\{)(\w+)(?=\})")
_LETTER_OF = re.compile(r"[A-Za-z](_\d)?'?")

#: What a rule's letters are where the program has no name, and letters to choose from.
_UNNAMED = {"a": "the first input", "b": "the second input", "y": "the result"}
_FREE = "uvrstpqkz"
_PARENTHESES = re.compile(r"\(\\text\{\(([^{}]*)\)\}\)")
_TWICE = re.compile(r"(\\text\{[^{}]*\}|[A-Za-z](?:_\d)?)\^\{\\top\}\s*\^\{\\top\}")


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
    program = program_names(shown)
    taken = _labels(shown)
    letters_left = chain(_FREE, (f"u_{n}" for n in count(1)))
    free = (letter for letter in letters_left if letter not in taken)
    root, meant = _root(shown, program, next(free) if "L" in taken else "L")
    own = program.nodes.get(step.node)
    result = program.name(own)
    if own is not None and own.kind == "accumulate":
        gradient = rf"\frac{{\partial {root}}}{{\partial {_tex(result)}}}" if result else "G"
        leaf = name_of(next(iter(program.inputs[own.id]), own).label)  # a stranger's text
        names = Names(root, gradient)
        statement = stored(
            step.grads_in, step.before, step.after, names, _tex(leaf) if leaf else ""
        )
        return Rule(statement.formula, statement.numbers, meant)
    letters = {letter: _tex(name) for letter, name in program.of(step).items()}
    letters |= _constants(step, letters)
    said = []
    if result:
        gradient = rf"\frac{{\partial {root}}}{{\partial {_tex(result)}}}"
    else:
        gradient = next(free) if "G" in taken else "G"
        said.append(f"{gradient} is the gradient that arrives")
    unnamed = _letters(step) - set(letters)
    for letter, what in _UNNAMED.items():
        if letter in unnamed:
            letters[letter] = next(free)
            said.append(f"{letters[letter]} is {what}")
    names = Names(root, gradient, letters, _parts(step, shown))
    formula = state(step.name, step.grads_in, step.grads_out, step.saved, names).formula
    sentence = f"Here {join_names(said)}." if said else ""
    return Rule(
        _tidied(formula or step.formula),
        _tidied(_renamed(step.numbers, names)),
        " ".join(filter(None, (meant, sentence))),
    )


def _tidied(tex: str) -> str:
    """Without a transpose of a transpose, and parentheses within parentheses."""
    return _PARENTHESES.sub(r"(\\text{\1})", _TWICE.sub(r"\1", tex))


def _letters(step: BackwardStep) -> set[str]:
    """The letters of a step's formula."""
    used: set[str] = set()
    for values, part, _ in _inputs(step):
        used |= {part.letter, *letters_of(part.template(values))}
    return used


def _inputs(step: BackwardStep) -> Sequence[tuple[Values, Part, Flow]]:
    """What the rule of a step says of each input; nothing where none is known."""
    rule = RULES.get(step.name)
    return applied(rule, step.name, step.grads_in, step.grads_out, step.saved) if rule else ()


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

    def large(match: re.Match[str]) -> str:
        return names.gradient if match[1] == "G" else names.letters.get(match[1], match[1])

    return _PARTIAL.sub(
        lambda m: names.partial(m[1]),
        re.sub(r"\\underset\{[^}]*\}\{\w+\}", lambda m: _LARGE.sub(large, m[0]), numbers),
    )


def _parts(step: BackwardStep, shown: BackwardPass) -> frozenset[str]:
    """The letters of the inputs to which several gradients are sent, and added."""
    sent = _sent(shown)
    return frozenset(
        part.letter for _, part, flow in _inputs(step) if flow.to and sent[flow.to, flow.slot] > 1
    )


@kept_with_pass
def _sent(shown: BackwardPass) -> Counter[tuple[str | None, int]]:
    """How many gradients are sent to each input of each node."""
    return Counter((flow.to, flow.slot) for step in shown.steps for flow in step.grads_out)


@kept_with_pass
def _labels(shown: BackwardPass) -> set[str]:
    return {node.label for node in shown.nodes}


@kept_with_pass
def _outputs(shown: BackwardPass) -> list[Node]:
    return [node for node in shown.nodes if node.kind == "output"]


def _root(shown: BackwardPass, program: ProgramNames, letter: str) -> tuple[str, str]:
    """What the gradients are derivatives of, in LaTeX; and a sentence if that has no name."""
    outputs = _outputs(shown)
    name = program.name(outputs[0]) if len(outputs) == 1 else ""
    first = shown.steps[0].grads_in[0] if shown.steps and shown.steps[0].grads_in else None
    starts_at_one = isinstance(first, np.ndarray) and first.size == 1 and np.all(first == 1)
    if _is_changed(shown):
        return letter, f"A hook changed gradients on the way: {letter} has them as derivatives."
    if name and starts_at_one:
        return _tex(name), ""
    if len(outputs) != 1:
        return letter, f"{letter} is what backward started from."
    if starts_at_one:
        return letter, f"{letter} is {shown.root}."
    return (
        letter,
        f"{letter} is {shown.root} times the gradient that backward started with, summed.",
    )


@kept_with_pass
def _is_changed(shown: BackwardPass) -> bool:
    """Whether a node took in something else than was sent to it, as hooks make it."""
    sent: dict[tuple[str, int], list[np.ndarray]] = defaultdict(list)
    for step in shown.steps:
        for flow in step.grads_out:
            if flow.to is not None and isinstance(flow.grad, np.ndarray):
                sent[flow.to, flow.slot].append(flow.grad)
    for step in shown.steps:
        for slot, grad in enumerate(step.grads_in):
            parts = sent.get((step.node, slot), [])
            if isinstance(grad, np.ndarray) and parts and {p.shape for p in parts} == {grad.shape}:
                total = np.sum(parts, axis=0)
                if total.shape == grad.shape and not np.allclose(
                    total, grad, 1e-2, 1e-5, equal_nan=True
                ):
                    return True
    return False


def _tex(name: str) -> str:
    """A name in LaTeX. It holds letters, digits and signs that mean nothing there, but for `_`."""
    transposed = name.removesuffix("ᵀ")
    if transposed != name:
        return rf"{_tex(transposed)}^{{\top}}"
    if _LETTER_OF.fullmatch(name):
        return name
    return rf"\text{{{name.replace('_', chr(92) + '_')}}}"
