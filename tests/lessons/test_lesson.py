"""Lessons' files: ours are read, what is wrong with one is said, and a link holds a whole one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer import limits
from explorer.lessons import (
    LessonError,
    Seen,
    find_lesson,
    lessons,
    pack,
    parse_lesson,
    to_toml,
    unpack,
)
from explorer.lessons.conditions import CONDITIONS
from explorer.lessons.exercises import factor_exercise, gradient_exercise

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]
FOLDER = Path(explorer.__file__).parent / "lessons"
STEPS = [(name, n, s) for name, each in lessons().items() for n, s in enumerate(each.steps, 1)]

GOOD = """\
title = "One"

[[step]]
title = "Walk"
page = "expression"
program = "x**2"
question = "Where does 2x come from?"
done = { walked = true }
"""


def test_the_first_lesson_is_where_to_start() -> None:
    assert len(lessons()) >= 10
    assert next(iter(lessons())) == "start"


def test_files_are_in_an_order() -> None:
    numbers = sorted(int(file.name.partition("_")[0]) for file in FOLDER.glob("*.toml"))
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("name", lessons())
def test_what_comes_next_is_here(name: str) -> None:
    onward = lessons()[name].onward
    assert onward
    assert all(step.answer for step in lessons()[name].steps)
    assert {each.lesson for each in onward if each.lesson} <= set(lessons())


@pytest.mark.parametrize("name", lessons())
def test_a_lesson_fits_into_a_link(name: str) -> None:
    lesson = lessons()[name]
    word = pack(to_toml(lesson))
    assert len(word) < limits.LINK_PROGRAM
    assert find_lesson(word).steps == lesson.steps
    assert find_lesson(word).title == lesson.title


@pytest.mark.parametrize(("name", "number", "step"), STEPS)
def test_what_a_step_names_is_in_its_program(
    name: str, number: int, step: explorer.lessons.Step
) -> None:
    """No step is done as it opens, and what it asks for can be answered."""
    assert not step.is_done(Seen())
    if step.page != "expression":
        return
    inputs = {k[3:]: float(v) for k, v in step.link.items() if k.startswith("in.")}
    trace = explorer.run(step.program, inputs=inputs)
    assert trace.error is None
    assert not step.is_done(Seen(trace=trace))
    if gradient := step.done.get("predict"):
        exercise = gradient_exercise(trace, gradient.removesuffix(".grad"))
    elif edge := step.done.get("factor"):
        exercise = factor_exercise(trace, edge)
    else:
        return
    assert exercise is not None
    assert step.hint is None or step.hint <= len(trace.passes[-1].steps)
    assert "predict" in step.done or exercise.edge


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "One"', "", "a.toml: it has no title."),
        ('title = "One"', 'titel = "One"', "a.toml: it has an unknown key 'titel'"),
        ('title = "One"', "title = 1", "a.toml: title is not a text."),
        ('title = "One"', "title = ", "a.toml is not TOML:"),
        ("[[step]]", "[[steps]]", "unknown key 'steps'"),
        (
            'page = "expression"',
            'pgae = "expression"',
            "a.toml, step 1: it has an unknown key 'pgae'",
        ),
        ('page = "expression"', 'page = "home"', "a.toml, step 1: page cannot be 'home'"),
        ('page = "expression"', 'page = "network"', "a.toml, step 1: the page network opens with"),
        ('program = "x**2"', "", "a.toml, step 1: the page expression needs a program."),
        ('program = "x**2"', 'program = "x**"', "a.toml, step 1: Python cannot read this program."),
        ("walked = true", "walkd = true", "a.toml, step 1: done cannot be 'walkd'; it is one of"),
        ("walked = true", "walked = 3", "a.toml, step 1: walked needs true, not 3."),
        ("walked = true", "diverged = true", "diverged can be done on optimizer, not expression"),
        ("{ walked = true }", "{}", 'a.toml, step 1: it has no "done"'),
        ("walked = true", 'moved = "y"', "its program has no input y"),
        ("walked = true", 'predict = "x"', 'predict needs a gradient, such as "x.grad"'),
        ("walked = true", 'factor = "x"', "factor needs two names"),
        ('question = "Where', 'hint = 1\nquestion = "Where', "has a hint"),
        (
            'question = "Where',
            'link = { lesson = "x" }\nquestion = "Where',
            "a key that no page has",
        ),
        (
            'question = "Where',
            'link = { a = [1] }\nquestion = "Where',
            "neither a text nor a number",
        ),
        (
            'title = "One"',
            'title = "One"\nnext = [{}]',
            "next 1: it has one of lesson, page and read",
        ),
        (
            'title = "One"',
            'title = "One"\nnext = [{ read = "javascript:1", title = "a" }]',
            "https://",
        ),
        (
            "{ walked = true }",
            '{ moved = "x" }\nlink = { "in.x" = "' + "[" * 6000 + '" }',
            "in.x of its link is no number",
        ),
        (
            "{ walked = true }",
            '{ moved = "x" }\nlink = { "in.x" = "' + "1" * 5000 + '" }',
            "in.x of its link is no number",
        ),
        ("walked = true", f"walked = 0x{'f' * 5000}", "a number in it is too long"),
        ("walked = true", f"walked = {'9' * 5000}", "a number in it is too long"),
        ("{ walked = true }", '{ factor = "b -> a" }\nhint = 10001', "from 1 to 10,000"),
        (
            "{ walked = true }",
            f'{{ factor = "b -> a" }}\nhint = 0x{"f" * 5000}',
            "from 1 to 10,000",
        ),
        ('question = "Where', f'link.lr = 0x{"f" * 5000}\nquestion = "Where', "too large a number"),
        ('question = "Where', 'link.lr = inf\nquestion = "Where', "too large a number"),
        ("Where does", "W" * 400, "question is longer than 300 characters"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(LessonError) as error:
        parse_lesson(GOOD.replace(old, new), file="a.toml")
    assert said in str(error.value)


def test_every_step_is_counted() -> None:
    second = GOOD.partition("\n\n")[2].replace("walked", "walkd")
    with pytest.raises(LessonError, match=r"a\.toml, step 2: done"):
        parse_lesson(f"{GOOD}\n{second}", file="a.toml")


DOTS = "a" + ".a" * 40


@pytest.mark.parametrize(
    "text",
    [
        f"{DOTS} = 1",
        f"[{DOTS}]",
        f"[[ {DOTS} ]]",
        f"x = [\n{{ b = 1, {DOTS} = 1 }}]",
        f'x = {{ b = """"""", {DOTS} = 1 }}',
        " . ".join(["'='", r'"\"="'] * 20) + " = 1",
    ],
)
def test_a_key_of_many_parts_is_refused_unread(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tomllib.loads(text)
    monkeypatch.setattr(tomllib, "loads", None)
    with pytest.raises(LessonError, match="too many dots"):
        parse_lesson(text)


@pytest.mark.parametrize("quotes", ["'", "'''", '"', '"""'])
def test_a_program_may_have_as_many_dots(quotes: str) -> None:
    program = f"program = {quotes}x = {DOTS}{quotes}  # {DOTS}\nlink.a = 0.5"
    lesson = parse_lesson(GOOD.replace('program = "x**2"', program))
    assert lesson.steps[0].program == f"x = {DOTS}"


