"""The examples: each runs, does what it says, and calls for the explanation it names."""

import pytest

from explorer.trace import run
from explorer.trace.check import check
from explorer.trace.examples import EXAMPLES
from explorer.trace.explain.gradient_check import explain_check
from explorer.trace.terms import GLOSSARY

pytestmark = pytest.mark.fast

BY_KEY = {example.key: example for example in EXAMPLES}


def test_there_are_enough_and_no_key_or_program_twice():
    assert len(EXAMPLES) >= 30
    assert len(BY_KEY) == len({example.source for example in EXAMPLES}) == len(EXAMPLES)


def test_the_examples_of_a_group_are_together():
    groups = [example.group for example in EXAMPLES]
    assert len(dict.fromkeys(groups)) == sum(
        a != b for a, b in zip([None, *groups], groups, strict=False)
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_each_runs_and_asks_one_question(example):
    trace = run(example.source)
    assert (trace.error is not None) == example.fails, trace.error
    assert example.question.endswith("?")
    assert example.question.count("?") == 1
    assert example.answer.endswith((".", "!"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_each_calls_for_its_explanation_and_the_rest_for_none(example):
    trace = run(example.source)
    answers = trace.answers
    if example.explains.startswith("check."):
        assert answers == ()
        answers = explain_check(check(example.source))
    keys = {answer.key for answer in answers}
    if example.explains:
        assert example.explains in keys
    else:
        assert keys == set()
    for answer in answers:
        assert answer.title.endswith(("?", "."))
        assert answer.text
        assert answer.glossary in GLOSSARY, answer.glossary
        assert answer.line is None or 1 <= answer.line <= example.source.count("\n")


PRINTED = {
    "mean": "tensor([[ 9., 12.]])",
    "sum": "tensor([[18., 24.]])",
    "shared": "tensor(11.)",
    "broadcast_sum": "tensor([3., 3.])",
    "second": "12.",
    "upstream": "tensor([ 2., 40.])",
    "jacobian": "[[3., 2.],\n        [4., 0.]]",
    "hook": "tensor([0.5000, 0.5000])",
    "hook_scale": "tensor([100., 100.])",
    "hook_order": "tensor([9., 9.])",
    "module_hooks": "tensor([0.7500, 0.7500, 0.7500, 0.7500]) tensor([0.2500])",
    "deprecated_hook": "(tensor([0.2500]), None) (tensor([1.]),)",
    "autoencoder": "tensor(0.0022)",
    "max_ties": "tensor([0.0000, 0.5000, 0.5000])",
    "nan_where_safe": "tensor([0.0000, 0.2500])",
}


@pytest.mark.parametrize("key", PRINTED)
def test_printed_numbers(key):
    """Worked out by hand, or published in an article."""
    assert PRINTED[key] in run(BY_KEY[key].source).output


def test_numbers_named_in_answers():
    data = run(BY_KEY["inplace_data"].source)
    assert float(data.variables["w"].grad) == 20.0
    twice = run(BY_KEY["softmax_twice"].source)
    assert float(twice.variables["loss"].value) >= 0.5514
    assert float(run(BY_KEY["by_hand"].source).variables["w"].value[0]) == pytest.approx(2, abs=0.1)
