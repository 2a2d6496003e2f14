"""Tables and pictures of a model, in place of torchsummary, torchinfo, torchviz and torchview."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.progress_bars import write
from explorer.language.vocabulary.sizes import check_bytes, product
from explorer.language.vocabulary.stand_in import StandIn

#: Most rows of a table, and most inputs of a model.
_MOST_ROWS, _MOST_INPUTS = 400, 16
_NAME, _SHAPE = 42, 26


class Dot(StandIn):
    """A picture of a graph: the page draws it, so its methods do nothing."""

    writable: ClassVar[frozenset[str]] = frozenset(["format", "filename", "directory", "engine"])

    def __init__(self) -> None:
        self.format, self.filename, self.directory, self.engine = "pdf", "", "", "dot"
        self.source = "digraph {}"

    def render(self, *args: Any, **options: Any) -> str:
        return ""

    def view(self, *args: Any, **options: Any) -> str:
        return ""

    def save(self, *args: Any, **options: Any) -> str:
        return ""

    def attr(self, *args: Any, **options: Any) -> None:
        """Of no effect."""

    @property
    def visual_graph(self) -> Dot:
        return self

    def resize_graph(self, *args: Any, **options: Any) -> None:
        """Of no effect."""

    def __repr__(self) -> str:
        return "<the graph on this page>"


class Digraph(Dot):
    """A drawing that a program makes with graphviz: it is not shown."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.graph_attr: dict[str, Any] = {}
        self.node_attr: dict[str, Any] = {}
        self.edge_attr: dict[str, Any] = {}
        notice("Drawings made with graphviz are not shown; this page draws the graph of autograd.")

    def node(self, *args: Any, **options: Any) -> None:
        """Of no effect."""

    def edge(self, *args: Any, **options: Any) -> None:
        """Of no effect."""

    def edges(self, *args: Any, **options: Any) -> None:
        """Of no effect."""

    def __repr__(self) -> str:
        return "<a drawing made with graphviz>"


def make_dot(var: Any = None, params: Any = None, *args: Any, **options: Any) -> Dot:
    """The graph that this page draws."""
    notice("This page draws the graph; nothing else is drawn or written to a file.")
    return Dot()


def draw_graph(*args: Any, **options: Any) -> Dot:
    """The graph that this page draws."""
    return make_dot()


class ModelTable(StandIn):
    """What torchinfo's `summary` returns."""

    def __init__(self, text: str, total: int, trainable: int) -> None:
        self._text = text
        self.total_params, self.trainable_params = total, trainable

    def __repr__(self) -> str:
        return self._text


def summarize(
    model: Any, input_size: Any = None, *args: Any, input_data: Any = None, **options: Any
) -> ModelTable:
    """torchinfo's `summary`: prints a table of the layers, their results and parameters."""
    inputs = _given(input_data) if input_data is not None else []
    if input_data is None and input_size is not None:
        inputs = [torch.rand(*size) for size in _sizes(input_size)]
    table = _table(model, inputs)
    if options.get("verbose") != 0:
        write(repr(table))
    return table


def summarize_batch(
    model: Any, input_size: Any = None, batch_size: Any = -1, device: Any = None, **options: Any
) -> None:
    """torchsummary's `summary`: the same; the sizes of inputs have no batch dimension."""
    sizes = [] if input_size is None else _sizes(input_size)
    write(repr(_table(model, [torch.rand(2, *size) for size in sizes])))


def _given(data: Any) -> list[Any]:
    inputs = list(data) if type(data) in (list, tuple) else [data]
    if len(inputs) > _MOST_INPUTS or not all(isinstance(x, torch.Tensor) for x in inputs):
        raise OutsideLanguage("input_data is a tensor, or a list of tensors.")
    return inputs


def _sizes(given: Any) -> list[tuple[int, ...]]:
    """The shapes of all inputs."""
    is_list = type(given) in (list, tuple) and all(isinstance(s, tuple | list) for s in given)
    sizes = [tuple(size) for size in given] if is_list and given else [given]
    if len(sizes) > _MOST_INPUTS:
        raise OutsideLanguage(f"A table is made for at most {_MOST_INPUTS} inputs.")
    for size in sizes:
        if not isinstance(size, tuple | list) or not all(isinstance(n, int) for n in size):
            raise OutsideLanguage("input_size is a tuple of whole numbers, or a list of tuples.")
        check_bytes(2 * product(*size), 4)
    return [tuple(size) for size in sizes]


def _table(model: Any, inputs: list[Any]) -> ModelTable:
    if not isinstance(model, nn.Module):
        raise OutsideLanguage("summary needs a model: an nn.Module.")
    shapes = _output_shapes(model, inputs) if inputs else {}
    rows = []
    for name, module in _walk(model):
        parameters = sum(p.numel() for p in module.parameters(recurse=False))
        shape = shapes.get(id(module), "--")
        rows.append(f"{name:<{_NAME}}{shape:<{_SHAPE}}{f'{parameters:,}' if parameters else '--'}")
        if len(rows) == _MOST_ROWS:
            rows.append("…")
            break
    whole = list(model.parameters())
    total = sum(p.numel() for p in whole)
    trainable = sum(p.numel() for p in whole if p.requires_grad)
    line = "=" * (_NAME + _SHAPE + 16)
    text = [
        line, f"{'Layer (type:depth-idx)':<{_NAME}}{'Output Shape':<{_SHAPE}}Param #", line,
        *rows, line,
        f"Total params: {total:,}", f"Trainable params: {trainable:,}",
        f"Non-trainable params: {total - trainable:,}", line,
    ]  # fmt: skip
    return ModelTable("\n".join(text), total, trainable)


def _walk(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The modules in order, each with its row's name."""
    counts: dict[int, int] = {}
    waiting, seen = [(model, 0)], set()
    while waiting:
        module, depth = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        counts[depth] = counts.get(depth, 0) + 1
        kind = type(module).__name__[:24]
        label = kind if not depth else f"{'│    ' * (depth - 1)}├─{kind}: {depth}-{counts[depth]}"
        yield label[: _NAME - 1], module
        waiting += [(child, depth + 1) for child in reversed(list(module.children()))]


def _output_shapes(model: nn.Module, inputs: list[Any]) -> dict[int, str]:
    """Run the model once without gradients; the shape of what each module returned."""
    shapes: dict[int, str] = {}

    def note(module: nn.Module, args: Any, output: Any) -> None:
        parts = output if isinstance(output, tuple | list) else (output,)
        found = [list(part.shape) for part in parts[:3] if isinstance(part, torch.Tensor)]
        shapes[id(module)] = str(found[0] if len(found) == 1 else found)[: _SHAPE - 1]

    modules = list(model.modules())
    modes = [(module, module.training) for module in modules]
    handles = [module.register_forward_hook(note) for module in modules]
    try:
        for module in modules:
            module.training = False
        with torch.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module.training = training
    return shapes


_TITLE = "Notebooks"
ADDED: dict[str, tuple[str, Any]] = {
    "graphviz.Digraph": (_TITLE, Digraph),
    "graphviz.Graph": (_TITLE, Digraph),
    "torchviz.make_dot": (_TITLE, make_dot),
    "torchviz.make_dot_from_trace": (_TITLE, make_dot),
    "torchview.draw_graph": (_TITLE, draw_graph),
    "torchinfo.summary": (_TITLE, summarize),
    "torchsummary.summary": (_TITLE, summarize_batch),
    "torchsummaryX.summary": (_TITLE, summarize),
}
