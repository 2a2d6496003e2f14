"""What the app does once, when its first page is opened."""

from __future__ import annotations

import functools
import gc
import threading
import time

import torch

from explorer import sandbox


@functools.cache
def prepare_process() -> None:
    """Prepare this process; later calls do nothing. Raises `sandbox.OptionError`.

    Starts the sandbox, so that the first program need not wait for it; gives each reader's thread
    one processor, since helper threads would slow the others down; makes a GPU round float32 no
    more than the CPU does; and spares the garbage collector the imported modules: a full
    collection takes 0.2 s with them.
    """
    sandbox.start()
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    _spare_collector_when_idle()


def _spare_collector_when_idle() -> None:
    """Freeze all live objects out of the collector's reach as soon as no page is being run.

    Not at once: a page's run refers to its reader's session, and what is frozen is never freed.
    """
    threading.Thread(target=_freeze_when_idle, name="collector", daemon=True).start()


def _freeze_when_idle() -> None:
    while True:
        if not _page_runs():
            gc.collect()
            if not _page_runs():
                gc.freeze()
                return
        time.sleep(0.25)


def _page_runs() -> bool:
    """Whether any reader's page is being run."""
    return any("ScriptRunner" in thread.name for thread in threading.enumerate())
