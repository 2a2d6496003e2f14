"""The garbage collector spared the imported modules: a full round takes 0.2 s with them."""

from __future__ import annotations

import gc
import threading
import time


def spare_when_idle() -> None:
    """Take what there is out of the collector's rounds as soon as no page is being run.

    Not at once: a run that is spared refers to its reader's session, and nothing would ever free
    either, nor what the session holds.
    """
    threading.Thread(target=_spare, name="collector", daemon=True).start()


def _spare() -> None:
    while True:
        if not _running():
            gc.collect()
            if not _running():
                gc.freeze()
                return
        time.sleep(0.25)


def _running() -> bool:
    """Whether any reader's page is being run."""
    return any("ScriptRunner" in thread.name for thread in threading.enumerate())
