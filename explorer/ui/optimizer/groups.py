"""Parameters with a learning rate of their own: a second group of the optimizer.

In the link they are `group=b,net.0.bias` and `group.lr=0.01`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from explorer.ui.common.query_params import is_finite, validate

#: The option `groups` of a session.
Groups = list[dict[str, Any]]
NAMES, LR = "group", "group.lr"
#: Most characters and names in the link.
_LONGEST, _MOST = 2000, 50


def read_groups() -> Groups:
    """The groups that the link asks for."""
    text, lr = (st.query_params.get(key, "") for key in (NAMES, LR))
    names = [name for name in text[:_LONGEST].split(",") if name][:_MOST]
    validate(LR, _is_rate)
    return [{"parameters": names, "lr": float(lr)}] if names and _is_rate(lr) else []


def to_link(groups: Groups) -> dict[str, str]:
    """The groups as the link has them."""
    return {
        key: text
        for group in groups[:1]
        for key, text in ((NAMES, ",".join(group["parameters"])), (LR, f"{group['lr']:.15g}"))
    }


def describe_groups(groups: Groups) -> list[str]:
    """The groups in words, without names, which may be a stranger's."""
    return [f"lr = {group['lr']:g} for {len(group['parameters'])} of them" for group in groups]


def draw_groups(
    groups: Groups, names: Sequence[str], lr: float, keep: Callable[[Groups], None]
) -> None:
    """Draw the list of the parameters `names`, and the learning rate of those picked. `keep` is
    given what was changed."""
    chosen: dict[str, Any] = groups[0] if groups else {"parameters": [], "lr": lr / 10}
    st.session_state[NAMES] = [name for name in chosen["parameters"] if name in names]
    st.session_state[LR] = chosen["lr"]

    def changed() -> None:
        picked, rate = st.session_state[NAMES], st.session_state[LR]
        rate = chosen["lr"] if rate is None else float(rate)
        keep([{"parameters": list(picked), "lr": rate}] if picked else [])

    with st.container(horizontal=True, gap="small", key="groups"):
        st.multiselect(
            "Parameters with their own lr",
            names,
            key=NAMES,
            on_change=changed,
            max_selections=len(names) - 1,
            placeholder="none",
            help="They form a second param_group. Choosing them begins a new run.",
        )
        if groups:
            st.number_input(
                "their lr",
                0.0,
                step=None,
                format="%g",
                key=LR,
                on_change=changed,
                width=112,
                help="The learning rate of this group",
            )


def _is_rate(text: str) -> bool:
    return is_finite(text) and 0 <= float(text) <= 1e30