def test_a_link_that_is_no_lesson_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    word = pack("title = 'read once'")
    for _ in range(2):
        with pytest.raises(LessonError, match=r"no \[\[step\]\]"):
            find_lesson(word)
        monkeypatch.setattr("explorer.lessons.lesson.parse_lesson", None)


@pytest.mark.parametrize("text", ["x" * 50_000, "step = 3", "step = [3]", "[" * 5000, "step.a = 1"])
def test_what_is_no_lesson_is_refused(text: str) -> None:
    with pytest.raises(LessonError):
        parse_lesson(text)


@pytest.mark.parametrize(
    "word", ["~", "~!", "~AAAA", "~" + "A" * 60_000, "nothing", "", "../start"]
)
def test_any_word_in_a_link_is_refused(word: str) -> None:
    with pytest.raises(LessonError):
        find_lesson(word)


def test_a_packed_text_cannot_grow() -> None:
    with pytest.raises(LessonError):
        unpack(pack("a" * 50_000_000))


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_written_so_that_it_is_read(title: str, question: str) -> None:
    lesson = parse_lesson(GOOD)
    step = lesson.steps[0]
    program = "a = 1\nb = 'é'"
    changed = explorer.lessons.Step(
        title, step.page, question, program, done=step.done, answer=question
    )
    text = to_toml(explorer.lessons.Lesson("", "One", "", (changed,)))
    read = tomllib.loads(text)["step"][0]
    assert read.get("title", "") == title
    assert read.get("question", "") == read.get("answer", "") == question
    assert read["program"].strip() == changed.program


def test_the_recipe_names_every_condition() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    assert [name for name in CONDITIONS if f"`{name}" not in page] == []
