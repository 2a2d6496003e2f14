"""What the app does once, when its first page is opened, and whom it serves."""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import logging
import os
import socket
import stat
import sys
import threading
import time
from contextlib import suppress

import streamlit as st
import torch
from streamlit import runtime

from explorer import limits, sandbox
from explorer.ui.server.memory import is_page_running, watch_memory
from explorer.ui.server.serving import is_local

#: Seconds after which the sandbox tests itself: the first readers have their answers by then.
SELF_TEST_DELAY = 10.0
#: Imported when a network is built or stepped for the first time: each takes more than a second.
_SLOW = ("torch._dynamo", "explorer.torchvision_guard")

_self_test_failure: sandbox.SelfTestFailure | None = None


@functools.cache
def prepare_process() -> None:
    """Prepare this process; later calls do nothing. Raises `sandbox.OptionError`.

    Starts the sandbox, so that the first program need not wait for it; gives each reader's thread
    one processor, since helper threads would slow the others down; makes a GPU round float32 no
    more than the CPU does; and spares the garbage collector the imported modules: a full
    collection takes 0.2 s with them. Sees to memory that returns and to a quick end, too.
    """
    sandbox.start()
    send_small_messages_at_once()
    threading.Thread(target=_end_with_main_thread, name="end").start()
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    threading.Thread(target=_finish_when_idle, name="imports", daemon=True).start()
    watch_memory()
    threading.Thread(target=_test_walls, name="self-test", daemon=True).start()


def refusal() -> str:
    """Why the reader whose page is being run is not served; empty if they are.

    Without the kernel's walls a program reaches this machine: only its own users may run one then.
    """
    if not sandbox.missing() or reader_is_local():
        return ""
    return (
        "This copy of the app can only be used on the computer it runs on, because that computer "
        f"lacks {' and '.join(sandbox.missing())}. Landlock and seccomp are the parts of the Linux "
        "kernel that keep the programs readers type away from everything else. The app's operator "
        "can run it on Linux 5.13 or newer with both."
    )


def warning_for_operator() -> str:
    """What the self-test found; empty if nothing."""
    if _self_test_failure is None:
        return ""
    return (
        "For the operator of this app: some programs fail because this machine needs system calls "
        f"that are not on the list. The first that fail are those for “{_self_test_failure.part}”; "
        "the log has the error. Until the list is corrected, set EXPLORER_WALLS=wide. "
        + sandbox.describe_walls()
    )


def reader_is_local() -> bool:
    """Whether the reader is on this machine. (Streamlit's address of a loopback one is None.)"""
    return is_local(st.context.ip_address or "localhost", st.context.headers)


def _test_walls() -> None:
    global _self_test_failure
    print(sandbox.describe_walls(), file=sys.stderr, flush=True)
    time.sleep(SELF_TEST_DELAY)
    try:
        _self_test_failure = failure = sandbox.find_failure(sandbox.call)
    except OSError:  # no server can be started: whoever runs a program is told so, too
        logging.getLogger(__name__).exception("the sandbox's self-test could not be made")
        return
    if failure is not None:
        logging.getLogger(__name__).error(
            "the sandbox's self-test failed at “%s”: %s Until the list of system calls is "
            "corrected, set EXPLORER_WALLS=wide.",
            failure.part,
            failure.error,
        )


def send_small_messages_at_once() -> None:
    """Set TCP_NODELAY for the server's sockets; those it accepts later inherit it.

    Without it a message waits until the browser has acknowledged the one before, 40 ms later.
    asyncio sets it only for sockets made with a protocol number, and Streamlit's is made without.
    """
    folder = next(filter(os.path.isdir, ("/proc/self/fd", "/dev/fd")), None)
    for name in os.listdir(folder) if folder else ():
        with suppress(OSError):  # the folder's own, closed meanwhile
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.family in (socket.AF_INET, socket.AF_INET6):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _end_with_main_thread() -> None:
    """End this process as soon as the server of pages has stopped: Python itself would first wait
    for every reader's program, then spend a second freeing the objects of torch.

    Not a daemon, so Python waits for this thread. In a test's process pages run without a server.
    """
    threading.main_thread().join()
    if runtime.exists():
        atexit._run_exitfuncs()  # among others, ends the sandbox
        os._exit(0)


def _finish_when_idle() -> None:
    """Import what the first page did not need, once it has its answer, then freeze all live objects
    out of the collector's reach, both while no page is being run.

    A page's run refers to its reader's session, and what is frozen is never freed.
    """
    until = time.monotonic() + limits.FIRST_ANSWER_SECONDS
    while not sandbox.is_ready() and time.monotonic() < until:
        time.sleep(0.25)
    time.sleep(1.0)
    for name in _SLOW if runtime.exists() else ():
        _wait_until_idle()
        importlib.import_module(name)
    while True:
        _wait_until_idle()
        gc.collect()
        if not is_page_running():
            gc.freeze()
            return


def _wait_until_idle() -> None:
    while is_page_running():
        time.sleep(0.25)
