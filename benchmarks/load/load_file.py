"""benchmarks/LOAD.md: a section for each scenario; what was not measured again stays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from benchmarks.load import report

FILE = Path(__file__).parent.parent / "LOAD.md"
_HEAD = """\
# Load

Written by `python -m benchmarks.load`; each section says with which command and when. The server \
and the readers share {processors} processors. Each reader has a real Streamlit session without a \
browser (`benchmarks/load/tab.py`), with its cookies and its connecting again, and every answer is \
checked. What happens in the first seconds, while the readers come, is not counted.

{machine}
"""


def write(sections: Mapping[str, str], order: Sequence[str], processors: int, command: str) -> None:
    """Put sections in the place of those with the same titles, in this order."""
    old = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    kept = dict(re.findall(r"^## ([^\n]*)\n\n(.*?)\s*(?=^## |\Z)", old, re.MULTILINE | re.DOTALL))
    stamp = f"`{command}`, {date.today()}."
    kept |= {title: f"{stamp}\n\n{text}" for title, text in sections.items()}
    kept["The mix"] = report.mix()
    text = _HEAD.format(processors=processors, machine=report.machine())
    parts = [f"## {title}\n\n{kept[title]}\n" for title in (*order, "The mix") if title in kept]
    FILE.write_text("\n".join([text, *parts]), encoding="utf-8")
    print(f"Written to {FILE}")
