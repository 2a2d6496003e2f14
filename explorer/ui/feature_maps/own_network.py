"""The reader's own network: a program that never runs in the app. A child says what it takes, and
answers every question about it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from torch import Tensor, nn

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.ui.common.copy_link import not_in_link
from explorer.ui.common.editor import TOO_LONG, fits_in_link
from explorer.ui.common.open_network import take_program
from explorer.ui.common.pages import MODULE
from explorer.ui.common.sandbox_call import wait_for
from explorer.ui.common.shared_cache import SharedCache
from explorer.ui.common.widgets import note, refuse
from explorer.ui.feature_maps.weights_file import upload
from explorer.vision.own_network import OwnNetwork

_PROGRAM, _FILE = "Program", "File"
_FIRST = """import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        return self.fc(x.mean((2, 3)))

model = Net()
model(torch.randn(1, 3, 64, 64))
"""

#: What is known of programs, by the program and the file of weights.
_known: SharedCache[OwnNetwork] = SharedCache(4 * 2**20)


class NotHere(nn.Module):
    """Stands where a model of the app would: a reader's module runs in a child alone."""

    def forward(self, *inputs: Tensor) -> Tensor:
        raise RuntimeError("a reader's network never runs in the app")


@dataclass(frozen=True, eq=False)
class OwnModule:
    """A program with an image network, and a file of weights for it, if there is one."""

    source: str
    file: bytes
    digest: str
    network: OwnNetwork


def choose_own() -> OwnModule | None:
    """Draw the program and the choice of its weights; None, with the reason, without a network."""
    given = take_program()
    if given:
        st.session_state[MODULE] = given
    source = _write_program()
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    choice = row.segmented_control(
        "Weights of your network",
        [_PROGRAM, _FILE],
        default=_PROGRAM,
        required=True,
        key="own-weights",
        bind="query-params",
        label_visibility="collapsed",
        help="The weights that the program makes, or those of a file",
    )
    file = upload("your network") if choice == _FILE else None
    data, digest = file or (b"", "")
    try:
        network = _read(source, data, digest)
    except ProgramRefused as refused:
        error = refused.error
        line = f"Line {error.line}: " if error.line else ""
        refuse(f"{line}{error.message} {error.hint or ''}".strip())
        return None
    colours = "in colour" if network.channels == 3 else "in grey"
    with row:
        note(
            f"{network.name} gets the image {colours}, {network.side} × {network.side} pixels, "
            "with values from 0 to 1."
        )
    for sentence in network.notes:
        note(sentence)
    key = hashlib.sha256(f"{digest} {source}".encode()).hexdigest()
    return OwnModule(source, data, key, network)


def ask_child(own: OwnModule, image: Any, asked: Sequence[tuple[str, Mapping[str, Any]]]) -> Any:
    """The results of runs on an image. Raises ProgramRefused."""
    submit = partial(sandbox.submit_vision, own.source, asked, image, own.file, timeout=_seconds())
    return wait_for(submit, label="Running your network", place=st.empty())


def submit_one(
    own: OwnModule, image: Any, name: str, arguments: Mapping[str, Any]
) -> Callable[..., Any]:
    """A function that submits one run, which may take long."""
    asked, seconds = [(name, arguments)], _seconds()
    return partial(sandbox.submit_vision, own.source, asked, image, own.file, timeout=seconds)


def _write_program() -> str:
    """Draw the program, folded away once it is there."""
    text = st.session_state.get(MODULE) or st.query_params.get(MODULE) or _FIRST
    fits = fits_in_link(text)
    with st.expander("Program of your network", icon=":material/code:"):
        source = st.text_area(
            "Program of your network",
            _FIRST,
            height=320,
            key=MODULE,
            bind="query-params" if fits else None,
            persist_state="session",
            label_visibility="collapsed",
            help="Defines a module for images. The last line may say its input: "
            "model(torch.randn(1, 3, 64, 64)). Ctrl+Enter runs it",
        )
    if not fits:
        st.query_params.pop(MODULE, None)
        not_in_link(TOO_LONG)
    return source or ""


def _read(source: str, data: bytes, digest: str) -> OwnNetwork:
    key = source, digest
    network = _known.get(key)
    if network is None:
        submit = partial(sandbox.submit_own_network, source, data, timeout=_seconds())
        network = wait_for(submit, label="Reading your network", place=st.empty())
        _known.put(key, network)
    return network


def _seconds() -> float:
    return sandbox.options().seconds


def to_array(value: Any) -> Any:
    """An argument of a run as a child gets it."""
    return value.numpy() if isinstance(value, Tensor) else value
