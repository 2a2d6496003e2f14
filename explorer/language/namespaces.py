"""What a program gets when it imports: a name of ours, never a real module."""

from __future__ import annotations

from typing import Any

from explorer.language import vocabulary


class Namespace:
    """Stands for `torch`, `torch.nn` … in a program. Members come from the vocabulary alone."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def member(self, name: str) -> Any:
        """What `path.name` is. Raises OutsideLanguage with a suggestion if there is no such."""
        full = f"{self.path}.{name}"
        if vocabulary.exists(full):
            return vocabulary.lookup(full)
        if vocabulary.is_namespace(full):
            return Namespace(full)
        raise vocabulary.refusal(self.path, name)

    def __repr__(self) -> str:
        return f"<module '{self.path}'>"


def namespace(path: str) -> Namespace:
    """The namespace a program imports as `path`. Raises OutsideLanguage if there is none."""
    if vocabulary.is_namespace(path):
        return Namespace(path)
    parent, _, name = path.rpartition(".")
    raise vocabulary.refusal(parent, name)
