"""A network with its data and loss as a few lines of text: they are run, and they are the script.

`module_problem` makes one whose loss is that of all its inputs, `sampled_problem` one whose samples
can be passed one by one. The lines may use the classes and functions that the script defines or
imports, and torch, nn, Tensor, F, math and Any by these names.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.program.execution import run_own_lines
from explorer.program.parsing import get_source
from explorer.training.problem import ModuleProblem as ModuleProblem
from explorer.training.problem import Network as Network

#: The imports of a script that mentions the pattern (the empty pattern: always; the loss that
#: follows the source may use `F`).
_IMPORTS = (
    (r"\bmath\.", "import math\n"),
    (r"\bAny\b", "from typing import Any\n"),
    (r"", "import torch"),
    (r"\bTensor\b", "from torch import Tensor"),
    (r"\bnn\.", "from torch import nn"),
    (r"", "from torch.nn import functional as F"),
)
_NAMES = {"math": math, "Any": Any, "torch": torch, "Tensor": Tensor, "nn": nn, "F": F}


@lru_cache(256)
def source_of(*defines: Any, end: str, imports: Sequence[Any] = ()) -> str:
    """A script that imports and defines these classes and functions and then runs the lines of
    `end`. What is defined may use one another. An import that is text is the name of a module."""
    body = "\n\n\n".join([*map(_definition, defines), end.strip()])
    lines = [
        f"import {item}"
        if isinstance(item, str)
        else f"from {item.__module__} import {_name(item)}"
        for item in imports
    ]
    lines += [line for pattern, line in _IMPORTS if re.search(pattern, body)]
    return "\n".join(lines) + "\n\n\n" + body + "\n"


@cache
def _definition(item: Any) -> str:
    return textwrap.dedent(get_source(item)).strip()


def _name(item: Any) -> str:
    name: str = item.__name__
    return name


class Samples(NamedTuple):
    """A network with `n` samples: `inputs[i]` and `targets[i]` belong together.

    `criterion(output, targets)` is the scalar loss of a batch.
    """

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    criterion: Callable[[Tensor, Tensor], Tensor]

    def first(self, batch: int) -> Network:
        """The network on the first samples alone."""
        few = self.targets[:batch]
        return Network(
            self.model, (self.inputs[:batch],), lambda output: self.criterion(output, few)
        )


@dataclass(frozen=True)
class SampledProblem(ModuleProblem):
    """A `ModuleProblem` whose loss is that of the first `batch` samples of `collect()`.

    `tokens` names the positions of one sample, where it is a sequence.
    """

    collect: Callable[[], Samples] = field(kw_only=True)
    batch: int = 1
    tokens: Callable[[Tensor], tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Script:
    """`data` are the lines that assign `net` and what the loss mentions; `provide` gives names that
    take long to import."""

    data: str
    defines: tuple[Any, ...] = ()
    imports: tuple[Any, ...] = ()
    provide: Callable[[], Mapping[str, Any]] = dict

    @property
    def source(self) -> str:
        return source_of(*self.defines, end=self.data, imports=self.imports)

    def run(self, criterion: str) -> dict[str, Any]:
        """The names after the lines were run; `criterion` is a function, as text."""
        given = [item for item in (*self.defines, *self.imports) if not isinstance(item, str)]
        names = {**_NAMES, **{_name(item): item for item in given}, **self.provide()}
        run_own_lines(f"{self.data}\ncriterion = {criterion}", names)
        return names


def module_problem(
    name: str, title: str, script: Script, *, inputs: str, loss: str, note: str = ""
) -> ModuleProblem:
    """A problem whose loss is that of all inputs, whose name in the script is `inputs`; in the text
    `loss`, `{}` is the output of the network."""

    def make() -> Network:
        names = script.run(f"lambda output: {loss.format('output')}")
        return Network(names["net"], (names[inputs],), names["criterion"])

    text = f"loss = {loss.format(f'net({inputs})')}"
    return ModuleProblem(name, title, make, script.source, text, note=note)


def sampled_problem(
    name: str,
    title: str,
    script: Script,
    *,
    inputs: str,
    targets: str,
    loss: str,
    batch: int = 1,
    note: str = "",
    tokens: Callable[[Tensor], tuple[str, ...]] | None = None,
) -> SampledProblem:
    """A problem whose loss is that of the first `batch` samples. `inputs` and `targets` are their
    names in the script; `loss` is the name of a function of output and targets."""

    def collect() -> Samples:
        names = script.run(loss)
        return Samples(names["net"], names[inputs], names[targets], names["criterion"])

    return SampledProblem(
        name,
        title,
        lambda: collect().first(batch),
        script.source,
        f"loss = {loss}(net({inputs}[:{batch}]), {targets}[:{batch}])",
        note=note,
        collect=collect,
        batch=batch,
        tokens=tokens,
    )
