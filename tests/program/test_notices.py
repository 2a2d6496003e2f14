"""What a run says of things it did in another way."""

from explorer import limits
from explorer.program.notices import Notices, collected_in, notice
from explorer.program.watcher import Watcher


def test_each_sentence_is_said_once_with_its_lines() -> None:
    watcher = Watcher()
    with collected_in(watcher):
        for watcher.line in (7, 3, 3):
            notice("Nothing was saved.")
        watcher.line = 4
        notice("Nothing was loaded.")
    notice("Nobody runs.")
    assert watcher.notices.sentences() == (
        "Nothing was saved (lines 3, 7).",
        "Nothing was loaded (line 4).",
    )


def test_their_number_is_limited() -> None:
    notices = Notices()
    for i in range(limits.MOST_NOTICES + 5):
        for line in range(1, limits.MOST_NOTICE_LINES + 5):
            notices.add(f"Sentence {i}.", line)
    assert len(notices.sentences()) == limits.MOST_NOTICES
    assert notices.sentences()[0] == "Sentence 0 (lines 1, 2, 3, 4, 5, …)."
