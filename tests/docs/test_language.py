"""docs/language.md matches the language."""

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


def test_the_page_is_up_to_date():
    assert language.make_page() == PAGE, "run python -m docs.language"


def test_every_name_is_listed_once():
    names = PAGE[PAGE.index("## Names") : PAGE.index("## Unsupported names")]
    listed_names = Counter()
    for line in names.splitlines():
        owner, _, listed = line.rpartition(": ")
        prefix = f"{owner.strip('`')}." if owner else ""
        if listed.startswith("`"):
            listed_names.update(prefix + name for name in re.findall(r"`([^`]+)`", listed))
    assert set(listed_names.values()) == {1}
    assert set(listed_names) == {entry.name for group in reference() for entry in group.entries}


def test_the_program_with_all_syntax_gives_what_python_gives():
    assert kinds(language.ALL_SYNTAX) == ALLOWED
    assert language.ALL_SYNTAX[language.ALL_SYNTAX.index("import torch") :].rstrip() in PAGE
    trace = run(language.ALL_SYNTAX)
    assert trace.error is None
    assert not trace.passes[0].ours
    compare(language.ALL_SYNTAX)


@pytest.mark.parametrize("shown", language.UNSUPPORTED)
def test_unsupported_syntax_gets_an_error_message(shown):
    error = language.refusal_of(language.UNSUPPORTED[shown])
    assert error.message.endswith((".", "__dict__"))
    assert error.line


def test_every_statement_and_expression_is_on_the_page():
    """Every kind of node is either allowed or listed as unsupported."""
    refused = {node.__name__ for text in TREES for node in kinds(text)}
    assert set(LEFT_OUT) <= refused
    deprecated = {"AugLoad", "AugStore", "Param", "Suite", "Index", "ExtSlice"}
    inside_async = {"AsyncFor", "AsyncWith"}
    newer = {"TypeAlias", "TemplateStr", "Interpolation"}
    bases = {base for group in (ast.stmt, ast.expr) for base in group.__subclasses__()}
    missing = {kind.__name__ for kind in bases - ALLOWED} - refused
    assert missing <= deprecated | inside_async | newer


TREES = [text for text in language.UNSUPPORTED.values() if not text.startswith("%")]


def test_limits_are_enforced():
    """Length, just met and just exceeded, and the size of a tensor, just exceeded."""
    limits = language.LIMITS
    length = limits["Length of a program, in characters"]
    assert run("#" * length).error is None
    assert f"{length + 1:,} characters" in run("#" * (length + 1)).error.message
    most = limits["Size of a tensor, in MB"]
    stopped = run(f"import torch\nx = torch.zeros({most * 2**18 + 1})")
    assert f"a program may use {most:,} MB" in stopped.error.message
