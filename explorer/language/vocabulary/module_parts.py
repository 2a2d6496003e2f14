"""`module._modules`, which older layers of one's own use as a dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from explorer.language.vocabulary.stand_in import StandIn


class ModuleParts(StandIn):
    """The submodules of a module by name; assigning one registers it, as `add_module` does."""

    def __init__(self, module: nn.Module) -> None:
        self._owner = module

    def _parts(self) -> dict[str, nn.Module | None]:
        return dict(self._owner.__dict__["_modules"])

    def __getitem__(self, name: Any) -> nn.Module | None:
        return self._parts()[name]

    def __setitem__(self, name: Any, part: Any) -> None:
        nn.Module.add_module(self._owner, name, part)

    def __contains__(self, name: Any) -> bool:
        return name in self._parts()

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts())

    def __len__(self) -> int:
        return len(self._parts())

    def keys(self) -> list[str]:
        return list(self._parts())

    def values(self) -> list[nn.Module | None]:
        return list(self._parts().values())

    def items(self) -> list[tuple[str, nn.Module | None]]:
        return list(self._parts().items())
