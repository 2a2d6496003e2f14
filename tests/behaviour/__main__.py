"""Compare what programs do now with what is kept: `python -m tests.behaviour [name …]`.

`--renew` keeps what they do now, of the named ones or of all. Each program runs in a process of its
own. Ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from tests.behaviour.facts import facts_of
from tests.known_programs import PROGRAMS

GOLDEN = Path(__file__).with_name("golden.json")
#: Seconds to wait for a program; then all of this ends with an error.
LIMIT = 300


def observe(names: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run these programs, each in a fork of this process; their names and facts."""
    forks = multiprocessing.get_context("fork")
    with forks.Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        found = pool.imap(_observe, names)
        with suppress(StopIteration):
            while True:
                yield found.next(LIMIT)


def _observe(name: str) -> tuple[str, dict[str, Any]]:
    torch.set_num_threads(1)
    facts: dict[str, Any] = json.loads(json.dumps(facts_of(PROGRAMS[name])))
    return name, facts


def differences(kept: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """One line for each fact that differs."""
    lines = []
    for fact in sorted({*kept, *found}):
        before, now = kept.get(fact), found.get(fact)
        if before == now:
            continue
        if isinstance(before, list) and isinstance(now, list):
            before, now = dict(enumerate(before)), dict(enumerate(now))
        if isinstance(before, dict) and isinstance(now, dict):
            parts = sorted(k for k in {*before, *now} if before.get(k) != now.get(k))
            lines += [f"{fact} {k}: {_short(before.get(k))} → {_short(now.get(k))}" for k in parts]
        else:
            lines.append(f"{fact}: {_short(before)} → {_short(now)}")
    return lines


def _lines(facts: dict[str, Any]) -> str:
    """The facts of a program as JSON, one on each line, so that a difference is short."""
    pairs = (f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in facts.items())
    return "{\n" + ",\n".join(pairs) + "}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]} …"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.behaviour", description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of names; without, all")
    parser.add_argument("--renew", action="store_true", help="keep what the programs do now")
    arguments = parser.parse_args()
    wanted = [n for n in PROGRAMS if n.startswith(tuple(arguments.names or [""]))]
    kept = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {"programs": {}}
    capability = torch.backends.cpu.get_cpu_capability()
    if kept.get("cpu", capability) != capability:
        print(f"Kept on a processor with {kept['cpu']}, run on one with {capability}: ", end="")
        print("the last digits of sums may differ.")
    found, different = dict(kept["programs"]), 0
    for name, facts in observe(wanted):
        lines = differences(kept["programs"].get(name, {}), facts)
        different += bool(lines)
        if lines and not arguments.renew:
            print(name, *lines, sep="\n    ", flush=True)
        found[name] = facts
    gone = [] if arguments.names else [name for name in kept["programs"] if name not in PROGRAMS]
    print(f"{len(wanted)} programs, {different} differ, {len(gone)} are gone")
    if arguments.renew:
        programs = {name: found[name] for name in PROGRAMS if name in found}
        lines = [f"{json.dumps(name)}: {_lines(facts)}" for name, facts in programs.items()]
        text = ",\n".join(lines)
        GOLDEN.write_text(f'{{"cpu": {json.dumps(capability)}, "programs": {{\n{text}\n}}}}\n')
        return 0
    return 1 if different or gone else 0


if __name__ == "__main__":
    sys.exit(main())
