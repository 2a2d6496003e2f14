"""The plain script prints the table of the trace: each is run by Python without the project."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from explorer import trace
from explorer.program import without_addresses
from explorer.trace import Summary, Trace
from explorer.trace.examples import EXAMPLES
from explorer.trace.script import script
from tests.marks import chosen, sample
from tests.trace.programs import PROGRAMS

Rows = dict[tuple[str, int | None], list[tuple[str, str]]]

#: The script numbers and counts otherwise what backward computes again, what gradcheck calls, and
#: the parameters of a lazy layer before they have values.
COUNTED_OTHERWISE = {
    "carried", "checkpoint", "checkpoint_reentrant", "equal_weights", "gradcheck", "lazy",
}  # fmt: skip
CASES = {e.key: e.source for e in EXAMPLES if e.key not in COUNTED_OTHERWISE} | {
    f"program_{name}": source for name, source in PROGRAMS.items()
}
#: Runs many scripts in one process, each in a namespace of its own, with its exit functions.
DRIVER = """\
import atexit, contextlib, io, pathlib, sys, warnings
warnings.simplefilter("ignore")
import torch
ends = []
register = atexit.register
def collect(f, *args):
    return ends.append(f) if f.__name__ == "_print_table" else register(f, *args)
atexit.register = collect
options = dict(vars(torch._tensor_str.PRINT_OPTS))
for path in map(pathlib.Path, sys.argv[1:]):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        with contextlib.suppress(Exception):
            exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
        ends.pop()()
    torch.set_grad_enabled(True)
    vars(torch._tensor_str.PRINT_OPTS).update(options)
    path.with_suffix(".txt").write_text(text.getvalue())
"""


def run_all(folder: Path, sources: dict[str, str]) -> dict[str, str]:
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    driver = folder / "driver"
    driver.write_text(DRIVER)
    paths = [str(folder / f"{name}.py") for name in sources]
    done = subprocess.run(
        [sys.executable, "-I", str(driver), *paths],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: (folder / f"{name}.txt").read_text() for name in sources}


def rows_of(output: str) -> Rows:
    found: Rows = defaultdict(list)
    pattern = r"^(\S.*) \((?:line (\d+)|input)\)\n  value (.*)\n  grad  (.*)$"
    for name, line, value, grad in re.findall(pattern, output, re.MULTILINE):
        found[name, int(line) if line else None].append((value, grad))
    return found


def same(text: str, array: trace.Array | None) -> None:
    """A printed tensor is the recorded one: as numbers, or by mean and norm."""
    if array is None:
        assert text == "None"
        return
    if match := re.search(r"mean (\S+), norm (\S+)$", text):
        is_summary = isinstance(array, Summary)
        mean = array.mean if is_summary else float(array.mean())  # type: ignore[operator]
        norm = array.norm if is_summary else float(np.linalg.norm(array))  # type: ignore[arg-type]
        assert float(match[1]) == pytest.approx(mean, rel=1e-3, abs=1e-5)
        assert float(match[2]) == pytest.approx(norm, rel=1e-3, abs=1e-5)
        return
    numbers = eval(text, {"nan": np.nan, "inf": np.inf, "__builtins__": {}})
    np.testing.assert_allclose(numbers, array, rtol=1e-4, atol=1e-6)


def compare(traced: Trace, output: str) -> int:
    rows = rows_of(output)
    wanted: dict[tuple[str, int | None], list[trace.TensorRecord]] = defaultdict(list)
    for record in traced.tensors:
        if record.named:
            wanted[record.name, record.line].append(record)
    assert set(rows) == set(wanted)
    for key, records in wanted.items():
        assert len(rows[key]) == len(records), key
        for (value, grad), record in zip(rows[key], records, strict=True):
            same(value, record.value)
            same(grad, record.grad)
    return len(rows)


@pytest.fixture(scope="module")
def printed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    sources = {name: script(trace.run(CASES[name])) for name in chosen(request, "name")}
    return run_all(tmp_path_factory.mktemp("scripts"), sources)


@pytest.mark.parametrize("name", sample(CASES, every=4))
def test_the_script_prints_the_table_of_the_trace(name: str, printed: dict[str, str]) -> None:
    traced = trace.run(CASES[name])
    compare(traced, printed[name])
    if traced.error is None and "time" not in traced.source:
        assert printed[name].startswith(traced.output)


def alone(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a reader would, by itself."""
    path = folder / "downloaded.py"
    path.write_text(source)
    return subprocess.run(
        [sys.executable, "-I", str(path)], capture_output=True, text=True, cwd=folder, check=False
    )


