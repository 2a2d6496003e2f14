"""Live runs: one child performs one request of its reader after the other."""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, client
from explorer.sandbox.kernel import is_halted
from explorer.sandbox.live import LiveRun, only_computes
from explorer.sandbox.messages import LIMITS, Task, limits_of
from explorer.sandbox.server import Request, RunningRequest, Server
from explorer.trace.examples import EXAMPLES
from explorer.training import Child, ProgramProblem, TrainingSession
from tests.marks import thorough
from tests.sandbox.conftest import OPTIONS
from tests.sandbox.test_calls import eventually, gone
from tests.sandbox.test_forged_frames import PRELUDE
from tests.sandbox.test_full_queue import BusyPool, NoScratch, ReaderConnection
from tests.sandbox.test_stop import started
from tests.sandbox.untimed import untimed

#: Seconds that a request may take on a busy machine.
PATIENT = 30.0
DOUBLE = "import torch\nx = torch.tensor(2.0, requires_grad=True)\n(x * x).backward()"


def pids(call: Any, count: int) -> list[int]:
    """The process ids of the children that performed this live call of `sleep`, and the next."""
    answers = [call.result()]
    for _ in range(count - 1):
        call.again(0)
        answers.append(call.result())
    return answers


def begin(box: Sandbox, reader: str) -> Any:
    return box.submit("sleep", 0, reader=reader, live=True, timeout=PATIENT)


# -- the child that stays ----------------------------------------------------------------------


@pytest.mark.parametrize("sandbox", ["forking", thorough("portable")], indirect=True)
def test_one_child_performs_one_request_after_the_other(sandbox: Sandbox) -> None:
    call = begin(sandbox, "a")
    first, *others = pids(call, 4)
    assert others == [first] * 3
    assert call.connected
    call.cancel()
    assert eventually(lambda: gone(first))


def test_a_child_that_has_rested_is_replaced() -> None:
    box = Sandbox(**OPTIONS | {"processes": 1, "rest": 0.1})
    try:
        call = begin(box, "a")
        first, pid = call.result(), box.pid
        assert eventually(lambda: gone(first), seconds=20)
        call.again(0)
        assert call.result() != first
        assert box.pid == pid
    finally:
        box.stop()


def test_a_reader_has_one_child_and_few_readers_have_any(forking: Sandbox) -> None:
    calls = [begin(forking, reader) for reader in ("a", "b", "c")]
    kept = [len({*pids(call, 3)}) for call in calls]
    assert kept == [1, 1, 3]  # two processors
    assert len({*pids(begin(forking, "a"), 3)}) == 3
    calls[0].cancel()
    assert eventually(lambda: len({*pids(begin(forking, "c"), 3)}) == 1)


def test_children_that_rest_take_no_turn_from_others(forking: Sandbox) -> None:
    calls = [begin(forking, reader) for reader in ("a", "b")]  # as many as there are processors
    first = [call.result() for call in calls]
    assert forking.call("double", [2], reader="c") == [4]
    for call in calls:
        call.again(0)
    assert [call.result() for call in calls] == first


def test_a_request_waits_for_its_turn_and_survives_its_child(forking: Sandbox) -> None:
    call = begin(forking, "a")
    first, pid = call.result(), forking.pid
    while True:  # until it has to wait: children that have run for 0.5 s give way to it
        others = [forking.submit("sleep", 1, reader=f"other {n}", timeout=PATIENT) for n in (1, 2)]
        for other in others:
            started(other)
        call.again(0)
        assert eventually(lambda: call.wait(0.01) or call.position == 1)
        if not call.done:
            break
    os.kill(first, signal.SIGKILL)
    assert call.result() != first
    assert forking.pid == pid


@pytest.mark.fast
@pytest.mark.parametrize(
    ("ends", "kind", "stays"), [(9, "A", True), (-1, "A", False), (9, "E", False)]
)
def test_no_child_takes_requests_for_ever(ends: float, kind: str, stays: bool) -> None:
    near, far = socket.socketpair()
    with selectors.DefaultSelector() as selector, socket.socket() as listener, near, far:
        pool: Any = BusyPool()
        scratch: Any = NoScratch()
        served = Server(selector, listener, near, "token", pool, 2.0, scratch)
        connection: Any = ReaderConnection()
        request = Request(connection, "a", Task("run", b"", 1.0, live=True), limits_of("run"))
        request.ends = time.monotonic() + ends
        served._live.append(request)
        running: Any = RunningRequest(request, None, time.monotonic())  # type: ignore[arg-type]
        assert served._stays(running, ord(kind)) == stays


