"""What can be measured at several replicas behind a proxy: sections of LOAD.md."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from statistics import median, quantiles

from benchmarks.load import report
from benchmarks.load.crowd import Crowd
from benchmarks.load.losses import Loss
from benchmarks.load.replicas import Replicas
from benchmarks.load.servers import Servers, crowd
from benchmarks.load.serving import Server

_READERS = 20
#: Within so many seconds a page has to go on.
_SOON = 5.0
#: Seconds from the beginning of the counting until something happens.
_LEAD = 8.0


def measure_replicas(servers: Servers, seconds: float) -> str:
    """The same readers at one replica and at two."""
    crowds = {
        f"{number} behind the proxy": crowd(
            servers, _server(servers.replicas(number)), servers.options.readers, seconds
        )
        for number in (1, 2)
    }
    text = "Each time all of them, the proxy and the readers share the same two processors."
    errors = report.errors_list(list(crowds.values()))
    return "\n\n".join([report.crowds_table(crowds), text, errors])


def kill_one(servers: Servers, seconds: float) -> str:
    """One of two replicas is killed in the middle."""
    replicas = servers.replicas(2)
    victim = replicas.running[0].name
    one = _disturbed(servers, replicas, seconds, partial(replicas.kill, victim))
    replicas.start(victim)
    return f"One of two replicas was killed (SIGKILL) {_LEAD:g} s after the start.\n\n{one}"


def roll(servers: Servers, seconds: float) -> str:
    """Both replicas are replaced, one after another."""
    replicas = servers.replicas(2)
    one = _disturbed(servers, replicas, seconds, replicas.roll)
    return f"Both replicas were replaced, one after another.\n\n{one}"


def _disturbed(
    servers: Servers, replicas: Replicas, seconds: float, event: Callable[[], object]
) -> str:
    """A crowd during which something happens, and what became of its readers."""

    async def happen() -> None:
        await asyncio.sleep(_LEAD)
        await asyncio.to_thread(event)

    meanwhile: Callable[[], Awaitable[object]] = happen
    one = crowd(servers, _server(replicas), _READERS, seconds, meanwhile=meanwhile)
    one = replace(one, server=-1.0)  # the processes that ended have taken their times along
    _print_exceptions(replicas)
    return "\n\n".join([report.crowds_table([one]), losses(one), report.errors_list([one])])


def losses(crowd: Crowd) -> str:
    """How the readers who lost their connection went on."""
    lost = [loss for reader in crowd.losses for loss in reader]
    back = [loss for loss in lost if loss.complete is not None]
    times = sorted(loss.complete - loss.lost for loss in back if loss.complete is not None)
    soon = [time for time in times if time <= _SOON]
    same = [loss for loss in back if not loss.differences()]
    rows = [
        ["readers who lost their connection", str(sum(map(bool, crowd.losses)))],
        ["lost connections", str(len(lost))],
        ["page asked for a run by itself", str(sum(loss.asks for loss in lost))],
        [f"page complete again within {_SOON:g} s", str(len(soon))],
        ["later", str(len(times) - len(soon))],
        ["never", str(len(lost) - len(times))],
        ["with text and settings as they were", str(len(same))],
        ["asked for their image again", str(sum(loss.upload for loss in back))],
        ["actions that were interrupted", str(sum(one.interrupted for one in crowd.done))],
    ]
    if len(times) > 1:
        p95 = quantiles(times, n=20, method="inclusive")[-1]
        numbers = (median(times), p95, times[-1])
        rows.append(
            ["until complete, s: median, 95 %, longest", ", ".join(f"{t:.1f}" for t in numbers)]
        )
    return "\n\n".join([report.table(["", ""], rows), _differences(back)])


def _differences(losses: list[Loss]) -> str:
    found = [(name, both) for loss in losses for name, both in loss.differences().items()]
    for name, (before, after) in found:
        texts = str(before), str(after)
        other = (i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b)
        start = max(0, next(other, 0) - 100)
        print(f"{name}: …{texts[0][start : start + 200]} -> …{texts[1][start : start + 200]}")
    names = Counter(name for name, _ in found)
    return "\n".join(f"- {number}× {name} was another" for name, number in names.most_common(10))


def _print_exceptions(replicas: Replicas) -> None:
    """Print the tracebacks in the logs."""
    for place in replicas.places.values():
        if place.log.exists():
            for part in place.log.read_text(errors="replace").split("Traceback")[1:6]:
                print(f"{place.name}: {part[-1500:]}", flush=True)


def _server(replicas: Replicas) -> Server:
    """The proxy with the replicas that run."""
    apps = tuple(Server(r.address, r.process.pid) for r in replicas.running if r.process)
    return Server(replicas.address, replicas.proxy.pid, apps)
