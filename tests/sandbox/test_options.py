"""What the operator of the app may set in the environment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer import sandbox
from explorer.sandbox import OptionError, Sandbox, options
from explorer.sandbox.options import VARIABLES, processors, read
from explorer.sandbox.walls import Walls

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fresh_options() -> Any:
    """Options are read once per process; this fixture has them read again."""
    options.cache_clear()
    yield
    options.cache_clear()


def test_without_variables() -> None:
    result = read({})
    assert (result.processes, result.memory, result.seconds) == (processors(), 2048, 20.0)
    assert result.walls is Walls.NARROW


def test_each_variable_sets_its_own() -> None:
    result = read(
        {"EXPLORER_PROCESSES": "3", "EXPLORER_MEMORY_MB": "256", "EXPLORER_SECONDS": "2.5"}
    )
    assert (result.processes, result.memory, result.seconds) == (3, 256, 2.5)


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("value", ["many", "0", "-1", "1e9", "nan", "inf", "1;2"])
def test_a_bad_value_is_named(variable: str, value: str) -> None:
    with pytest.raises(OptionError, match=variable) as caught:
        read({variable: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("walls", Walls)
def test_the_walls(walls: Walls) -> None:
    assert read({"EXPLORER_WALLS": f" {walls.value} "}).walls is walls


@pytest.mark.parametrize("value", ["none", "Narrow", "0", "narrow wide"])
def test_bad_walls_are_named(value: str) -> None:
    with pytest.raises(OptionError, match=r"EXPLORER_WALLS is .* narrow, wide\."):
        read({"EXPLORER_WALLS": value})


@pytest.mark.parametrize(("text", "most"), [("50000 100000", 1), ("150000 100000", 2)])
def test_a_container_share_of_the_processors_counts(
    text: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = processors()
    quota = tmp_path / "cpu.max"
    monkeypatch.setattr(sys.modules["explorer.sandbox.options"], "_QUOTA", quota)
    quota.write_text(text)
    assert processors() == min(whole, most)
    quota.write_text("max 100000\n")
    assert processors() == whole


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound no memory")
def test_the_memory_reaches_the_child() -> None:
    def bound(megabytes: int) -> int:
        options = {"warm_up": False, "processes": 1, "memory": megabytes}
        made = Sandbox(jobs="tests.sandbox.jobs", **options)
        try:
            text = "__import__('resource').getrlimit(__import__('resource').RLIMIT_AS)[0]"
            return int(made.call("attempt", text))
        finally:
            made.stop()

    assert (bound(1024) - bound(256)) / 2**20 == pytest.approx(768, abs=32)


def test_the_seconds_reach_the_page(monkeypatch: pytest.MonkeyPatch, fresh_options: None) -> None:
    monkeypatch.setenv("EXPLORER_SECONDS", "7.5")
    given: list[float] = []

    def spy(source: str, *, timeout: float, **more: Any) -> Any:
        given.append(timeout)
        return real(source, timeout=timeout, **more)

    real = sandbox.submit_run
    monkeypatch.setattr(sandbox, "submit_run", spy)
    from explorer.ui.server import sandbox_call

    sandbox_call._traces.clear()  # nothing is kept from other tests
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert given == [5.0]  # what is typed into the box on the home page has no more
    at.switch_page("pages/expression.py").run()
    assert not at.exception
    assert given == [5.0, 7.5]


def test_a_bad_value_is_reported_on_the_first_page(
    monkeypatch: pytest.MonkeyPatch, fresh_options: None
) -> None:
    from explorer.ui.server.startup import prepare_process

    prepare_process.cache_clear()
    monkeypatch.setattr(sandbox, "start", options)  # what `start` reads first
    monkeypatch.setenv("EXPLORER_MEMORY_MB", "lots")
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not at.exception
    assert [e.value for e in at.error] == [
        "The app cannot start. EXPLORER_MEMORY_MB is 'lots'; it must be a whole number from 128 to "
        "65536."
    ]