# -- nothing is left of the last request ---------------------------------------------------------


def fresh(source: str) -> str:
    return json.dumps(untimed(sandbox.run(source, timeout=PATIENT)))


def child_of(live: LiveRun) -> int:
    """A name of the child that rests after the last request; none is the same as another's."""
    assert live._call is not None
    return id(live._call._connection or object())


@pytest.mark.thorough
def test_requests_in_one_child_are_as_in_fresh_ones() -> None:
    live = LiveRun(client.submit, limit=PATIENT)
    stayed = 0
    for example in EXAMPLES:
        expected, children = fresh(example.source), set()
        for _ in range(3):
            assert json.dumps(untimed(live.run(example.source))) == expected, example.key
            children.add(child_of(live))
        stayed += len(children) == 1
    live.close()
    assert stayed > 0.9 * len(EXAMPLES)  # the others take a fresh child each time


#: Programs that leave something behind, or that torch warns about once in each process.
UNTIDY = {
    "gradient mode": "torch.set_grad_enabled(False)\nprint((x * 2).requires_grad)",
    "print options": "torch.set_printoptions(precision=1)\nprint(torch.rand(3))",
    "random numbers": "torch.manual_seed(7)\nprint(torch.rand(2))",
    "an unfinished generator": "def g():\n    yield x\nh = [g()]\nnext(h[0])\nh.append(h)",
    "a hook that fails": "x.register_hook(lambda g: 1 / 0)\n(x * 2).sum().backward()",
    "an error in a mode": "with torch.no_grad():\n    raise ValueError('a')",
    "an error in a transform": "torch.func.vmap(lambda x: 1 / 0)(x)",
    "a graph in a cycle": "(x**2).sum().backward(create_graph=True)",
    "a warning": "print(x.T)",
    "another warning": "print(torch.ones(3, dtype=torch.complex64).float())",
}


def test_untidy_programs_change_nothing_for_the_next() -> None:
    sources = [
        f"import torch\nx = torch.ones(3, requires_grad=True)\n{code}" for code in UNTIDY.values()
    ]
    expected = [fresh(source) for source in sources]
    live = LiveRun(client.submit, limit=PATIENT)
    for source, answer in zip(sources, expected, strict=True):
        for _ in range(3):
            assert json.dumps(untimed(live.run(source))) == answer
    live.close()


@pytest.mark.parametrize(
    "code",
    [
        "import torch; torch.set_grad_enabled(False)",
        "import threading; threading.Thread(target=time.sleep, args=(9,)).start()",
        "import _thread; lock = _thread.allocate_lock(); lock.acquire(); "
        "_thread.start_new_thread(lambda: (lock.release(), time.sleep(9)), ()); lock.acquire()",
        "import numpy; numpy.random.rand()",
        "import torch; torch.relu = len",
        "import builtins; builtins.oct = max",
        "from explorer.sandbox import wire; wire.dump = lambda answer: b'\"FORGED\"'",
        "import sys; sys.settrace(lambda *_: None)",
    ],
)
def test_a_child_that_is_not_as_it_was_ends(forking: Sandbox, code: str) -> None:
    call = forking.submit("raw", {"code": f"{code}\nresult = os.getpid()"}, live=True)
    first = call.result()
    call.again({"code": "result = os.getpid()"})
    assert call.result() not in (first, "FORGED")


#: name -> program, whether its child stays for the next frame
TEXTS = {
    "torch": ("import torch\nx = torch.tensor(2.0)\nprint(x)", True),
    "an expression": ("2x + sin(y)", True),
    "a module": (
        "from torch import nn\nclass A(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.w = nn.Parameter(torch.ones(2))",
        True,
    ),
    "a gradient": ("w.grad = None\nw.data[0] = 1", True),
    "another module": ("import os\nos.getpid()", False),
    "a submodule": ("import torch.multiprocessing", False),
    "a part of a module": ("from torch import multiprocessing as m", False),
    "numpy, by a name": ("np.random.rand()", False),
    "a patch": ("import torch\ntorch.relu = len", False),
    "a patch of a class": ("import torch.nn as nn\nnn.Linear.forward = len", False),
    "a patch of what is imported": ("from torch import Tensor as T\nT.backward = len", False),
    "a deleted name": ("import torch\ndel torch.relu", False),
    "private names": ("().__class__.__subclasses__()", False),
    "code in a text": ("exec('import os')", False),
    "no program": ("x = (", False),
}


