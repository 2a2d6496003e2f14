"""docs/language.md says what the language is now."""

import ast
import re
from collections import Counter

import pytest

from docs import language
from explorer import run
from explorer.language import reference
from explorer.language.syntax import ALLOWED, LEFT_OUT
from tests.language.compare import compare

pytestmark = pytest.mark.fast

PAGE = language.PAGE.read_text()


def kinds(source):
    return {type(node) for node in ast.walk(ast.parse(source))}


def test_the_page_is_what_the_tables_give():
    assert language.page() == PAGE, "run python -m docs.language"


def test_every_name_stands_there_once():
    names = PAGE[PAGE.index("## Names") : PAGE.index("## Unsupported names")]
    found = Counter()
    for line in names.splitlines():
        owner, _, listed = line.rpartition(": ")
        prefix = f"{owner.strip('`')}." if owner else ""
        if listed.startswith("`"):
            found.update(prefix + name for name in re.findall(r"`([^`]+)`", listed))
    assert set(found.values()) == {1}
    assert set(found) == {entry.name for group in reference() for entry in group.entries}


def test_the_tour_has_every_form_of_syntax_and_gives_what_python_gives():
    assert kinds(language.TOUR) == ALLOWED
    assert language.TOUR[language.TOUR.index("import torch") :].rstrip() in PAGE
    trace = run(language.TOUR)
    assert trace.error is None
    assert not trace.passes[0].ours
    compare(language.TOUR)


@pytest.mark.parametrize("shown", language.LEFT_OUT)
def test_what_is_left_out_is_refused_with_a_sentence(shown):
    error = language.refusal_of(language.LEFT_OUT[shown])
    assert error.message.endswith((".", "__dict__"))
    assert error.line


def test_no_statement_or_expression_is_forgotten():
    """Every kind there is, is either allowed or among those the page calls left out."""
    refused = {node.__name__ for text in TREES for node in kinds(text)}
    assert set(LEFT_OUT) <= refused
    deprecated = {"AugLoad", "AugStore", "Param", "Suite", "Index", "ExtSlice"}
    inside_async = {"AsyncFor", "AsyncWith"}
    newer = {"TypeAlias", "TemplateStr", "Interpolation"}
    bases = {base for group in (ast.stmt, ast.expr) for base in group.__subclasses__()}
    missing = {kind.__name__ for kind in bases - ALLOWED} - refused
    assert missing <= deprecated | inside_async | newer


TREES = [text for text in language.LEFT_OUT.values() if not text.startswith("%")]


def test_limits_are_those_the_programs_meet():
    """One of them reached from each side: the text, the run, a tensor."""
    most = dict(language.LIMITS)
    length = most["Length of a program, in characters"]
    assert run("#" * length).error is None
    assert f"{length + 1:,} characters" in run("#" * (length + 1)).error.message
    elements = most["Elements of a tensor"]
    stopped = run(f"import torch\nx = torch.zeros({elements + 1})")
    assert f"the limit is {elements:,}" in stopped.error.message
