"""Warnings of torch and numpy that matter for gradients, in plain words.

Asked at https://github.com/zju3dv/NeuralRecon/issues/51
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.losses import value_names
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.records import Answer, Symptom

#: Changes the call that a warning is about.
Change = Callable[[Draft, ast.Call], None]


def with_keyword(name: str, value: str) -> Change:
    """Pass this keyword argument, in place of another value of it."""

    def change(draft: Draft, call: ast.Call) -> None:
        given = next((k.value for k in call.keywords if k.arg == name), None)
        if given is not None:
            draft.replace(given, value)
            return
        text = draft.of(call)
        separator = ", " if call.args or call.keywords else ""
        draft.replace(call, f"{text[:-1].rstrip().rstrip(',')}{separator}{name}={value})")

    return change


def renamed(old: str, new: str) -> Change:
    """Call another method with the same arguments."""

    def change(draft: Draft, call: ast.Call) -> None:
        text = draft.of(call.func)
        if text.endswith(old):
            draft.replace(call.func, text[: -len(old)] + new)

    return change


@dataclass(frozen=True)
class Known:
    """A warning that begins with or contains `words`, and the functions whose call it is about.

    `text` and `cure` may contain {line}.
    """

    words: str
    calls: tuple[str, ...]
    title: str
    text: str
    cure: str
    glossary: str
    change: Change | None = None


KNOWN = (
    Known(
        r"None of the inputs have requires_grad=True",
        ("checkpoint", "checkpoint_sequential"),
        "Why does the result of checkpoint not require grad?",
        "With use_reentrant=True, checkpoint on line {line} looks only at its inputs, and none of "
        "them requires grad. So it returns a tensor without a graph, and the parameters of the "
        "function inside get no gradient.",
        "Pass use_reentrant=False to checkpoint.",
        "requires_grad",
        with_keyword("use_reentrant", "False"),
    ),
    Known(
        r"Implicit dimension choice for (log_)?softm(ax|in)",
        ("softmax", "log_softmax", "softmin", "Softmax", "LogSoftmax", "Softmin"),
        "Over which dimension does softmax sum to 1?",
        "The call on line {line} names no dimension. torch then takes dimension 0 for a tensor "
        "with 0, 1 or 3 dimensions, and dimension 1 for the others.",
        "Name the dimension of the classes, for example dim=1.",
        "logits",
        with_keyword("dim", "1"),
    ),
    Known(
        r"reduction: 'mean' divides the total loss by both",
        ("kl_div", "KLDivLoss"),
        "Is the loss on line {line} the mean over the samples?",
        "No. By default kl_div on line {line} divides by the number of all elements: by the "
        "number of samples and the number of classes. The loss and the gradients are smaller than "
        "the divergence by the number of classes.",
        'Pass reduction="batchmean".',
        "mean",
        with_keyword("reduction", '"batchmean"'),
    ),
    Known(
        r"Using a non-full backward hook when the forward contains multiple",
        ("register_backward_hook",),
        "Does the hook get the gradients of the module's inputs?",
        "No. register_backward_hook on line {line} sees only the last operation of the module: "
        "its grad_input is that of this operation, not of the whole module.",
        "Use register_full_backward_hook.",
        "hook",
        renamed("register_backward_hook", "register_full_backward_hook"),
    ),
    Known(
        r"dropout option adds dropout after all but last recurrent layer",
        ("LSTM", "GRU", "RNN"),
        "Does the dropout of the recurrent layer on line {line} do anything?",
        "No. It drops values between stacked layers, and here there is one layer.",
        "Leave dropout out, use num_layers=2 or more, or add a layer nn.Dropout behind it.",
        "operation",
        with_keyword("num_layers", "2"),
    ),
    Known(
        r"size_average and reduce args will be deprecated",
        (),
        "What do size_average and reduce stand for?",
        "They are old names: size_average=False means reduction='sum', reduce=False means "
        "reduction='none', and the mean is the default.",
        "Pass reduction instead.",
        "mean",
    ),
    Known(
        r"Casting complex values to real discards the imaginary part",
        (),
        "What happens to the imaginary part?",
        "A complex tensor is turned into a real one. Its imaginary part is dropped, in the "
        "gradient too.",
        "Choose .real, .imag or .abs() yourself.",
        "operation",
    ),
    Known(
        r"(divide by zero|invalid value|overflow) encountered in",
        (),
        "Which numpy operation gives NaN or infinity?",
        "numpy says: {warning}. It gives inf or nan instead of an error, and everything that is "
        "computed from that is inf or nan too.",
        "Look at the values before this operation.",
        "nan",
    ),
)


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    for warning in analysis.warned:
        for known in KNOWN:
            if re.search(known.words, warning.text):
                yield _answer(known, warning.text, warning.line, analysis)


def _answer(known: Known, text: str, line: int | None, analysis: RunAnalysis) -> Answer:
    draft = analysis.draft()
    counts = analysis.recorder.run_counts
    calls = [
        call
        for call in draft.nodes(ast.Call)
        if called_name(call) in known.calls and counts.get(call.lineno)
    ]
    if line is None and len({call.lineno for call in calls}) == 1:
        line = calls[0].lineno
    here = [call for call in calls if call.lineno == line]
    fix = None
    if known.change is not None and len(here) == 1:
        known.change(draft, here[0])
        fix = draft.changed()
    kind = "error" if analysis.error is not None else "value"
    words = {"{line}": str(line or "?"), "{warning}": text[:80]}
    title, body = known.title, known.text
    for key, value in words.items():
        title, body = title.replace(key, value), body.replace(key, value)
    if line is None:
        title, body = (re.sub(r" (on|of) line \?", "", t) for t in (title, body))
    return Answer(
        key="torch.warning",
        title=title,
        text=body,
        cure=known.cure,
        line=line,
        names=known.calls[:1],
        glossary=known.glossary,
        fix=fix,
        symptom=Symptom(kind, () if kind == "error" else value_names(analysis)),
    )
