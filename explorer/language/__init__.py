"""From program text to guarded code: allowed syntax, vocabulary, errors.

`Program` checks and compiles a text; `Environment` runs it and reports to a `Watcher`; `isolated`
restores what a run may change in the process. `reference` lists every supported name.
"""

from explorer.language.errors import (
    OutsideLanguage,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
)
from explorer.language.guard.formatting import without_addresses
from explorer.language.program import TORCH_LOCK, Environment, Program, isolated, seed_generators
from explorer.language.reference import Entry, ReferenceGroup, reference
from explorer.language.rewrite import SourceLocation
from explorer.language.syntax import line_of, without_prompts
from explorer.language.vocabulary.memory_safety import is_uninitialised, restrict_torch
from explorer.language.vocabulary.sizes import check_bytes, limit_bytes
from explorer.language.watcher import Output, Watcher

__all__ = [
    "TORCH_LOCK",
    "Entry",
    "Environment",
    "Output",
    "OutsideLanguage",
    "Program",
    "ProgramError",
    "ProgramRefused",
    "ProgramStopped",
    "ReferenceGroup",
    "SourceLocation",
    "Watcher",
    "check_bytes",
    "is_uninitialised",
    "isolated",
    "limit_bytes",
    "line_of",
    "reference",
    "restrict_torch",
    "seed_generators",
    "without_addresses",
    "without_prompts",
]
