"""The entrance: what serves the app, and the home page, an expression to type and drag."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

if get_script_run_ctx(suppress_warning=True) is None:
    # `streamlit run` imports this file before anybody is served: whatever a stranger's first
    # request must not meet is put right there.
    from explorer.ui.server.readiness import ready_route
    from explorer.ui.server.serving import middleware, prepare_server

    app = st.App(__file__, lifespan=prepare_server, middleware=middleware(), routes=[ready_route()])
else:
    import explorer.ui.server.early  # noqa: F401  (first)
    from explorer.ui.home.page import draw_home

    draw_home()