@pytest.mark.fast
@pytest.mark.parametrize("name", TEXTS)
def test_a_child_stays_with_a_text_that_only_computes(name: str) -> None:
    text, stays = TEXTS[name]
    assert only_computes(text) == stays


def test_a_child_serves_one_text_whose_numbers_may_change() -> None:
    live = LiveRun(client.submit, limit=PATIENT)
    children = []
    for text in (DOUBLE, DOUBLE.replace("2.0", "-3.5e1"), DOUBLE.replace("x * x", "x * 7")):
        live.run(text)
        children.append(child_of(live))
    live.close()
    assert children[0] != children[2]
    live = LiveRun(client.submit, limit=PATIENT)
    for number in ("2.0", "35", "3.5e1"):
        live.run(DOUBLE.replace("2.0", number), {"y": 1.0})
        children.append(child_of(live))
    live.close()
    assert len(set(children[3:])) == 1


def test_a_child_that_rests_does_nothing(forking: Sandbox) -> None:
    call = forking.submit("raw", {"code": "result = os.getpid()"}, live=True)
    pid = call.result()
    assert eventually(lambda: is_halted(pid))
    call.again({"code": "result = os.getpid()"})
    assert call.result() == pid
    call.cancel()
    assert eventually(lambda: gone(pid))


def test_a_live_child_collects_only_its_own_garbage(forking: Sandbox) -> None:
    """Also if the zygote was not warmed up yet, so that torch's objects are not frozen there."""
    call = forking.submit("raw", {"code": "import gc; result = len(gc.get_objects())"}, live=True)
    assert call.result() < 10_000
    call.cancel()


# -- children that do what they should not -------------------------------------------------------

#: One that answers as it should.
GOOD = "result = {'$': 'Trace', 'source': 'x', 'seed': 1}"
#: What a program does in the middle of a drag, and what is said.
HOSTILE = {
    "exit": ("os._exit(0)", "ended without a result"),
    "crash": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
    "fork": ("os.fork()", "could not be read|forbidden"),
    "sleep": ("time.sleep(60)", "takes longer than"),
    "loop": ("while True: pass", "takes longer than"),
    "memory": ("import torch\nx = []\nwhile True: x.append(torch.ones(2**24))", "more memory"),
    "garbage": ("send(b'\\xff' * 64)", "could not be read"),
    "an unknown frame": ("frame(b'Z', b'null')", "could not be read"),
    "a next request": ("frame(b'N', b'null')", "could not be read"),
    "an answer that is none": ("A(b'[1]')", "could not be read"),
    "progress without an end": ("while True: P(b'1')", "could not be read"),
}


@pytest.fixture
def drag(forking: Sandbox, monkeypatch: pytest.MonkeyPatch) -> LiveRun:
    """A live run of plain Python."""
    forking.call("double", 1, timeout=60)  # starts the server
    monkeypatch.setitem(LIMITS, "raw", LIMITS["run"])
    return LiveRun(Forging(forking).submit, "a", limit=PATIENT)


