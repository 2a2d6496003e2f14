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
from explorer.language.parsing import without_prompts
from explorer.language.program import TORCH_LOCK, Environment, Program, isolated, seed_generators
from explorer.language.reference import Entry, ReferenceGroup, reference
from explorer.language.rewrite import SourceLocation
from explorer.language.syntax import line_of
from explorer.language.vocabulary.forward_mode import tangent_of
from explorer.language.vocabulary.gradient_edges import GradientEdge, real_edge
from explorer.language.vocabulary.lazy_layers import has_no_shape
from explorer.language.vocabulary.memory_safety import is_uninitialised, restrict_torch
from explorer.language.vocabulary.saved_hooks import unpacking_once, without_unpacking
from explorer.language.vocabulary.sizes import check_bytes, limit_bytes
from explorer.language.watcher import Output, Watcher

__all__ = [
    "TORCH_LOCK",
    "Entry",
    "Environment",
    "GradientEdge",
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
    "has_no_shape",
    "is_uninitialised",
    "isolated",
    "limit_bytes",
    "line_of",
    "real_edge",
    "reference",
    "restrict_torch",
    "seed_generators",
    "tangent_of",
    "unpacking_once",
    "without_addresses",
    "without_prompts",
    "without_unpacking",
]
