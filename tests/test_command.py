"""`python -m explorer script.py`: the script runs as with `python`, and a page is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from signal import SIGINT

import pytest

import explorer
from explorer.__main__ import main

_SCRIPT = """
import sys
import torch
w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for epoch in range(int(sys.argv[2])):
    loss = (w * 3 - 1) ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sys.argv, __name__, f"{w.item():.4f}")
print("to stderr", file=sys.stderr)
END
"""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = str(Path(explorer.__file__).parents[1])
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("sys.exit(7)", 7),
        pytest.param("", 0, marks=pytest.mark.thorough),
        pytest.param("raise ValueError('no')", 1, marks=pytest.mark.thorough),
        pytest.param("raise KeyboardInterrupt", 128 + SIGINT, marks=pytest.mark.thorough),
    ],
)
def test_a_script_runs_as_with_python(tmp_path: Path, end: str, code: int):
    script = tmp_path / "train.py"
    script.write_text(_SCRIPT.replace("END", end))
    plain = run(tmp_path, "train.py", "--epochs", "4")
    ours = run(
        tmp_path, "-m", "explorer", "--step", "3", "--html", "s.html", "train.py", "--epochs", "4"
    )
    shown_by_shell = 128 - plain.returncode if plain.returncode < 0 else plain.returncode
    assert (shown_by_shell, ours.returncode) == (code, code)
    assert ours.stdout == plain.stdout
    said = [line for line in ours.stderr.splitlines() if line.startswith("explorer: ")]
    assert "\n".join(line for line in ours.stderr.splitlines() if line not in said) == (
        plain.stderr.rstrip("\n")
    )
    assert len(said) == 1
    assert "s.html" in said[0]
    page = (tmp_path / "s.html").read_text()
    assert "train.py" in page
    assert "(w * 3 - 1) ** 2" in page


@pytest.mark.thorough
def test_what_is_never_reached_is_said(tmp_path: Path):
    (tmp_path / "train.py").write_text(_SCRIPT.replace("END", ""))
    ours = run(tmp_path, "-m", "explorer", "--step", "9", "train.py", "--epochs", "2")
    assert ours.returncode == 0
    assert "the last iteration was number 2, and number 9 was asked for" in ours.stderr
    assert not (tmp_path / "step.html").exists()


def test_a_module_runs_with_m(tmp_path: Path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").touch()
    (tmp_path / "own" / "train.py").write_text(
        "import torch\nfrom . import __name__ as package\n"
        "import sys\nx = torch.ones(2, requires_grad=True)\n(x * 2).sum().backward()\n"
        "print(package, __spec__.name, sys.argv[1:])\n"
    )
    command = ("-m", "own.train", "--step", "5", "--h", "3")
    plain, ours = run(tmp_path, *command), run(tmp_path, "-m", "explorer", *command)
    assert (ours.returncode, ours.stdout) == (0, plain.stdout)
    assert (tmp_path / "step.html").exists()


def test_a_script_is_compiled_as_it_is(tmp_path: Path):
    """Not with what our own file asks of `__future__`; and its `sys.exit(0)` is no error."""
    (tmp_path / "train.py").write_text(
        "import sys, dataclasses, torch\n@dataclasses.dataclass\nclass A:\n    rate: float = 0.1\n"
        "w = torch.tensor(1.0, requires_grad=True)\n(w * 2).backward()\n"
        "print(dataclasses.fields(A)[0].type, sys.path[0])\nsys.exit(0)\n"
    )
    plain, ours = run(tmp_path, "train.py"), run(tmp_path, "-m", "explorer", "train.py")
    assert (ours.returncode, ours.stdout) == (0, plain.stdout)
    assert "error" not in ours.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which script?"),
        (["nothing.py"], "nothing.py: there is no such file"),
        (["--step", "0", "x.py"], "no whole number from 1"),
        (["-m", "no.such.module"], "no module"),
        (["-m", ".relative"], "no module .relative"),
    ],
)
def test_what_cannot_run_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    before = sys.argv, [*sys.path]
    try:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    finally:
        sys.argv, sys.path[:] = before
    printed = f"{ended.value} {capsys.readouterr().err}".replace("\n", " ")
    assert said in printed
