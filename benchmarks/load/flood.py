"""What readers notice of one client that floods the server: a section of LOAD.md.

The client is a process of its own with a low priority, as if it were another machine. flooder.py
says what it requests; meanwhile readers use the app as always.
"""

from __future__ import annotations

from benchmarks.load import report
from benchmarks.load.crowd import median_and_p95
from benchmarks.load.flooder import KINDS, RATE, flooding
from benchmarks.load.servers import Servers, crowd

#: Readers beside the client, and the 95th percentile of their times that is still good.
_READERS, LIMIT = 10, 1.5


def measure(servers: Servers, seconds: float) -> str:
    """Readers without a flood, and with one of each kind."""
    server = servers.one()
    rows, crowds = [], []
    for kind in ("", *(servers.options.floods or KINDS)):
        with flooding(server.address, int(bool(kind)), kind) as sent:
            before = sent.value
            one = crowd(servers, server, _READERS, seconds)
            requests = (sent.value - before) / (one.seconds + servers.options.warm_up)
        longest = max((result.seconds for result in one.done), default=float("nan"))
        times = [f"{number:.2f}" for number in (*median_and_p95(one.done), longest)]
        errors, share = str(len(one.errors)), f"{one.server:.2f}" if server.ours else ""
        name = KINDS.get(kind, "none")
        rows.append([name, f"{requests:.0f}", str(len(one.done)), *times, errors, share])
        print(rows[-1], flush=True)
        crowds.append(one)
    head = ["flood", "requests/s", "readers' actions", "median, s", "95th percentile, s"]
    head += ["longest, s", "errors", "server's processors"]
    text = (
        f"{_READERS} readers of the mix, and one client that requests {RATE:g} runs of a page a "
        f"second. The readers' 95th percentile should stay below {LIMIT:g} s."
    )
    return "\n\n".join([text, report.table(head, rows), report.errors_list(crowds)])
