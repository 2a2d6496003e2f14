"""Programs changed at random: what is compiled holds no unguarded access, and what runs ends."""

import dis
import re
import types

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer
from explorer import sandbox
from explorer.language import Program, ProgramRefused
from explorer.language.syntax import SPECIAL_METHODS
from tests.hostile.corpus import GROUPS
from tests.language.forms import FORMS
from tests.language.programs import PROGRAMS

HOSTILE = [program.format(file="x", name="X", port=1) for g in GROUPS.values() for program in g]
BASES = [*FORMS.values(), *PROGRAMS.values(), *(p for p in HOSTILE if len(p) < 2000)]

#: Pieces put in the place of others: ways to name, reach, call, bind and format.
WORDS = r"""
__class__ __globals__ __init__ __dict__ __import__ __builtins__ _modules _ __name__ getattr
setattr type super object open eval print torch nn np os sys import from as global nonlocal
lambda def class yield return for in if else while try except finally with del raise assert is
not and or None True . , : ; ( ) [ ] { } = == += *= **= @= := -> * ** @ % / // << >> | & ^ ~ < >
! # \ ' " f" f' rf" {0.__class__} {x!r:>{y}} %(a)s .＿ ｅval x self data grad backward numpy format
fused compile register_hook apply 0 1 -1 1e9 10**9 2**62 inf
"""
PIECES = [*WORDS.split(), "\n", "\n    ", " ", '"' * 3]

UNGUARDED = {
    "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME",
    "IMPORT_FROM", "IMPORT_STAR", "MATCH_CLASS", "GET_AWAITABLE", "SETUP_ANNOTATIONS",
}  # fmt: skip


@st.composite
def changed_programs(draw: st.DrawFn) -> str:
    """A program with some of its words removed, exchanged, doubled or taken from elsewhere."""
    words = re.findall(r"\w+|\s+|[^\w\s]", draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, max(len(words) - 1, 0)))
        what = draw(st.sampled_from(["exchange", "insert", "remove", "double", "splice"]))
        piece = draw(st.sampled_from(PIECES))
        if what == "exchange":
            words[place : place + 1] = [piece]
        elif what == "insert":
            words.insert(place, piece)
        elif what == "remove":
            del words[place : place + draw(st.integers(1, 3))]
        elif what == "double":
            words[place:place] = words[place : place + draw(st.integers(1, 8))]
        else:
            words.insert(place, draw(st.sampled_from(BASES))[:200])
    return "".join(words)


def instructions(code: types.CodeType) -> set[str]:
    found = {instruction.opname for instruction in dis.get_instructions(code)}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= instructions(constant)
    return found


def names(code: types.CodeType) -> set[str]:
    found = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names(constant)
    return found


#: Names with two underscores that the compiler itself uses, for class bodies and `super()` (the
#: last two since Python 3.13), and `rewrite.statements` for the texts of annotations. No program
#: may write them: see test_the_compilers_names_are_refused.
COMPILERS = {
    "__module__", "__qualname__", "__class__", "__classcell__", "__name__", "__doc__",
    "__annotations__",
    "__firstlineno__", "__static_attributes__",
}  # fmt: skip


def check(source: str) -> None:
    """Compiled code reaches attributes and modules through the guard alone."""
    try:
        program = Program(source)
    except ProgramRefused:
        return
    assert not instructions(program.code) & UNGUARDED
    special = {n for n in names(program.code) if n.startswith("__")}
    assert special <= SPECIAL_METHODS | COMPILERS


@pytest.mark.fast
@pytest.mark.parametrize("bases", ["forms", "hostile"])
def test_unchanged(bases):
    for source in [*FORMS.values(), *PROGRAMS.values()] if bases == "forms" else HOSTILE:
        check(source)


@pytest.mark.parametrize(
    "name", ["__firstlineno__", "__static_attributes__", "__module__", "__annotations__"]
)
@pytest.mark.parametrize(
    "use",
    [
        "class C:\n    {} = 1",
        "class C:\n    def {}(self):\n        pass",
        "class C:\n    pass\nC.{} = 1",
        "class C:\n    pass\nprint(C.{})",
        "class C:\n    pass\nprint(getattr(C, '{}'))",
        "class C:\n    pass\nsetattr(C, '{}', 1)",
    ],
)
def test_the_compilers_names_are_refused(name, use):
    assert explorer.run(use.format(name)).error is not None


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(changed_programs())
def test_what_is_compiled_is_guarded(source):
    check(source)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(changed_programs())
def test_what_runs_ends_and_is_answered(source):
    trace = sandbox.run(source, timeout=0.5)
    if trace.error is not None:
        assert trace.error.message
        line = trace.error.line
        assert line is None or 1 <= line <= source.count("\n") + 2
