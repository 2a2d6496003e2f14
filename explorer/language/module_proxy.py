"""What a program gets when it imports a module: a proxy, never the real module."""

from __future__ import annotations

import sys
from typing import Any

from explorer.language import vocabulary


class ModuleProxy:
    """Represents `torch`, `torch.nn` … in a program. Its members come from the vocabulary alone."""

    __slots__ = ("_members", "path")

    def __init__(self, path: str) -> None:
        """Raises OutsideLanguage, with a suggestion, if there is no such module."""
        members = vocabulary.module_members(path)
        if members is None:
            parent, _, name = path.rpartition(".")
            raise vocabulary.missing_name_error(parent, name)
        self.path, self._members = path, members

    def member(self, name: str) -> Any:
        """The value of `path.name`. Raises OutsideLanguage, with a suggestion, if there is none."""
        if name in self._members:
            return self._members[name]
        if name == "__version__":
            version = getattr(sys.modules.get(self.path), name, None)
            if isinstance(version, str):
                return str(version)
        full = f"{self.path}.{name}"
        if vocabulary.module_members(full) is not None:
            return ModuleProxy(full)
        raise vocabulary.missing_name_error(self.path, name)

    def __repr__(self) -> str:
        return f"<module '{self.path}'>"
