"""Imports of what is not here: silent until they are used."""

import pytest

from explorer.trace import run
from tests.program.compare import ours, plain, refusal

pytestmark = pytest.mark.fast

UNUSED = (
    "import torch\nimport nowhere as pd\nfrom d2l import torch as d2l\n"
    "import sklearn_missing.a as s\n"
    "from torch import no_such_name\nstored = [pd, d2l.Animator]\n"
    "print(isinstance(2, pd.DataFrame), pd is None, bool(pd), pd == d2l, {pd: 1}[pd])\n"
)
#: After `import torch`, `import numpy as np` and `from absent import thing, Base` on lines 1 to 3.
USES = {
    "call": "thing(2)",
    "call of an attribute": "thing.a.b(2)",
    "decorator": "@thing\ndef f(): pass",
    "operator": "thing + 1",
    "reflected operator": "1 * thing",
    "augmented": "thing += 1",
    "augmented attribute": "thing.n += 1",
    "tensor first": "torch.ones(2) * thing",
    "comparison": "thing < 2",
    "negative": "-thing",
    "iteration": "for x in thing: pass",
    "unpacking": "a, b = thing",
    "star": "print(*thing)",
    "in": "2 in thing",
    "len": "len(thing)",
    "int": "int(thing)",
    "float": "float(thing)",
    "index": "[1, 2][thing]",
    "with": "with thing as t: pass",
    "subclass": "class A(Base): pass",
    "subclass of an attribute": "class A(thing.Base): pass",
    "torch function": "torch.add(torch.ones(2), thing)",
    "torch function of a list": "torch.stack([thing])",
    "tensor of it": "torch.tensor([thing])",
    "array of it": "np.array([thing])",
    "array operator": "np.ones(2) + thing",
    "map": "list(map(thing, [1]))",
    "sorted": "sorted([1, 2], key=thing)",
    "item, then call": "thing['a'](2)",
}
#: The same, for what changes nothing and gives nothing.
HARMLESS = {
    "deepcopy": "import copy\nb = copy.deepcopy({'a': [thing]})\nprint(b['a'][0] is thing)",
    "chain": "x = thing\nfor i in range(5000):\n    x = x.name\nprint(len(str(x)) < 200)",
    "text": "print(f'{thing}', '%s' % thing, '{}'.format(thing), str([thing]).count('thing') == 1)",
    "set": "thing.a = 1\nthing['b'] = 2\ndel thing.a\nprint(thing.a == 1)",
    "getattr": "print(getattr(thing, 'a', 0) == 0, hasattr(thing, 'b'))",
    "type": "print(type(thing) == type(Base), isinstance(thing, type(thing)))",
    "module attribute": (
        "m = torch.nn.Linear(1, 1)\nm.x = thing\nprint(m.x is thing, len(list(m.parameters())))"
    ),
    "annotation": "def f(x: thing.T, y: 'Base') -> thing: return x\nz: thing = f(1, 2)\nprint(z)",
    "subscript": "Batch = thing[int, 'b']\ndef f(x: Batch): return x\nprint(f(2))",
}


def program(body: str) -> str:
    return f"import torch\nimport numpy as np\nfrom absent import thing, Base\n{body}\n"


def test_what_is_imported_and_not_used_is_named_once() -> None:
    trace = run(UNUSED)
    assert trace.error is None
    assert trace.output == "False False True False 1\n"
    assert trace.notices == (
        "nowhere, d2l, sklearn_missing and torch.no_such_name are not available here; "
        "the program did not use them.",
    )


def test_one_unused_import() -> None:
    assert run("import nowhere as pd\nx = 2").notices == (
        "nowhere is not available here; the program did not use it.",
    )


@pytest.mark.parametrize("use", USES)
def test_a_use_is_refused_at_its_line(use: str) -> None:
    error = refusal(program(USES[use]))
    assert "not available here (imported on line 3)" in error.message
    assert error.line == 4
    assert "absent" in error.message


@pytest.mark.parametrize("use", HARMLESS)
def test_what_is_no_use_goes_on(use: str) -> None:
    output, _ = ours(program(HARMLESS[use]))
    assert "0x" not in output
    assert "object" not in output
    assert output.strip()


@pytest.mark.parametrize("kind", ["ImportError", "ModuleNotFoundError", "Exception", ""])
@pytest.mark.parametrize("line", ["import absent", "from absent import a", "import absent.b as c"])
def test_a_try_around_an_import_is_told(kind: str, line: str) -> None:
    named = f" {kind} as e" if kind else ""
    text = "e, type(e).__name__, isinstance(e, ImportError)" if kind else "1"
    source = f"try:\n    {line}\n    print('here')\nexcept{named}:\n    print({text})\n"
    assert ours(source)[0] == plain(source)[0]


@pytest.mark.parametrize(
    "asks",
    [
        "def load():\n    import absent\ntry:\n    load()\nexcept ImportError:\n    print('no')",
        "from contextlib import suppress\nfound = 'no'\nwith suppress(ImportError):\n"
        "    import absent\n    found = 'yes'\nprint(found)",
        "errors = ImportError, OSError\ntry:\n    import absent\nexcept errors:\n    print('no')",
    ],
)
def test_an_import_that_something_may_ask_for_fails_at_once(asks: str) -> None:
    assert ours(asks)[0] == "no\n"


def test_other_handlers_do_not_ask_for_the_import() -> None:
    output, _ = ours("try:\n    import absent\n    print(1)\nexcept ValueError:\n    print(2)")
    assert output == "1\n"


def test_a_refused_use_is_an_import_error() -> None:
    source = "import absent\ntry:\n    absent.f()\nexcept ImportError as e:\n    print(e)"
    trace = run(source)
    assert trace.output == "No module named 'absent'\n"
    assert trace.notices == ()


def test_a_missing_part_of_a_module_that_is_here() -> None:
    output, _ = ours("import torch.no_such_part\nprint(torch.ones(1))")
    assert output == "tensor([1.])\n"
    error = refusal("import torch.nn.functionl as F\n\nF.relu(2)")
    assert (error.line, error.hint) == (3, "Did you mean torch.nn.functional?")
    error = refusal("from torch import sigmoud\nsigmoud(2)")
    assert (error.line, error.hint) == (2, "Did you mean torch.sigmoid?")
