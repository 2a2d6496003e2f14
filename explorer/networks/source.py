"""The text of a preset, taken from the code that runs."""

from __future__ import annotations

import inspect
import re
import textwrap
from functools import cache, lru_cache
from typing import Any

from explorer.language.tree import PARSING

#: What a text that mentions the pattern has to import (the empty pattern: always; the loss that
#: follows the source will want `F`).
IMPORTS = (
    (r"\bmath\.", "import math\n"),
    (r"\bAny\b", "from typing import Any\n"),
    (r"", "import torch"),
    (r"\bTensor\b", "from torch import Tensor"),
    (r"\bnn\.", "from torch import nn"),
    (r"", "from torch.nn import functional as F"),
)


@lru_cache(256)
def source_of(*objects: Any, end: str) -> str:
    """A script that defines these classes and functions and then runs the lines of `end`.

    The objects may use torch, nn, Tensor, F, math and Any by these names, and one another.
    """
    body = "\n\n\n".join([*map(_definition, objects), end.strip()])
    head = [line for pattern, line in IMPORTS if re.search(pattern, body)]
    return "\n".join(head) + "\n\n\n" + body + "\n"


@cache
def _definition(item: Any) -> str:
    with PARSING:  # a class is found by parsing its file
        return textwrap.dedent(inspect.getsource(item)).strip()
