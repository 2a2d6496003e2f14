"""From program text to code that runs as in plain Python, and says what it does.

`Program` compiles a text; a `Run` runs it, and reports to a `Watcher`; `isolated` restores what a
run changes in the process. What differs here from plain Python is in `devices`, `downloads`,
`missing`, `streams` and `figures`.
"""

from explorer.program.errors import LimitError, ProgramError, ProgramRefused, ProgramStopped
from explorer.program.execution import Program, Run
from explorer.program.parsing import line_of, without_prompts
from explorer.program.process_state import TORCH_LOCK, isolated, seed_generators, without_addresses
from explorer.program.rewrite import SourceLocation
from explorer.program.saved_hooks import unpacking_once, without_unpacking
from explorer.program.watcher import Limits, Output, Watcher

__all__ = [
    "TORCH_LOCK",
    "LimitError",
    "Limits",
    "Output",
    "Program",
    "ProgramError",
    "ProgramRefused",
    "ProgramStopped",
    "Run",
    "SourceLocation",
    "Watcher",
    "isolated",
    "line_of",
    "seed_generators",
    "unpacking_once",
    "without_addresses",
    "without_prompts",
    "without_unpacking",
]
