"""Program text to guarded code: allowed syntax, vocabulary, errors.

`Program` checks and compiles a text, `Environment` runs it and tells a `Watcher` what happens;
`isolated` puts back what a run may change in the process. `reference` lists every name there is.
"""

from explorer.language.errors import (
    OutsideLanguage,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
)
from explorer.language.guard.formatting import without_addresses
from explorer.language.program import PROCESS, Environment, Program, isolated
from explorer.language.reference import Entry, ReferenceGroup, reference
from explorer.language.rewrite import Place
from explorer.language.syntax import line_of, without_prompts
from explorer.language.vocabulary.memory import is_unfilled
from explorer.language.watcher import Watcher

__all__ = [
    "PROCESS",
    "Entry",
    "Environment",
    "OutsideLanguage",
    "Place",
    "Program",
    "ProgramError",
    "ProgramRefused",
    "ProgramStopped",
    "ReferenceGroup",
    "Watcher",
    "is_unfilled",
    "isolated",
    "line_of",
    "reference",
    "without_addresses",
    "without_prompts",
]
