"""The reader's own weights: a file for the chosen network.

Safetensors are read here. What torch.save writes is read in a child inside its walls, and nowhere
where there are none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from torch import Tensor, nn

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.ui.common.copy_link import not_in_link
from explorer.ui.common.reconnect import ask_again, size_limit
from explorer.ui.common.sandbox_call import wait_for
from explorer.ui.common.shared_cache import SharedCache
from explorer.ui.common.widgets import note, refuse
from explorer.vision import Backbone, WeightsError, copy_weights
from explorer.vision.backbones import build_untrained, with_classes
from explorer.vision.weights import fit, is_pickled, read_safetensors

#: The largest file in megabytes; the server's own limit is a little higher. Reading it takes as
#: much again, of what a child may use: 512 MB on a server.
MAX_MEGABYTES = 240
#: About how many bytes of readers' models are kept together; the last one whatever its size.
KEPT_BYTES = 256 * 2**20
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


_kept: SharedCache[OwnWeights] = SharedCache(KEPT_BYTES)


def choose_file(backbone: Backbone) -> OwnWeights | None:
    """Draw the upload, and what is to be said about the file; None if it cannot be used."""
    uploaded = upload(backbone.title)
    if uploaded is None:
        return None
    try:
        own = _read(backbone, *uploaded)
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
    kinds = _kinds()
    file = st.file_uploader(
        "Weights",
        type=TYPES,
        key="weights-file",
        max_upload_size=size_limit("weights-file", MAX_MEGABYTES),
        help=f"A state dict of {title}, saved with {kinds}",
        label_visibility="collapsed",
    )
    ask_again("weights-file", file, "Upload your weights again.")
    if file is None:
        note(f"Upload a state dict of {title} saved with {kinds}, up to {MAX_MEGABYTES} MB.")
        return None
    if file.size > MAX_MEGABYTES * 2**20:
        refuse(f"The file is larger than {MAX_MEGABYTES} MB.")
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


def _read(backbone: Backbone, data: bytes, digest: str) -> OwnWeights:
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
