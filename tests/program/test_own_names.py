"""A program finds the names that it would find in plain Python, and no others; and torch is only
what lies in torch's folder."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
import torch

from explorer.trace import run

PROGRAM = """\
def make(a, b):
    return a + b

def build(a, b=3):
    for _ in range(2):
        pass
    return make(**locals()) if not locals().pop("_", 1) else sorted(locals())

class Config:
    def __init__(self, a, b):
        for i in range(2):
            while True:
                break
        self.__dict__.update(locals())

def generate():
    for i in range(2):
        yield sorted(locals()), dir(), sorted(vars())

def finish(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value

async def wait():
    async for i in each():
        pass
    return sorted(locals())

async def each():
    yield 1

class Table:
    for size in range(2):
        double = 2 * size
    names = sorted(locals())

def recurse(n):
    for i in range(n):
        recurse(n - 1)
    return sorted(locals())

print(build(1), sorted(vars(Config(1, 2))), list(generate()), finish(wait()))
print(Table.names, recurse(3), make(**{"a": 1, "b": 2}))
for turn in range(2):
    print(sorted(name for name in globals() if name[:2] != "__"))
print(type(__builtins__), __builtins__.len("ab"))
"""


def test_names_are_those_of_plain_python(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(PROGRAM, "program.py", "exec"), {"__builtins__": sys.modules["builtins"]})
    expected = capsys.readouterr().out
    trace = run(PROGRAM)
    assert trace.error is None
    assert trace.output == expected


@pytest.mark.parametrize("folder", ["torchtrainer", "torch_trainer"])
def test_a_library_whose_name_begins_with_torch_is_not_torch(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def train(loss, optimizer):\n    loss.backward()\n    optimizer.step()\n"
    module = types.ModuleType(folder)
    file = Path(torch.__file__).parent.parent / folder / "__init__.py"
    exec(compile(text, str(file), "exec"), vars(module))
    monkeypatch.setitem(sys.modules, folder, module)
    trace = run(
        f"import torch\nimport {folder}\nw = torch.tensor(1.0, requires_grad=True)\n"
        f"optimizer = torch.optim.SGD([w], lr=0.1)\n{folder}.train(w + w, optimizer)\n"
    )
    (shown,) = trace.passes
    assert (shown.line, shown.ours) == (5, False)
    assert trace.variables["w"].grad == 2
    assert [event.kind for event in trace.events] == ["backward", "step"]


def test_a_compiled_function_has_its_lines() -> None:
    trace = run(
        "import torch\n@torch.compile\ndef double(x):\n    y = 2 * x\n    return y\n"
        "x = torch.ones(2, requires_grad=True)\ndouble(x).sum().backward()\n"
    )
    assert ("double.y_1", 4) in [(record.name, record.line) for record in trace.tensors]
