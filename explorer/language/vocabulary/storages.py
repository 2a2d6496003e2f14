"""What `tensor.storage()` gives a program: a copy of the numbers, never the memory itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.stand_in import StandIn


class Storage(StandIn):
    """A copy of the numbers that a tensor keeps in memory, in their order there."""

    def __init__(self, tensor: torch.Tensor) -> None:
        with torch._C.DisableTorchFunction(), torch.no_grad():
            whole = tensor if tensor._base is None else tensor._base
            if whole.numel() * whole.element_size() != whole.untyped_storage().nbytes():
                raise OutsideLanguage(
                    "The storage of this tensor has other numbers than its own.",
                    "Use .tolist() of the tensor.",
                )
            self._numbers = torch.as_strided(whole.detach(), (whole.numel(),), (1,), 0).clone()

    def tolist(self) -> list[Any]:
        with torch._C.DisableTorchFunction():
            return self._numbers.tolist()

    def size(self) -> int:
        return len(self)

    def __len__(self) -> int:
        return self._numbers.numel()

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        lines = [f" {number}" for number in self.tolist()[:1000]]
        kind = f"dtype={self._numbers.dtype}, device=cpu"
        return "\n".join([*lines, f"[torch.storage.TypedStorage({kind}) of size {len(self)}]"])
