"""What a program gets when it imports: a name of ours, never a real module."""

from __future__ import annotations

from typing import Any

from explorer.language import vocabulary


class Namespace:
    """Stands for `torch`, `torch.nn` … in a program. Members come from the vocabulary alone."""

    __slots__ = ("_children", "path")

    def __init__(self, path: str) -> None:
        """Raises OutsideLanguage, with a suggestion, if there is no such namespace."""
        children = vocabulary.children(path)
        if children is None:
            parent, _, name = path.rpartition(".")
            raise vocabulary.refusal(parent, name)
        self.path, self._children = path, children

    def member(self, name: str) -> Any:
        """What `path.name` is. Raises OutsideLanguage, with a suggestion, if there is no such."""
        if name in self._children:
            return self._children[name]
        full = f"{self.path}.{name}"
        if vocabulary.children(full) is not None:
            return Namespace(full)
        raise vocabulary.refusal(self.path, name)

    def __repr__(self) -> str:
        return f"<module '{self.path}'>"
