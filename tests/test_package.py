"""The package: what is imported when, what is in the wheel, and the app started from it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from benchmarks.load.serving import free_ports, started
from benchmarks.load.tab import Tab
from explorer.start import EXTRA, FOLDER

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: What is imported when something is drawn or loaded, and not before.
DRAWING = ("torchviz", "graphviz", "setuptools")
LATE = (*EXTRA, *DRAWING, "safetensors", "PIL", "latex2mathml")

_PLAIN = "import torch\nx = torch.ones(3)\ny = 2 * x\n"
_BACKWARD = "import torch\nw = torch.ones(3, requires_grad=True)\n(w * w).sum().backward()\n"
_INSPECT = """
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten())
assert len(explorer.networks.inspect(model, torch.ones(1, 1, 5, 5)).layers) == 3
"""


def child(program: str) -> str:
    """What a new process prints that runs this program."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported_after(*steps: str) -> list[set[str]]:
    """Which of `LATE` a new process has imported after each of these steps."""
    told = f"print(*{{name.partition('.')[0] for name in sys.modules}} & {set(LATE)})\n"
    printed = child("import sys\n" + "".join(f"{step}\n{told}" for step in steps))
    return [set(line.split()) for line in printed.splitlines()]


def without(*names: str) -> str:
    """The start of a program for which these packages are not installed."""
    return f"import sys\nsys.modules |= dict.fromkeys({names})\nimport explorer\n"


@pytest.mark.fast
def test_what_is_not_needed_is_not_imported() -> None:
    """Nothing but torch and numpy, until a graph is drawn."""
    before, plain, inspected, drawn, shown = imported_after(
        "import explorer",
        f"import explorer.trace\ntrace = explorer.run({_PLAIN!r})\nassert trace.tensors",
        _INSPECT,
        f"trace = explorer.run({_BACKWARD!r})\nassert trace.pass_count == 1",
        "assert trace._repr_html_()",
    )
    assert before == plain == inspected == set()
    assert "torchviz" in drawn <= set(DRAWING)
    assert shown <= {*drawn, "PIL", "latex2mathml"}


def test_runs_and_reports_need_nothing_that_draws() -> None:
    child(without(*LATE) + f"assert not explorer.run({_PLAIN!r}).error\n" + _INSPECT)


def test_the_library_does_without_what_the_app_needs() -> None:
    """A program that imports such a package is told so."""
    program = f"import matplotlib.pyplot as plt\nimport torchvision\n{_BACKWARD}"
    printed = child(
        without(*EXTRA)
        + _INSPECT
        + f"trace = explorer.run({program!r})\n"
        + "assert trace.pass_count == 1 and trace._repr_html_(), trace.error\n"
        + "print(*trace.notices)"
    )
    assert "matplotlib.pyplot and torchvision are not available here" in printed


@pytest.mark.fast
def test_the_command_says_what_to_install() -> None:
    command = "import explorer.start\ntry: explorer.start.main()\nexcept SystemExit as e: print(e)"
    printed = child(without("streamlit", "captum") + command)
    assert "needs streamlit, captum, which `pip install '.[app]'`" in printed


def requirements(lines: list[str]) -> dict[str, Requirement]:
    return {one.name: one for one in map(Requirement, lines)}


@pytest.mark.fast
def test_requirements_pin_what_the_package_needs() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pinned = requirements([line.partition("#")[0] for line in lines if line[0] != "#"])
    extra = requirements(PROJECT["optional-dependencies"]["app"])
    needed = requirements(PROJECT["dependencies"]) | extra
    assert needed.keys() == pinned.keys()
    for name, one in pinned.items():
        (version,) = one.specifier
        assert version.version in needed[name].specifier, name
    assert set(EXTRA) == extra.keys() - {"uvloop"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel and a source distribution."""
    folder = tmp_path_factory.mktemp("built")
    build(ROOT, folder)
    return folder


def build(project: Path, folder: Path, *options: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *options]
    subprocess.run(command, cwd=project, check=True, capture_output=True)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of the folder's wheel."""
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def files_in(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"]


def app_files() -> list[Path]:
    return [ROOT / "app.py", ROOT / ".streamlit" / "config.toml", *files_in(ROOT / "pages")]


@pytest.mark.thorough
def test_the_wheel_has_the_package_alone_with_the_app_inside(built: Path) -> None:
    files = contents(built)
    about = f"autograd_explorer-{PROJECT['version']}.dist-info"
    assert {name.partition("/")[0] for name in files} == {"explorer", about}
    app = {f"explorer/_app/{path.relative_to(ROOT).as_posix()}": path for path in app_files()}
    library = {p.relative_to(ROOT).as_posix(): p for p in files_in(ROOT / "explorer")}
    packed = {name: text for name, text in files.items() if name.startswith("explorer/")}
    assert packed == {name: path.read_bytes() for name, path in (app | library).items()}
    assert b"autograd-explorer = explorer.start:main" in files[f"{about}/entry_points.txt"]
    metadata = message_from_bytes(files[f"{about}/METADATA"])
    needed = [Requirement(one) for one in metadata.get_all("Requires-Dist") or ()]
    always = {one.name for one in needed if "extra" not in str(one.marker)}
    assert always == requirements(PROJECT["dependencies"]).keys()


@pytest.mark.thorough
def test_the_source_distribution_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as source:
        source.extractall(tmp_path, filter="data")
    (project,) = tmp_path.iterdir()
    build(project, tmp_path / "again", "-t", "wheel")
    assert contents(tmp_path / "again") == contents(built)


class Themed(Tab):
    """Remembers what the server says of its settings."""

    def _run_started(self, message: Any) -> None:
        self.theme = message.new_session.custom_theme
        self.age = message.new_session.config.max_cached_message_age
        super()._run_started(message)


@pytest.mark.thorough
def test_the_app_starts_from_the_wheel_alone(built: Path, tmp_path: Path) -> None:
    """In an empty folder, with the settings of the wheel's own file, and programs run."""
    (wheel,) = built.glob("*.whl")
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "explorer.start", "--server.headless", "true"]
    command += ["--server.address", "127.0.0.1", "--server.port", str(port)]

    async def open_pages(address: str) -> Themed:
        for page in ("", "network", "optimizer", "feature_maps", "glossary", "expression"):
            tab = Themed(address)
            await tab.open(page)
            check = has_graph if page == "expression" else lambda tab: None
            await tab.wait_until(check, timeout=120.0)
            await tab.close()
        return tab

    paths = {"PYTHONPATH": str(site)}
    with (
        started(command, port, tmp_path / "log", empty, **paths) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        tab = pool.submit(lambda: asyncio.run(open_pages(server.address))).result()
    settings = tomllib.loads((FOLDER / ".streamlit/config.toml").read_text())
    assert tab.age == settings["global"]["maxCachedMessageAge"]
    assert tab.theme.light.primary_color == settings["theme"]["light"]["primaryColor"]
    assert list(empty.iterdir()) == []


def has_graph(tab: Tab) -> str | None:
    """What is missing on the page: the graph of a program that ran in the sandbox."""
    return None if tab.has("bidi_component", "graph") else "there is no graph"
