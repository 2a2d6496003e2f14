"""Program text to guarded code: allowed syntax, vocabulary, errors."""

from explorer.language.errors import ProgramError, ProgramRefused

__all__ = ["ProgramError", "ProgramRefused"]
