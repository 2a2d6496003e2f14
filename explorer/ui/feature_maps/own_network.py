"""What the reader brings: a file of weights for a network of the app, or a network of their own.

Safetensors are read here; what torch.save writes is read in a child inside its walls, and nowhere
where there are none. A reader's program never runs in the app: a child says what its network takes,
and answers every question about it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from torch import Tensor, nn

from explorer import limits, sandbox
from explorer.program import ProgramRefused
from explorer.ui.pages import MODULE
from explorer.ui.server.sandbox_call import wait_for
from explorer.ui.server.shared_cache import SharedCache
from explorer.ui.widgets.basics import note, refuse
from explorer.ui.widgets.copy_link import not_in_link
from explorer.ui.widgets.editor import TOO_LONG, fits_in_link
from explorer.ui.widgets.open_network import take_program
from explorer.ui.widgets.reconnect import ask_again, size_limit
from explorer.vision import Backbone, WeightsError, copy_weights
from explorer.vision.backbones import build_untrained, with_classes
from explorer.vision.own_network import OwnNetwork
from explorer.vision.weights import fit, is_pickled, read_safetensors

TYPES = ["safetensors", "pt", "pth", "bin", "ckpt"]

#: The key of the digest of the uploaded file in the session, with the file's id.
_DIGEST = "weights-digest"


@dataclass(frozen=True, eq=False)
class OwnWeights:
    """A network with the weights of a file, named by the file's hash, and sentences about how they
    were read. The record is that of the network with the file's classes."""

    backbone: Backbone
    model: nn.Module
    digest: str
    notes: tuple[str, ...]


_kept: SharedCache[OwnWeights] = SharedCache(limits.KEPT_MODELS)


def choose_file(backbone: Backbone) -> OwnWeights | None:
    """Draw the upload, and what is to be said about the file; None if it cannot be used."""
    uploaded = upload(backbone.title)
    if uploaded is None:
        return None
    try:
        own = _read_weights(backbone, *uploaded)
    except WeightsError as error:
        refuse(str(error))
        return None
    except ProgramRefused as refused:  # not kept: the next try may succeed
        refuse(f"The weights could not be read: {refused.error.message}")
        return None
    for sentence in own.notes:
        note(sentence)
    return own


def upload(title: str) -> tuple[bytes, str] | None:
    """Draw the upload of weights for the network called `title`. Returns the file and its hash."""
    kinds, most = _kinds(), limits.WEIGHTS_MEGABYTES
    file = st.file_uploader(
        "Weights",
        type=TYPES,
        key="weights-file",
        max_upload_size=size_limit("weights-file", most),
        help=f"A state dict of {title}, saved with {kinds}",
        label_visibility="collapsed",
    )
    ask_again("weights-file", file, "Upload your weights again.")
    if file is None:
        note(f"Upload a state dict of {title} saved with {kinds}, up to {most} MB.")
        return None
    if file.size > most * 2**20:
        refuse(f"The file is larger than {most} MB.")
        return None
    not_in_link("It opens without your weights: they are never stored.")
    data = file.getvalue()
    if is_pickled(data) and sandbox.missing():
        refuse(
            "Files of torch.save (.pt, .pth) can run code when they are opened. This computer "
            f"lacks {' and '.join(sandbox.missing())}, which would confine it, so only "
            "safetensors are read here."
        )
        return None
    return data, _digest(file)


def _read_weights(backbone: Backbone, data: bytes, digest: str) -> OwnWeights:
    """The network with the weights in the file. Raises WeightsError or ProgramRefused."""
    return _kept.get_or_make((backbone.name, digest), lambda: _load(backbone, data, digest))


def _load(backbone: Backbone, data: bytes, digest: str) -> OwnWeights:
    any_classes = bool(backbone.url)  # those of torchvision are often fine-tuned
    with st.spinner("Reading the weights"):
        model = build_untrained(backbone)
        needed: Mapping[str, Tensor] = model.state_dict()
        if not is_pickled(data):
            fitted = fit(needed, read_safetensors(data), any_classes=any_classes)
    if is_pickled(data):
        submit = partial(sandbox.submit_weights, data, needed, any_classes=any_classes)
        fitted = wait_for(submit, label="Reading the weights", place=st.empty())
    if fitted.classes:
        backbone = with_classes(backbone, fitted.classes)
        model = build_untrained(backbone)
    copy_weights(model, fitted.tensors)
    return OwnWeights(backbone, model, digest, fitted.notes)


def _kinds() -> str:
    return "safetensors" if sandbox.missing() else "torch.save or safetensors"


def _digest(file: Any) -> str:
    """The hash of an uploaded file, computed once: 240 MB take a quarter of a second."""
    last: tuple[str, str] = st.session_state.get(_DIGEST, ("", ""))
    if last[0] != file.file_id:
        last = file.file_id, hashlib.sha256(file.getbuffer()).hexdigest()
        st.session_state[_DIGEST] = last
    return last[1]


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
_known: SharedCache[OwnNetwork] = SharedCache(limits.KEPT_OWN_NETWORKS)


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
        network = _read_network(source, data, digest)
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


def _read_network(source: str, data: bytes, digest: str) -> OwnNetwork:
    key = source, digest
    network = _known.get(key)
    if network is None:
        submit = partial(sandbox.submit_own_network, source, data, timeout=_seconds())
        network = wait_for(submit, label="Reading your network", place=st.empty())
        _known.put(key, network)
    return network


def _seconds() -> float:
    return sandbox.options().seconds


#: A function of `explorer.vision.RUNS` and its arguments.
Asked = tuple[Callable[..., Any], Mapping[str, Any]]


def ask_child(own: OwnModule, image: Any, asked: Sequence[Asked]) -> list[Any]:
    """The results of runs on an image. Raises ProgramRefused."""
    call = child_call(own, image, asked)
    results: list[Any] = wait_for(call, label="Running your network", place=st.empty())
    return results


def child_call(own: OwnModule, image: Any, asked: Sequence[Asked]) -> Callable[..., Any]:
    """A function that submits runs on an image."""
    named = [
        (run.__name__, {k: v.numpy() if isinstance(v, Tensor) else v for k, v in given.items()})
        for run, given in asked
    ]
    return partial(sandbox.submit_vision, own.source, named, image, own.file, timeout=_seconds())
