"""The parts of a report on a network: plain data, arrays as numpy, no live tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from explorer.networks.statistics import Statistics

Shape = tuple[int, ...]

#: A layer's input or output: one tensor's shape, or one shape for each of several tensors.
Shapes = Shape | tuple[Shape, ...]


@dataclass(frozen=True)
class LayerRecord:
    """One call of one layer. Rows are in the order the layers were entered.

    A layer is a module without children. A module with children has a row only when it does work
    of its own (`nn.MultiheadAttention` multiplies with weights it never calls a child for) or
    holds parameters itself; the row then counts only what no child's row counts, so that columns
    add up to the totals. Such a row has `leaf` False.

    `name` is the module's own ("layer1.0.conv1"; "" for the model itself) and `call` counts its
    calls from 0. A module that holds parameters but was never called has one row at the end, with
    `call` None and no shapes.

    `params` are the elements of its parameters that no earlier row has counted, `shared` those
    an earlier row has (a second call, tied weights). `macs` are multiply-adds of one forward
    pass, without biases; None means "not counted": no operation the counter knows took place.
    `memory` is the number of bytes its output takes.

    `activation` describes the output, `gradient` the gradient of the loss with respect to it; of
    several tensors, the first floating-point one. `why_none` says why there is no gradient.
    `training` is the module's mode; `saturated` the part of a sigmoid's or tanh's outputs where its
    derivative is almost 0.
    """

    name: str
    call: int | None
    type: str
    input_shape: Shapes | None
    output_shape: Shapes | None
    params: int
    shared: int
    macs: int | None
    memory: int
    leaf: bool = True
    activation: Statistics | None = None
    gradient: Statistics | None = None
    why_none: str = ""
    training: bool | None = None
    saturated: float | None = None

    @property
    def dead(self) -> int | None:
        """Units whose output is exactly 0 for every sample and position; None if not known."""
        return None if self.activation is None else self.activation.dead


@dataclass(frozen=True)
class ParameterRecord:
    """One parameter; tied ones appear once, under their first name, the others in `aliases`.

    `norm`, `mean` and `std` describe its value, `grad_norm` is the Euclidean norm of its gradient:
    NaN or infinite if an element is, None without a gradient, for which `why_none` gives the
    reason. All are None on meta, and `std`, which `Tensor.std` gives too, of a single element.
    """

    name: str
    layer: str
    shape: Shape
    numel: int
    dtype: str
    trainable: bool
    aliases: tuple[str, ...] = ()
    norm: float | None = None
    mean: float | None = None
    std: float | None = None
    grad_norm: float | None = None
    why_none: str = ""


@dataclass(frozen=True)
class Memory:
    """In MB of 2**20 bytes, as pytorch-summary (https://github.com/sksq96/pytorch-summary) prints
    it, for the batch that was really passed.

    `forward_backward` counts the output of every module call twice, once for its gradient:
    blocks too, but neither `nn.Sequential` and `nn.ModuleList` nor the model itself.
    """

    input: float
    forward_backward: float
    parameters: float

    @property
    def total(self) -> float:
        return self.input + self.forward_backward + self.parameters


@dataclass(frozen=True)
class LayerError:
    """Why a run stopped. `layer` is where ("" for the model's own code, None for the loss)."""

    message: str
    layer: str | None
    call: int | None = None
    hint: str = ""
    detail: str = ""


@dataclass(frozen=True)
class ModuleCall:
    """One call of any module, block or layer; calls are in the order they began.

    `parent` is a position in that order. `macs` counts everything inside, children included.
    """

    name: str
    call: int
    type: str
    parent: int | None
    macs: int | None
    output_shape: Shapes | None


@dataclass(frozen=True)
class Operation:
    """A node of the autograd graph: the innermost call it belongs to (None for the loss computed
    after the model), and for an accumulating node the parameter's name."""

    name: str
    call: int | None
    parameter: str | None = None


@dataclass(frozen=True)
class Structure:
    """The autograd graph, mapped to the modules that made it.

    `edges` are positions in `operations`, in the direction of computation. `params` and `norms`
    give each parameter's size and, where known, the norm of its gradient. After an error there are
    calls alone, up to the failing one.
    """

    calls: tuple[ModuleCall, ...]
    operations: tuple[Operation, ...]
    edges: tuple[tuple[int, int], ...]
    params: Mapping[str, int]
    norms: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What `inspect` measured. After an `error` it holds the layers up to the failing one.

    `total_macs` is the sum over the rows. `loss` is where backward started, and `scalar` what that
    is: the sum of the outputs, where no loss was given. It is None on meta, and when it was not
    reached.
    `gradients` are the parameters' own, by name; `input_gradients` those of inputs that require
    one. Both are empty on meta. `notes` are sentences worth reading.
    """

    model: str
    layers: tuple[LayerRecord, ...]
    parameters: tuple[ParameterRecord, ...]
    total_params: int
    trainable_params: int
    total_macs: int
    memory: Memory
    loss: float | None = None
    scalar: str = "loss"
    structure: Structure | None = None
    gradients: Mapping[str, np.ndarray] = field(default_factory=dict)
    input_gradients: tuple[np.ndarray | None, ...] = ()
    error: LayerError | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line: the arrays of a network would fill a book."""
        ended = f", error: {self.error.message!r}" if self.error else ""
        loss = "" if self.loss is None else f", {self.scalar} {self.loss:.5g}"
        return (
            f"<Report on {self.model}: {len(self.layers)} layers, {self.total_params:,} parameters"
            f", {self.total_macs:,} MACs{loss}{ended}>"
        )

    def _repr_html_(self) -> str:
        """How a notebook shows it, as the last line of a cell."""
        from explorer.view.document.network import report_cell  # it draws what is recorded here

        return report_cell(self)

    def save(self, path: str | Path, *, title: str = "") -> None:
        """Write all of it as one HTML file, which any browser shows, without a server."""
        from explorer.view.document import report_document

        Path(path).write_text(report_document(self, title=title), "utf-8", errors="replace")
