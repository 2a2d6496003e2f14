"""The second wall: what is there inside, and from which installations it can be built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.sandbox import Sandbox, bubblewrap
from explorer.sandbox.options import ServerOptions
from explorer.sandbox.walls import code_directories
from tests.marks import sample
from tests.sandbox.test_calls import eventually

pytestmark = pytest.mark.skipif(
    bool(bubblewrap.failure()), reason=f"no second wall here: {bubblewrap.failure()}"
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def inside() -> Iterator[Sandbox]:
    sandbox = Sandbox(jobs="tests.sandbox.seen_jobs", warm_up=False, processes=2, bubblewrap=True)
    yield sandbox
    sandbox.stop()


def test_it_stays_when_the_thread_that_started_it_ends() -> None:
    """As the threads do in which Streamlit runs pages."""
    box = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, processes=2, bubblewrap=True)
    starter = threading.Thread(target=box.call, args=("double", 1))
    starter.start()
    starter.join()
    pid = box.pid
    assert box.call("double", 2) == 4
    assert box.pid == pid
    box.stop()


#: name -> an expression that is true inside, before the first wall hides anything (`SEEN`)
INSIDE = {
    "no list of users": "'passwd' not in SEEN['/etc']",
    "no home": "set(SEEN[home]) <= set(parts)",
    "no project but the package": (  # and the way to an environment in it
        "{'explorer', 'tests'} <= set(SEEN[project]) <= {'explorer', 'tests', *parts}"
    ),
    "no other processes": "max(int(n) for n in SEEN['/proc'] if n.isdigit()) < 1000",
    "no devices": "sorted(SEEN['/dev']) == ['null', 'urandom']",
    "no network": "not SEEN['/sys/class/net']",
    "nothing in the temporary folder but its own": (
        "len([n for n in SEEN['/tmp'] if n not in parts]) == 1"  # and the way to code
    ),
    "the same kernels": "__import__('torch').backends.cpu.get_cpu_capability() == capability",
    "Landlock and seccomp": "open_says('/proc/self/status') == 'EACCES'",
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_inside(inside: Sandbox, name: str) -> None:
    import torch

    code = (
        "import errno\n"
        "def open_says(path):\n"
        "    try:\n        open(path)\n"
        "    except OSError as error:\n        return errno.errorcode[error.errno]\n"
        "from tests.sandbox.seen_jobs import SEEN\n"
        f"result = {INSIDE[name]}"
    )
    known: dict[str, Any] = {"project": str(ROOT), "home": str(Path.home())}
    # Where Python itself is installed in the home, the way to it is there.
    known["parts"] = [part for path in code_directories() for part in path.parts]
    known["capability"] = torch.backends.cpu.get_cpu_capability()
    assert inside.call("raw", {"code": code, **known}, timeout=30) is True


def test_the_app_ends_and_everything_inside_with_it(inside: Sandbox) -> None:
    assert inside.call("double", [1]) == [2]
    assert inside.pid is not None
    below = [inside.pid]
    for pid in below:  # which grows meanwhile
        below += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    assert len(below) >= 4  # bubblewrap twice, the server, the zygote
    inside.stop()
    assert eventually(lambda: all(map(has_ended, below)))


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


#: Runs one job in a sandbox, and says what of a secret it sees.
SCRIPT = """
import json, sys
from explorer.sandbox import Sandbox, bubblewrap
sandbox = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, bubblewrap=True)
code = "result = os.path.exists(secret)"
seen = sandbox.call("raw", {"code": code, "secret": sys.argv[1]}, timeout=60)
print(json.dumps([bubblewrap.failure(), sandbox.call("double", [2]), seen]))
sandbox.stop()
"""


def make_environment(place: Path) -> Path:
    """A virtual environment with the packages of this one. Returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (packages / "here.pth").write_text(f"{here}\n")
    return place / "bin" / "python"


def run_script(python: Path, secret: Path, **options: str) -> list[object]:
    secret.write_text("secret")
    done = subprocess.run(
        [str(python), "-c", SCRIPT, str(secret)],
        capture_output=True, text=True, timeout=120, cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **options},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer: list[object] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize("place", sample(["project/.venv", "home/.venv", "venv"], every=3))
def test_a_virtual_environment(tmp_path: Path, place: str) -> None:
    python = make_environment(tmp_path / place)
    secret = (tmp_path / place).parent / "secret"
    home = {"HOME": str(tmp_path / "home")}
    assert run_script(python, secret, **home) == ["", [4], False]


@pytest.mark.thorough
def test_one_that_is_reached_by_a_link(tmp_path: Path) -> None:
    make_environment(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    python = tmp_path / "link" / "bin" / "python"
    assert run_script(python, tmp_path / "secret") == ["", [4], False]


@pytest.mark.thorough
def test_an_editable_install(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "venv")
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "explorer.pth").write_text(f"{ROOT}\n")
    assert run_script(python, tmp_path / "secret", PYTHONPATH="") == ["", [4], False]


def test_where_no_server_starts_behind_it_the_first_stands_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where a library of torch lies where the trial did not look."""
    monkeypatch.setattr(bubblewrap, "_given_up", [])
    monkeypatch.setattr(bubblewrap, "_is_confirmed", False)
    monkeypatch.setattr(bubblewrap, "code_directories", lambda: [])
    monkeypatch.setattr(bubblewrap, "_tried", lambda: "")
    box = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, processes=1)
    assert box.call("double", [1], timeout=60) == [2]
    assert box._server is not None
    assert not box._server.options.bubblewrap
    assert bubblewrap.failure() == "no server starts behind bubblewrap"
    assert "no server starts behind bubblewrap" in caplog.text
    box.stop()


@pytest.mark.parametrize("behind", sample([True, False], every=2))
def test_a_long_path_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: bool
) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    box = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, processes=1, bubblewrap=behind)
    assert box.call("double", [1], timeout=60) == [2]
    box.stop()
    assert not os.listdir(folder)


def test_where_there_is_none_the_first_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "failure", lambda: "not installed")
    assert not ServerOptions(processes=1, directory="", token="").bubblewrap
