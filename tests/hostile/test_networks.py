"""Hostile programs as the reader's own network: each ends in time and alone, is refused or gives a
report that can be drawn, and the next reader's network is right."""

import os
import textwrap
import time
from pathlib import Path

import pytest

from explorer import sandbox
from explorer.networks.settings import Settings
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox
from tests.hostile.conftest import PATIENCE, SECRET, Canary, memory
from tests.hostile.corpus import GROUPS
from tests.hostile.corpus.own_networks import NETWORKS
from tests.marks import sample

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")

LIMIT = 1.0
GOOD = "model = nn.Linear(3, 2)\nx = torch.ones(2, 3)\nloss = model(x).pow(2).mean()\n"
#: One program of so many in a group is run, and in a group whose programs have to be stopped.
EVERY, SLOW = 60, {"time": 20, "memory": 30}
#: A network that does in forward what the program does.
INSIDE = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, given):
        result = self.fc(given)
{}
        return result

model = Net()
model(torch.ones(2, 3))
"""


def inspected(source: str, server: Sandbox, limit: float = LIMIT):
    """The network of a program and the seconds it took; an error in place of one that has none."""
    start = time.monotonic()
    call = sandbox.submit_network(
        "inspect_program", Settings("Your own", source), {}, timeout=limit, sandbox=server
    )
    try:
        return call.result(), time.monotonic() - start
    except ProgramRefused as refused:
        return refused.error, time.monotonic() - start


def check_each(sources, server: Sandbox, canary: Canary):
    expected = inspected(GOOD, server, 30)[0].inspected.report.loss
    before = memory(os.getpid())
    for text in sources:
        source = text.replace("{file}", str(canary.file)).replace("{name}", SECRET)
        source = source.replace("{port}", str(canary.port))
        found, seconds = inspected(source, server)
        assert seconds < LIMIT + PATIENCE, source[-300:]
        assert "do not tell" not in repr(found), source[-300:]
        assert canary.is_untouched(), source[-300:]
    good = inspected(GOOD, server, 30)[0]
    assert good.inspected.report.loss == expected
    assert memory(os.getpid()) - before < 50 * 2**20


@pytest.mark.parametrize("group", sample(GROUPS, every=4))
def test_a_hostile_program_is_no_network(group, server, canary):
    programs = GROUPS[group][:: SLOW.get(group, EVERY)]
    check_each(programs, server, canary)


@pytest.mark.parametrize("group", sample(GROUPS, every=4))
def test_a_hostile_forward(group, server, canary):
    programs = GROUPS[group][5 :: SLOW.get(group, EVERY)]
    inside = [INSIDE.format(textwrap.indent(program, " " * 8)) for program in programs]
    check_each(inside, server, canary)


@pytest.mark.parametrize("part", sample(range(4), every=4))
def test_a_network_that_means_harm_ends_alone(part, server, canary):
    check_each(NETWORKS[part::4], server, canary)
