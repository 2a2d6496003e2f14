"""Hostile files of weights: none runs anything, each gives one sentence in bounded time and memory,
and the next file is read as before."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import torch

from explorer.networks.image_networks import shapes_net
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, read_weights
from explorer.vision import WeightsError, load_weights
from explorer.vision.checkpoint import read_checkpoint
from explorer.vision.weights import is_pickled
from tests.hostile.weights_files import HOSTILE, HostileFile, pickle_calls, saved, state
from tests.marks import sample
from tests.sandbox.test_forged_frames import CLEAR, memory

#: Seconds that a file may take, which is all that the slowest gets, and more for a busy machine.
LIMIT, MARGIN = 5.0, 12.0
#: What a file may add to this process's memory.
GROWTH = 120 * 2**20


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    box = Sandbox(warm_up=False, processes=2)
    assert same(box)  # each test below leaves it so
    yield box
    box.stop()


def read(box: Sandbox, data: bytes) -> str:
    """What the reader is told about a file, as the page decides it."""
    model = shapes_net()
    try:
        if is_pickled(data):
            read_weights(data, model.state_dict(), sandbox=box, timeout=LIMIT)
        else:
            load_weights(model, data)
    except (WeightsError, ProgramRefused) as error:
        return str(error)
    return ""


def same(box: Sandbox) -> bool:
    """Whether a good file is read, number by number."""
    expected = state()
    given = read_weights(saved(expected), expected, sandbox=box).tensors
    return all(torch.equal(given[name], value) for name, value in expected.items())


def test_there_are_enough() -> None:
    assert len({file.name for file in HOSTILE}) == len(HOSTILE) >= 53


@pytest.mark.parametrize("file", sample(HOSTILE, every=7), ids=lambda file: file.name)
def test_a_hostile_file_gives_a_sentence(box: Sandbox, file: HostileFile, tmp_path: Path) -> None:
    path = tmp_path / "ran"
    data = file.make(path)
    CLEAR.write_text("5")
    before, start = memory("VmRSS"), time.monotonic()
    sentence = read(box, data)
    assert time.monotonic() - start < LIMIT + MARGIN
    assert memory("VmHWM") - before < GROWTH
    assert file.words in sentence
    assert sentence.endswith(".")
    assert 20 < len(sentence) < 300
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    assert not path.exists()
    assert same(box)


@pytest.mark.fast
@pytest.mark.parametrize("file", list(pickle_calls())[:-1], ids=lambda file: file.name)
def test_nothing_runs_even_without_walls(file: HostileFile, tmp_path: Path) -> None:
    """Here a payload could do what it wants."""
    path = tmp_path / "ran"
    data = file.make(path)
    with (
        mock.patch("os.system") as system,
        mock.patch("subprocess.Popen") as process,
        mock.patch("urllib.request.urlopen") as download,
        pytest.raises(WeightsError),
    ):
        read_checkpoint(data)
    assert not any((system.called, process.called, download.called, path.exists()))


@pytest.mark.fast
def test_a_sentinel_would_be_noticed(tmp_path: Path) -> None:
    """The payloads are real: unpickled without care, they run."""
    path = tmp_path / "ran"
    (file,) = (file for file in pickle_calls() if file.name == "eval")
    torch.load(io.BytesIO(file.make(path)), weights_only=False)
    assert path.exists()
