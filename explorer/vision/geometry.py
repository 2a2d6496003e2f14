"""The window of a convolution or pooling, and the input positions under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

Pair = tuple[int, int]


@dataclass(frozen=True)
class Window:
    """Kernel, stride and dilation (rows, columns), and padding (before and after) of each axis."""

    kernel: Pair
    stride: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)

    @classmethod
    def of(cls, layer: nn.Conv2d) -> Window:
        """The window of a convolution layer."""
        return _window(layer.kernel_size, layer.stride, layer.padding, layer.dilation)

    @classmethod
    def of_convolution(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Window:
        """The window of a call of `torch.conv2d` with these arguments."""
        return _window(weight.shape[2:], stride, padding, dilation)

    @classmethod
    def of_pooling(
        cls,
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        **other: Any,
    ) -> Window:
        """The window of a call of `F.max_pool2d` with these arguments."""
        return _window(kernel_size, stride or kernel_size, padding, dilation)

    @classmethod
    def of_average(
        cls, input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, *other: Any
    ) -> Window:
        """The window of a call of `F.avg_pool2d` with these arguments."""
        return _window(kernel_size, stride or kernel_size, padding, 1)

    @classmethod
    def of_padding(
        cls, input: Tensor, pad: Any, mode: str = "constant", value: float | None = None
    ) -> Window:
        """The window of a call of `F.pad`; `pad` is left, right, top, bottom."""
        left, right, top, bottom = (*pad, 0, 0)[:4]
        return cls((1, 1), padding=((top, bottom), (left, right)))

    def positions(self, row: int, column: int) -> tuple[list[int], list[int]]:
        """The input rows and columns under the window of one output pixel. In the padding they are
        negative, or beyond the last row or column."""
        rows, columns = (
            [stride * at - padding[0] + dilation * tap for tap in range(kernel)]
            for at, kernel, stride, dilation, padding in zip(
                (row, column), self.kernel, self.stride, self.dilation, self.padding, strict=True
            )
        )
        return rows, columns


def _window(kernel: Any, stride: Any, padding: Any, dilation: Any) -> Window:
    kernel, stride, dilation = _pair(kernel), _pair(stride), _pair(dilation)
    if padding == "same":  # an odd total puts the extra one at the end
        whole = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        rows, columns = [(total // 2, total - total // 2) for total in whole]
    else:
        rows, columns = [(p, p) for p in _pair(0 if padding == "valid" else padding)]
    return Window(kernel, stride, (rows, columns), dilation)


def _pair(value: Any) -> Pair:
    if isinstance(value, int):
        return value, value
    return int(value[0]), int(value[-1])  # some callers give a list of one
