"""What has to be done before torch is imported. Pages and the home page import this first."""

from streamlit import runtime

from explorer.sandbox.ahead import start_ahead
from explorer.ui.common.c_library import limit_arenas

if runtime.exists():  # and not in a test or a notebook
    limit_arenas()
    start_ahead()
