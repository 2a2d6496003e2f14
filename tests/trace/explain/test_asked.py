"""A family names a public question that it answers."""

import re
from pathlib import Path

import pytest

from explorer.trace import explain
from tests.questions.corpus import QUESTIONS

pytestmark = pytest.mark.fast

ASKED = re.compile(r'\nAsked at (\S+)\n"""')
FAMILIES = sorted(Path(explain.__file__).parent.glob("*.py"))


def test_the_question_is_one_that_the_family_answers() -> None:
    answers = {question.url: question.answers for question in QUESTIONS}
    named = 0
    for path in FAMILIES:
        text = path.read_text()
        for url in ASKED.findall(text):
            assert any(f'"{key}"' in text for key in answers[url]), path
            named += 1
    assert named >= 40
