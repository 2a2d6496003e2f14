"""What is measured with crowds of readers, at one server or at replicas behind a proxy: a function
for each section of LOAD.md."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median, quantiles

from benchmarks.load import report
from benchmarks.load.crowd import Crowd, median_and_p95, run_crowd, trigger_cleanup
from benchmarks.load.live_mixes import LIVE_MIXES
from benchmarks.load.losses import Loss
from benchmarks.load.relay import slow_network
from benchmarks.load.replicas import Replicas
from benchmarks.load.servers import Servers, crowd
from benchmarks.load.serving import Server

#: Readers of further mixes, and over a slow network.
_READERS = 10
#: Numbers of readers after the first, until the 95th percentile exceeds the limit.
STAGES = (30, 40, 50, 60, 80)
#: Three crowds of so many, and the seconds after each until its sessions have been dropped.
_CROWDS, _CROWD, _TTL = 3, 40, 10
#: The old code and the new one are compared with so many readers, in so many turns.
_COMPARED, _TURNS = 50, 3
#: A slow network: seconds in each direction, and bytes a second (1.6 Mbit/s).
_DELAY, _RATE = 0.15, 200_000
#: Within so many seconds a page has to go on.
_SOON = 5.0
#: Seconds from the beginning of the counting until something happens.
_LEAD = 8.0
#: The actions that 300 readers ask for in a second.
_MANY = 300


def measure_mix(servers: Servers, seconds: float) -> str:
    """The mix with tries and without, and what many readers need."""
    readers = servers.options.readers
    if servers.options.address:
        first = crowd(servers, servers.one(), readers, seconds)
        parts = [report.crowds_table([first]), report.actions_table(first), _TIMES]
        return "\n\n".join([*parts, report.errors_list([first])])
    untried = crowd(servers, servers.one(module="benchmarks.untried_app"), readers, seconds / 2)
    first = crowd(servers, servers.one(), readers, seconds)
    crowds = {"the app": first, "without the tries of answers": untried}
    return "\n\n".join(
        [
            report.crowds_table(crowds),
            report.actions_table(first),
            _TIMES,
            report.many_readers(_MANY, first, untried),
            report.errors_list([first, untried]),
        ]
    )


_TIMES = (
    "Times are from a reader's action until the run that answers it has ended and its pictures are "
    "loaded. After an answer the app tries its cures in the background, at the lowest priority; "
    "nobody waits for these tries, and they are part of no time, only of the processor."
)


def measure_stages(servers: Servers, seconds: float) -> str:
    """More and more readers, until the 95th percentile exceeds the limit."""
    crowds: list[Crowd] = []
    for readers in STAGES:
        crowds.append(crowd(servers, servers.one(), readers, seconds))
        print(report.crowds_table(crowds[-1:]), flush=True)
        if median_and_p95(crowds[-1].done)[1] > report.LIMIT:
            break
    parts = [report.crowds_table(crowds), report.capacity(crowds), report.errors_list(crowds)]
    return "\n\n".join(parts)


def compare(servers: Servers, seconds: float) -> str:
    """The code in another folder beside this one, in turns, with the same readers."""
    both = servers.beside_each_other()
    crowds: dict[str, list[Crowd]] = {name: [] for name in both}
    for turn in range(_TURNS):
        for name, server in list(both.items())[:: 1 if turn % 2 else -1]:
            seed = f"{servers.options.seed} {turn}"
            crowds[name].append(crowd(servers, server, _COMPARED, seconds, seed=seed))
            print(name, report.crowds_table(crowds[name][-1:]), sep="\n", flush=True)
    servers.end()
    rows = {f"{name}, {i}": c for name, own in crowds.items() for i, c in enumerate(own, 1)}
    every = [c for own in crowds.values() for c in own]
    return "\n\n".join(
        [report.crowds_table(rows), report.medians(crowds), report.errors_list(every)]
    )


def measure_live(servers: Servers, seconds: float) -> str:
    """Readers who only type, drag or upload."""
    crowds = {
        mix.name: crowd(servers, servers.one(), _READERS, seconds, mix=mix) for mix in LIVE_MIXES
    }
    tables = [report.actions_table(one) for one in crowds.values()]
    errors = report.errors_list(list(crowds.values()))
    return "\n\n".join([report.crowds_table(crowds), _LIVE, *tables, errors])


_LIVE = (
    "Who types makes a pause every 1.5 s, after which the editor commits the text as it is then: "
    "every second one ends in the middle of a name. Who drags asks for 20 frames at a time, each "
    "when the last has come. Who uploads sends a new image, or a new photograph of two megapixels, "
    "every 3 s."
)


def measure_slow_network(servers: Servers, seconds: float) -> str:
    """The mix over a slow network."""
    server, readers = servers.one(), _READERS

    async def read() -> Crowd:
        async with slow_network(server.address, _DELAY, _RATE) as address:
            far = replace(server, address=address)
            seed, warm_up = servers.options.seed, servers.options.warm_up
            return await run_crowd(far, readers, seconds, seed, warm_up=warm_up)

    crowds = {"slow": asyncio.run(read()), "direct": crowd(servers, server, readers, seconds)}
    text = (
        f"Through a relay that delays every byte by {1000 * _DELAY:g} ms in both directions and "
        f"passes on {8 * _RATE / 1e6:g} Mbit/s on each connection; and without it."
    )
    errors = report.errors_list(list(crowds.values()))
    return "\n\n".join([text, report.crowds_table(crowds), errors])


def measure_crowds(servers: Servers, seconds: float) -> str:
    """Crowds one after another, and the memory after each."""
    server = servers.one(STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL=str(_TTL))
    moments = {"each page visited once": server.usage()}
    crowds = []
    for number in range(1, _CROWDS + 1):
        one = crowd(servers, server, _CROWD, seconds, seed=f"{servers.options.seed} {number}")
        crowds.append(one)
        moments[f"crowd {number}: the most"] = one.peak
        moments[f"crowd {number} has left"] = server.usage()
        for waited in (_TTL + 2, *servers.options.rest):
            asyncio.run(_let_sessions_go(server, waited))
            moments[f"crowd {number}, {waited:g} s later"] = server.usage()
    text = (
        f"{_CROWDS} crowds of {_CROWD} readers, one after another. Streamlit kept a session for "
        f"{_TTL} s after its reader had left."
    )
    return "\n\n".join(
        [
            text,
            report.memory_table(moments),
            report.crowds_table(crowds),
            report.errors_list(crowds),
        ]
    )


async def _let_sessions_go(server: Server, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await trigger_cleanup(server)
    await asyncio.sleep(1)


# --- replicas ---


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

    readers = servers.options.readers
    one = crowd(servers, _server(replicas), readers, seconds, meanwhile=happen)
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