def test_a_downloaded_script_runs_by_itself(tmp_path: Path) -> None:
    traced = trace.run(CASES["two_layers"])
    text = script(traced)
    assert "explorer" not in text
    assert all(line in text for line in traced.source.splitlines())
    done = alone(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")
    assert compare(traced, done.stdout) == 9


@pytest.mark.parametrize("key", sample(sorted(COUNTED_OTHERWISE), every=6))
def test_a_script_whose_table_is_not_compared_runs(key: str, tmp_path: Path) -> None:
    traced = trace.run(next(e.source for e in EXAMPLES if e.key == key))
    done = alone(tmp_path, script(traced))
    assert (done.returncode == 0) is (traced.error is None), done.stderr
    assert without_addresses(done.stdout).startswith(traced.output)


def test_a_failing_program_prints_what_it_made(tmp_path: Path) -> None:
    source = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\ny.backward()\n"
    traced = trace.run(source)
    done = alone(tmp_path, script(traced))
    assert done.returncode != 0
    assert "grad can be implicitly created only for scalar outputs" in done.stderr
    assert compare(traced, done.stdout) == 2


LEAF = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"


@pytest.mark.thorough
def test_more_programs(tmp_path: Path) -> None:
    programs: dict[str, tuple[str, object]] = {
        "upstream_sum": (LEAF + "y = x ** 2\n", "sum"),
        "upstream_mean": (LEAF + "y = x ** 2\n", "mean"),
        "upstream_numbers": (LEAF + "y = x ** 2\n", [3.0, -1.0]),
        "unnamed_root": (LEAF + "(x ** 3).sum()\n", None),
        "printed_root": (LEAF + "print((x ** 3).sum().item())\nprint((x * 2).mean())\n", None),
        "random": (
            "import random\nimport numpy as np\nimport torch\n"
            "x = torch.tensor([random.random(), np.random.rand()], requires_grad=True)\n"
            "y = torch.randn(2) * x\ny.sum().backward()\n",
            None,
        ),
        "functions": (
            "import torch\ndef f(a, n):\n    for i in range(n):\n        a = a * 2\n"
            "    return a\nx = torch.ones(2, requires_grad=True)\ny = f(x, 5) + f(x, 2)\n"
            "y.sum().backward()\n",
            None,
        ),
        "containers": (
            LEAF + "ps = [x * 2, x * 3]\nd = {'a': ps[0] + 1}\n(d['a'] * ps[1]).sum().backward()\n",
            None,
        ),
        "prompts": (">>> " + "\n>>> ".join((LEAF + "x.sum().backward()").split("\n")), None),
        "future": ("from __future__ import annotations\n" + LEAF + "x.sum().backward()\n", None),
        "one_line": (LEAF + "a = x * 2; b = a.sum(); b.backward()\n", None),
        "one_line_loop": (
            LEAF + "s = 0.0  # é\nfor r in x: s = s + r\ndef f(a): return a * 3\nf(s).backward()\n",
            None,
        ),
    }
    traces = {k: trace.run(s, seed=3, upstream=u) for k, (s, u) in programs.items()}  # type: ignore[arg-type]
    sources = {k: script(t, upstream=programs[k][1]) for k, t in traces.items()}  # type: ignore[arg-type]
    for name, output in run_all(tmp_path, sources).items():
        assert traces[name].error is None, name
        assert compare(traces[name], output), name


def test_a_program_outside_the_language_is_given_back() -> None:
    assert script(trace.run("for for")) == "for for"


@pytest.mark.parametrize(
    "store", ["setattr(o, TEXT, y)\np = o", "o = {TEXT: y}"], ids=["attribute", "key"]
)
def test_a_name_is_not_run_as_code(store: str) -> None:
    text = "x, open(TEXT).read(), d"
    source = (
        "import torch\nclass A:\n    pass\no = A()\nx = torch.ones(1, requires_grad=True)\n"
        f"y = (x * 2).sum()\n{store}\ndel y"
    ).replace("TEXT", repr(text))
    added = script(trace.run(source)).split("\n# The ")[-1]
    calls = [node for node in ast.walk(ast.parse(f"# {added}")) if isinstance(node, ast.Call)]
    assert [ast.unparse(call.func).rpartition(".")[2] for call in calls] in (
        [],
        ["_record_leaves", "backward"],
    )
