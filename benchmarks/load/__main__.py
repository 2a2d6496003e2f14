"""Many readers at a server: how long answers take, what they cost, and what survives.

    python -m benchmarks.load [SCENARIO ...] [--address URL] [--against CHECKOUT]
                              [--readers 20] [--seconds S] [--warm-up 8] [--seed 0]

Without a scenario, the mix and more and more readers; with `all`, everything. The server is started
as in README.md and shares two processors with the readers, unless there is one at `--address`,
whose memory and processors are not measured. mix.py says what readers do. Each scenario is a
section of benchmarks/LOAD.md, which is written at the end (not with --quick, a short trial, nor
with --address).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import costs, flood, report, scenarios
from benchmarks.load.servers import Servers
from benchmarks.load.serving import pin_processors


@dataclass(frozen=True)
class Scenario:
    """A section of LOAD.md: its title, the function that measures it, and for how many seconds
    each of its crowds is counted, or the number of actions. A `remote` one can measure a server
    somewhere else."""

    title: str
    measure: Callable[[Servers, float], str]
    seconds: float
    remote: bool = True


SCENARIOS = {
    "mix": Scenario("The mix of actions", scenarios.measure_mix, 45),
    "more": Scenario("More readers", scenarios.measure_stages, 20),
    "against": Scenario("Before and after", scenarios.compare, 25, remote=False),
    "live": Scenario("Typing, dragging, uploading", scenarios.measure_live, 15),
    "slow": Scenario("A slow network", scenarios.measure_slow_network, 20),
    "crowds": Scenario("One crowd after another", scenarios.measure_crowds, 25, remote=False),
    "flood": Scenario("Floods", flood.measure, 15),
    "replicas": Scenario("Replicas", scenarios.measure_replicas, 20, remote=False),
    "kill": Scenario("A replica is killed", scenarios.kill_one, 30, remote=False),
    "roll": Scenario("A rolling restart", scenarios.roll, 50, remote=False),
    "cost": Scenario("The cost of an action", costs.measure_actions, 200, remote=False),
    "lesson": Scenario("A lesson's link", costs.measure_lesson, 0, remote=False),
    "start": Scenario("A start", costs.measure_start, 0, remote=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"{[*SCENARIOS, 'all']}")
    parser.add_argument("--address", default="", help="a server that runs somewhere else")
    parser.add_argument("--against", type=Path, help="another checkout, for against and costs")
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, help="for which each crowd is counted")
    parser.add_argument("--warm-up", type=float, default=8.0, help="seconds before, not counted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--rest", type=float, nargs="*", default=[], help="more seconds after each of the crowds"
    )
    parser.add_argument("--floods", nargs="*", choices=flood.KINDS, help="by default, all kinds")
    parser.add_argument("--quick", action="store_true", help="a fifth of the time, and no file")
    options = parser.parse_args()
    options.address = options.address.rstrip("/")
    names = options.scenarios or ["mix", "more"]
    if names == ["all"]:
        names = [name for name in SCENARIOS if name != "against" or options.against]
    for name in names:
        if name not in SCENARIOS:
            parser.error(f"{name} is none of {', '.join(SCENARIOS)}")
        if options.address and not SCENARIOS[name].remote:
            parser.error(f"{name} needs servers of its own")
    if "against" in names and not options.against:
        parser.error("against needs --against CHECKOUT")
    processors = pin_processors()
    servers = Servers(options)
    sections = {}
    try:
        for name in names:
            scenario, start = SCENARIOS[name], time.monotonic()
            seconds = options.seconds or scenario.seconds * (0.2 if options.quick else 1)
            sections[scenario.title] = text = scenario.measure(servers, seconds)
            print(f"\n## {scenario.title} ({time.monotonic() - start:.0f} s)\n\n{text}", flush=True)
    finally:
        servers.end()
    if not options.quick and not options.address:
        words = ["CHECKOUT" if word == str(options.against) else word for word in sys.argv[1:]]
        command = " ".join(["python -m benchmarks.load", *words])
        order = [scenario.title for scenario in SCENARIOS.values()]
        report.write(sections, order, processors, command)


if __name__ == "__main__":
    main()
