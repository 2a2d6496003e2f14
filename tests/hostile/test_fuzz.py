"""Programs changed at random: what runs ends, and is answered."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer import sandbox
from tests.hostile.corpus import GROUPS
from tests.program.forms import FORMS
from tests.program.programs import PROGRAMS

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


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(changed_programs())
def test_what_runs_ends_and_is_answered(source):
    trace = sandbox.run(source, timeout=0.5)
    if trace.error is not None:
        assert trace.error.message
        line = trace.error.line
        assert line is None or 1 <= line <= source.count("\n") + 2
