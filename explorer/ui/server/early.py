"""What has to be done before torch is imported, and the imports of all pages.

Every page imports this first, and no module of the library imports it: two threads would wait for
each other's imports.
"""

import importlib
import pkgutil

from streamlit import runtime

import explorer.ui
from explorer.sandbox.options import start_ahead
from explorer.ui.server.c_library import limit_arenas

if runtime.exists():  # and not in a test or a notebook
    limit_arenas()
    start_ahead()
    # Readers who come to a new server at once open its pages in threads of their own. Where two of
    # them import modules that need each other, as those of a package do, Python hands out one that
    # is half imported. So the first imports all, and the others wait here.
    for module in pkgutil.walk_packages(explorer.ui.__path__, "explorer.ui."):
        importlib.import_module(module.name)
