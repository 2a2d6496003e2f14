"""Words of the glossary where they stand on the pages."""

from __future__ import annotations

import pytest

import explorer
from explorer.trace import Answer
from explorer.training.optimizers import OPTIMIZERS
from explorer.ui.optimizer import numbers
from explorer.ui.widgets import glossary_dialog
from explorer.view import answers, layer_tree, tensors
from explorer.view.glossary import GLOSSARY, Html, html, optional_term_link, term_link

pytestmark = pytest.mark.fast


def test_a_word_is_a_button_with_its_key() -> None:
    assert term_link("leaf", "leaf") == (
        '<button type="button" class="ax-word" data-term="leaf">leaf</button>'
    )
    assert ">Non-leaf</button>" in term_link("non-leaf")


def test_a_word_the_glossary_lacks_is_an_error() -> None:
    with pytest.raises(KeyError):
        term_link("laef")


def test_text_is_escaped_and_mark_up_is_not() -> None:
    assert html("<b>", term_link("leaf", "a < b")) == (
        '&lt;b&gt;<button type="button" class="ax-word" data-term="leaf">a &lt; b</button>'
    )
    assert html(Html("<b>")) == "<b>"


@pytest.mark.parametrize("key", ["laef", "", "__class__", '"><script>'])
def test_what_a_run_tells_may_name_no_word(key: str) -> None:
    assert optional_term_link(key) == ""
    answer = Answer(key="none.failed", title="Why?", text="Because.", glossary=key)
    shown = answers.answer_html(answer, "")
    assert "data-term" not in shown
    assert key not in shown or not key


@pytest.mark.parametrize("said", ["laef", "", None, 1, 1.5, ["leaf"], {"leaf": 1}, True, "LEAF"])
def test_what_the_browser_says_may_be_anything(said: object) -> None:
    assert glossary_dialog.known(said) is None
    assert glossary_dialog.known("leaf") is GLOSSARY["leaf"]


def test_headings_open_words_that_exist() -> None:
    headed = [column.term for column in tensors.COLUMNS if column.term]
    columns = (*layer_tree.LAYER_COLUMNS, *layer_tree.PARAMETER_COLUMNS)
    in_tree = [column for column in columns if column.term]
    assert all(column.term and column.term[0] in column.title for column in in_tree)
    headed += [column.term[1] for column in in_tree if column.term]
    labelled = [term for _, term in numbers.LABELS.values()]
    buffers = {spec.term for spec in OPTIMIZERS.values()}
    assert len(headed) >= 8
    assert {*headed, *labelled, *buffers} <= set(GLOSSARY)


def test_a_none_opens_the_word_behind_its_reason() -> None:
    trace = explorer.run(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n"
        "lost = torch.ones(2, requires_grad=True)\nfixed = torch.ones(2)\ny.sum().backward()\n"
    )
    terms = {
        record.name: record.why_none.term if record.why_none else ""
        for record in trace.tensors
        if record.named
    }
    assert terms == {"x": "", "y": "non-leaf", "lost": "unused", "fixed": "requires_grad"}
    rows = {row.cells[0]: row for row in tensors.tensor_rows(trace.tensors)}
    assert {name: rows[name].term for name in terms} == terms | {"y": "hook"}