class Forging:
    """Has the child run each program as plain Python."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box

    def submit(self, job: str, request: Any, **options: Any) -> Any:
        call = self.box.submit("raw", raw(request), **options)
        again = call.again
        call.again = lambda request: again(raw(request))  # type: ignore[method-assign]
        return call


def raw(request: Any) -> Any:
    return {"code": PRELUDE + request["source"]}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_in_a_drag(drag: LiveRun, name: str) -> None:
    code, said = HOSTILE[name]
    assert drag.run(GOOD).seed == 1
    drag._limit = 1.0 if "longer" in said else PATIENT
    with pytest.raises(ProgramRefused, match=said) as refused:
        drag.run(code + "\ntime.sleep(60)")
    assert refused.value.error.message.endswith(".")
    assert not drag.alive
    drag._limit = PATIENT
    assert drag.run(GOOD).seed == 1
    drag.close()


def test_an_answer_too_many_ends_the_child(drag: LiveRun) -> None:
    code = "trace(b'\"seed\":1'); trace(b'\"seed\":2'); time.sleep(60)"
    for _ in range(3):
        assert drag.run(code).seed == 1
        time.sleep(0.1)
    drag.close()


# -- LiveRun -------------------------------------------------------------------------------------


def test_a_slow_program_ends_the_drag_and_not_the_next() -> None:
    live = LiveRun(client.submit, limit=0.5)
    sandbox.run("x = 1")
    with pytest.raises(ProgramRefused, match=r"longer than 0\.5 s"):
        live.run("while True:\n    sum(range(100_000))")
    live._limit = PATIENT
    assert live.run("x = 1").error is None
    live.close()
    with pytest.raises(ProgramRefused):
        live.run("x = 1")


def test_one_child_for_many_paths_ahead() -> None:
    """Programs that change the process for those after them change nothing for the next path."""
    live = LiveRun(client.submit, limit=PATIENT)
    setup = "import torch\nw = torch.ones(2, requires_grad=True)\n"
    untidy = (
        "torch.set_default_dtype(torch.float64)",
        "torch.autograd.set_detect_anomaly(True)",
        "torch.set_grad_enabled(False)",
        "torch.manual_seed(7)",
        "",
    )

    def session(code: str) -> TrainingSession:
        return TrainingSession(
            ProgramProblem(setup + code, "loss = ((w - torch.rand(2)) ** 2).sum()"),
            lr=0.1,
            where=Child(
                lambda request: sandbox.call("replay", request, timeout=PATIENT),
                lambda request: live.call("look_ahead", request),
            ),
        )

    def path(of: TrainingSession) -> Any:
        return of.look_ahead(steps=5, seconds=60).path.tolist()

    for one in map(session, untidy):
        first, children = path(one), {child_of(live)}
        for _ in range(3):
            assert path(one) == first
            children.add(child_of(live))
        assert len(children) == 1
        assert live.run("x = 1").variables == {"x": 1}  # of another job, in another child
        assert path(one) == first
    live.close()


def test_only_some_jobs_are_done_in_one_child() -> None:
    live = LiveRun(client.submit)
    with pytest.raises(ValueError, match="replay"):
        live.call("replay", {})


def test_a_path_that_takes_too_long() -> None:
    live = LiveRun(client.submit, limit=0.5)
    problem = ProgramProblem(
        "import torch\nw = torch.ones(2, requires_grad=True)\nslow = [0]",
        "for _ in range(slow[0]):\n    sum(range(100_000))\nslow[0] = 10**6\nloss = (w**2).sum()",
    )
    session = TrainingSession(
        problem,
        lr=0.1,
        where=Child(
            lambda request: sandbox.call("replay", request, timeout=PATIENT),
            lambda request: live.call("look_ahead", request),
        ),
    )
    with pytest.raises(ProgramRefused, match=r"longer than 0\.5 s"):
        session.look_ahead(seconds=60)
    assert not live.alive


def test_threads_get_their_own_answers() -> None:
    live = LiveRun(client.submit, limit=PATIENT)
    with ThreadPoolExecutor(4) as pool:
        traces = list(pool.map(lambda n: live.run(f"x = {n}", seed=n), range(40)))
    live.close()
    assert [trace.variables for trace in traces] == [{"x": n} for n in range(40)]
    assert [trace.seed for trace in traces] == list(range(40))


def test_a_live_run_that_nobody_holds_ends() -> None:
    """As with the session of a reader who has left."""
    live = LiveRun(client.submit, limit=PATIENT)
    live.run("x = 1")
    connection = weakref.ref(live._call._connection)  # type: ignore[union-attr]
    gc.disable()
    try:
        del live
        assert connection() is None
    finally:
        gc.enable()


def test_closing_while_another_thread_waits(forking: Sandbox) -> None:
    sandbox.run("x = 1")
    live = LiveRun(client.submit, limit=3.0)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(live.run, "while True:\n    sum(range(100_000))")
        time.sleep(0.2)
        live.close()
        assert not slow.done()  # it does not wait for the program's end
        with pytest.raises(ProgramRefused):
            slow.result()
    assert not live.alive
