"""The class that an explanation is about."""

from __future__ import annotations

import streamlit as st

from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.results import ModelInput


def choose_class(model_input: ModelInput, help: str) -> tuple[int, str]:
    """Draw the list of the five most likely classes; the index and the name of the chosen one."""
    names = {entry.index: entry.label for entry in results.prediction(model_input)}
    if st.session_state.get("class", next(iter(names))) not in names:
        st.session_state["class"] = next(iter(names))
    target = st.selectbox(
        "Class",
        list(names),
        format_func=lambda index: names.get(index, str(index)),
        key="class",
        bind="query-params",
        width=300,
        help=f"{help}, among the five most likely",
    )
    return target, names[target]
