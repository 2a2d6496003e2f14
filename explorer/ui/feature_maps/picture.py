"""Choosing the picture: drawings, a photograph, or the reader's own file, read in the sandbox."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from matplotlib import get_data_path

from explorer import sandbox
from explorer.language import ProgramRefused
from explorer.networks.synthetic_images import CLASSES, draw_one
from explorer.ui.common import sandbox_call
from explorer.ui.common.widgets import note, refuse
from explorer.vision import ImageError, Picture, decode
from explorer.vision.image import MAX_BYTES, MAX_PIXELS, from_plain

#: What matplotlib's own files hold, in the public domain.
PHOTOGRAPH = "Photograph: Grace Hopper"
OWN = "Your picture"
DRAWN = {f"Drawn: {name}": name for name in ("star", *CLASSES)}
_SIZE, _SEED = 256, 10
_SECONDS = 10.0
#: Where the session keeps the reader's own picture: it goes when the reader leaves.
_KEPT = "picture-read"


@dataclass(frozen=True)
class Chosen:
    """The picture on the page; equal digests, equal pixels."""

    picture: Picture
    digest: str
    name: str


def choose() -> Chosen:
    """The list of samples and the place for a file; the first sample where a file cannot be used,
    with the reason."""
    samples = [*DRAWN, PHOTOGRAPH]
    box = st.container(gap="xsmall")
    file = box.file_uploader(
        "Your picture",
        key="picture-file",
        max_upload_size=MAX_BYTES // 2**20,
        help=f"{', '.join(MAX_PIXELS)}. It is looked at in memory and never stored.",
        on_change=_uploaded,
        label_visibility="collapsed",
    )
    options = [OWN, *samples] if file else samples
    name = st.selectbox(
        "Picture",
        options,
        index=options.index(samples[0]),
        key="picture",
        bind="query-params",
        label_visibility="collapsed",
        help="A drawing, a photograph, or your own picture",
    )
    if file is not None and name == OWN:
        found = _read(file.getvalue())
        if isinstance(found, Chosen):
            for sentence in found.picture.notes:
                note(sentence)
            return found
        refuse(found)
    return _sample(name if name in samples else samples[0])


def _uploaded() -> None:
    """Show a new file at once, and a sample again when the file is taken away."""
    state = st.session_state
    state.pop(_KEPT, None)
    if state.get("picture-file") is not None:
        state["picture"] = OWN
    elif state.get("picture") == OWN:
        del state["picture"]


def _read(data: bytes) -> Chosen | str:
    """The picture in a file, or why there is none."""
    if len(data) > MAX_BYTES:
        return f"The file is larger than {MAX_BYTES // 2**20} MB."
    digest = hashlib.sha256(data).hexdigest()
    place = st.empty()  # always there, so that what follows keeps its place on the page
    kept: tuple[str, Chosen | str] = st.session_state.get(_KEPT, ("", ""))
    if kept[0] == digest:
        return kept[1]

    try:
        plain = sandbox_call.ask(
            sandbox.call,
            "image",
            data,
            timeout=_SECONDS,
            place=place,
            spinner="Reading the picture",
        )
    except ProgramRefused as refused:  # busy or died: the next try may go well, so not kept
        return f"The picture could not be read: {refused.error.message}"
    picture = _decoded(plain, digest)
    st.session_state[_KEPT] = digest, picture
    return picture


def _decoded(plain: Any, digest: str) -> Chosen | str:
    try:
        return Chosen(from_plain(plain), digest, OWN)
    except ImageError as error:
        return str(error)


@cache
def _sample(name: str) -> Chosen:
    if name == PHOTOGRAPH:
        data = Path(get_data_path(), "sample_data", "grace_hopper.jpg").read_bytes()
        return Chosen(decode(data), name, name)
    image = draw_one(DRAWN[name], _SIZE, _SEED).transpose(1, 2, 0)
    rgb = np.rint(255 * image).astype(np.uint8)
    return Chosen(Picture(rgb, "drawing", (_SIZE, _SIZE)), name, name)
