"""Containers and numbers whose classes a program has written: what they override is not called."""

import pytest

from explorer.trace import run

pytestmark = pytest.mark.fast

OVERRIDDEN = {
    "dict": "class D(dict):\n    def items(self):\n        print('asked')\n"
    "        return super().items()\nd = D(a=1, b=torch.ones(2))\nd['c'] = 3\n",
    "list": "class L(list):\n    def __getitem__(self, i):\n        print('asked')\n"
    "        return super().__getitem__(i)\n    __iter__ = None\nd = L([torch.ones(2), 1])\n",
    "str": "class S(str):\n    def __getitem__(self, i):\n        print('asked')\n"
    "        return 1 / 0\nd = S('text')\n",
    "int": "class N(int):\n    def bit_length(self):\n        print('asked')\n"
    "        return 1 / 0\nd = N(3)\n",
}


@pytest.mark.parametrize("kind", OVERRIDDEN)
def test_what_a_class_overrides_is_not_called(kind: str) -> None:
    trace = run(f"import torch\n{OVERRIDDEN[kind]}print('end')\n")
    assert trace.error is None
    assert trace.output == "end\n"
    assert "d" in trace.variables


def test_an_ordered_dict_keeps_its_order() -> None:
    source = "from collections import OrderedDict\nd = OrderedDict(a=1, b=2)\nd.move_to_end('a')\n"
    assert list(run(source).variables["d"].items()) == [("b", 2), ("a", 1)]
