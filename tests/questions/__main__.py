"""Print how many questions the app answers: `python -m tests.questions [topic or name …]`."""

import sys
from collections import Counter

from tests.questions.corpus import HELD_OUT, TOPICS
from tests.questions.judge import VERDICTS, judge
from tests.questions.question import Question


def report(title: str, topics: dict[str, tuple[Question, ...]], wanted: list[str]) -> None:
    counts: dict[str, Counter[str]] = {}
    for topic, questions in topics.items():
        for question in questions:
            if wanted and topic not in wanted and question.name not in wanted:
                continue
            verdict = judge(question)
            counts.setdefault(topic, Counter())[verdict.verdict] += 1
            if verdict.verdict != "answered" or wanted:
                print(f"{verdict.verdict:8}  {topic}: {question.name}: {verdict.missing}")
    if counts:
        print(f"\n{title:12}{''.join(f'{verdict:>10}' for verdict in VERDICTS)}")
        for topic, count in (*counts.items(), ("all", sum(counts.values(), Counter[str]()))):
            print(f"{topic:12}{''.join(f'{count[verdict]:10}' for verdict in VERDICTS)}")
        print()


if __name__ == "__main__":
    report("Questions", TOPICS, sys.argv[1:])
    report("Held out", HELD_OUT, sys.argv[1:])
