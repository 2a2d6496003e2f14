"""Choosing the image: drawings, a photograph, or the reader's own file, decoded in the sandbox."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, partial
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
from explorer.vision import DecodedImage, ImageError, decode
from explorer.vision.image import MAX_BYTES, MAX_PIXELS, from_plain

#: From matplotlib's own files; in the public domain.
PHOTOGRAPH = "Photograph: Grace Hopper"
OWN = "Your image"
DRAWN = {f"Drawn: {name}": name for name in ("star", *CLASSES)}
_SIZE, _SEED = 256, 10
_SECONDS = 10.0
#: The key of the reader's own image in the session; it is gone when the reader leaves.
_UPLOADED = "picture-read"
#: The key of the image that was shown last.
_LAST = "picture-last"


@dataclass(frozen=True)
class ChosenImage:
    """The image on the page; equal digests mean equal pixels."""

    image: DecodedImage
    digest: str
    name: str


def choose_image() -> ChosenImage:
    """Draw the file upload and the list of samples. If a file cannot be used, show the reason and
    return the first sample."""
    samples = [*DRAWN, PHOTOGRAPH]
    box = st.container(gap="xsmall")
    file = box.file_uploader(
        "Your image",
        key="picture-file",
        max_upload_size=MAX_BYTES // 2**20,
        help=f"{', '.join(MAX_PIXELS)}. Processed in memory; never stored.",
        on_change=_select_upload,
        label_visibility="collapsed",
    )
    options = [OWN, *samples] if file else samples
    name = st.selectbox(
        "Image",
        options,
        index=options.index(samples[0]),
        key="picture",
        bind="query-params",
        label_visibility="collapsed",
        help="A drawing, a photograph, or your own image",
    )
    if file is not None and name == OWN:
        chosen = _read(file.getvalue())
        if chosen is None:  # the image on the page stays until this one is decoded
            return st.session_state.get(_LAST) or load_sample(samples[0])
        if isinstance(chosen, ChosenImage):
            for sentence in chosen.image.notes:
                note(sentence)
            st.session_state[_LAST] = chosen
            return chosen
        refuse(chosen)
    chosen = load_sample(name if name in samples else samples[0])
    st.session_state[_LAST] = chosen
    return chosen


def _select_upload() -> None:
    """In a callback: select a new file at once, and a sample again when the file is removed."""
    state = st.session_state
    state.pop(_UPLOADED, None)
    if state.get("picture-file") is not None:
        state["picture"] = OWN
    elif state.get("picture") == OWN:
        del state["picture"]


def _read(data: bytes) -> ChosenImage | str | None:
    """The image in a file, or a sentence that says why there is none; None while it is decoded."""
    if len(data) > MAX_BYTES:
        return f"The file is larger than {MAX_BYTES // 2**20} MB."
    digest = hashlib.sha256(data).hexdigest()
    place = st.empty()  # always drawn, so that what follows keeps its place on the page
    last: tuple[str, ChosenImage | str] = st.session_state.get(_UPLOADED, ("", ""))
    if last[0] == digest:
        return last[1]

    submit = partial(sandbox.submit, "image", data, timeout=_SECONDS)
    try:
        plain = sandbox_call.ask("image", digest, submit, label="Reading the image", place=place)
    except ProgramRefused as refused:  # not stored: the next try may succeed
        return f"The image could not be read: {refused.error.message}"
    if plain is None:
        return None
    sandbox_call.forget("image")
    result = _to_chosen_image(plain, digest)
    st.session_state[_UPLOADED] = digest, result
    return result


def _to_chosen_image(plain: Any, digest: str) -> ChosenImage | str:
    try:
        return ChosenImage(from_plain(plain), digest, OWN)
    except ImageError as error:
        return str(error)


@cache
def load_sample(name: str) -> ChosenImage:
    """The sample with this name in the list."""
    if name == PHOTOGRAPH:
        data = Path(get_data_path(), "sample_data", "grace_hopper.jpg").read_bytes()
        return ChosenImage(decode(data), name, name)
    drawing = draw_one(DRAWN[name], _SIZE, _SEED).transpose(1, 2, 0)
    rgb = np.rint(255 * drawing).astype(np.uint8)
    return ChosenImage(DecodedImage(rgb, "drawing", (_SIZE, _SIZE)), name, name)
