"""What monitoring reads of this process: whether the numbers are true, and who may read them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.load.serving import Server, serving
from benchmarks.load.tab import Tab
from explorer.ui.server import metrics, processes


def values(programs: tuple[int, int] = (0, 0), networks: int = 0) -> dict[str, float]:
    """The numbers of this process, by their names and labels."""
    stats = metrics._Provider(lambda: programs, lambda: networks).get_stats().values()
    lines = "\n".join(stat.to_metric_str() for family in stats for stat in family).splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.mark.fast
def test_jobs_and_refusals_are_counted() -> None:
    before = values()
    for ran in (0.3, 4.0, None):
        metrics.count_program(0.01, ran)
    now = values((2, 5), 3)
    assert now['explorer_jobs{kind="program",state="running"}'] == 2
    assert now['explorer_jobs{kind="program",state="waiting"}'] == 5
    assert now['explorer_jobs{kind="network",state="waiting"}'] == 3

    def added(name: str) -> float:
        return now[name] - before[name]

    assert added("explorer_refused_total") == 1
    assert added('explorer_program_seconds_count{part="waited"}') == 2
    assert added('explorer_program_seconds_sum{part="ran"}') == pytest.approx(4.3)
    assert added('explorer_program_seconds_bucket{le="0.5",part="ran"}') == 1
    assert added('explorer_program_seconds_bucket{le="5.0",part="ran"}') == 2


@pytest.mark.fast
def test_a_run_of_a_page_is_counted_when_its_thread_ends() -> None:
    before = values()
    may_end, second = threading.Event(), threading.Event()

    def run() -> None:
        metrics.time_page("expression")
        time.sleep(0.05)
        metrics.time_page("network")  # the same thread runs another page
        second.set()
        may_end.wait(5)

    def added() -> list[float]:
        now, names = values(), [f'_count{{page="{page}"}}' for page in ("expression", "network")]
        return [
            now[f"explorer_page_seconds{n}"] - before[f"explorer_page_seconds{n}"] for n in names
        ]

    thread = threading.Thread(target=run)
    thread.start()
    second.wait(5)
    assert added() == [1, 0]
    may_end.set()
    thread.join()
    assert added() == [1, 1]


@pytest.mark.fast
def test_only_the_families_that_are_asked_for_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory costs a look at every child's pages."""
    monkeypatch.delattr(metrics, "descendants")
    provider = metrics._Provider(lambda: (2, 5), lambda: 3)
    assert [*provider.get_stats(["explorer_jobs", "another's"])] == ["explorer_jobs"]
    with pytest.raises(NameError):
        provider.get_stats()


@pytest.mark.fast
@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="no /proc")
def test_memory_and_processors_are_those_of_all_children() -> None:
    code = "import sys\nx = bytearray(80 << 20)\nfor i in range(10**7): pass\n"
    code += "print('ready', flush=True)\nsys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdin is not None
    child.stdout.readline()
    assert child.pid in processes.descendants(os.getpid())
    assert processes.memory(child.pid) > 80 << 20
    assert processes.processor_time(child.pid) > 0.05
    assert values()['explorer_memory_bytes{of="children"}'] > 80 << 20
    child.stdin.close()
    child.wait()
    assert processes.memory(child.pid) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server") / "log") as started:
        yield started


def answer(server: Server, path: str = "/_stcore/metrics", **headers: str) -> tuple[int, str]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(server.address + path, headers=names)
        ) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_this_machine_reads_them(server: Server) -> None:
    async def open_page() -> None:
        tab = Tab(server.address)
        await tab.open("glossary")
        await tab.wait_until(lambda tab: None)
        await tab.close()

    with ThreadPoolExecutor(1) as apart:  # browser tests leave an event loop in this thread
        apart.submit(asyncio.run, open_page()).result()
    status, text = answer(server)
    assert status == 200
    assert 'explorer_page_seconds_count{page="glossary"} 1' in text
    for family in metrics._Provider(lambda: (0, 0), lambda: 0).stats_families:
        assert f"# TYPE {family} " in text
    assert "active_sessions" in text


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Forwarded_For": "192.0.2.1"},
        {"X_Real_Ip": "192.0.2.1"},
        {"Forwarded": "for=192.0.2.1"},
        {"Via": "1.1 proxy"},
        {"Host": "autograd.example.org"},
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        f"/_stcore/{end}"
        for end in ("metrics", "m%65trics", "metrics?a=b", "metrics%0A", "metrics/")
    ],
)
def test_nobody_else_does(server: Server, path: str, headers: dict[str, str]) -> None:
    status, text = answer(server, path, **headers)
    assert status == 403
    assert "explorer" not in text
