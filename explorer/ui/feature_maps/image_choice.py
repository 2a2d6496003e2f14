"""Choosing the image: a photograph, drawings, or the reader's own file or picture from the camera,
decoded in the sandbox."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from matplotlib import get_data_path

from explorer import limits, sandbox
from explorer.networks.synthetic_images import CLASSES, draw_one
from explorer.program import ProgramRefused
from explorer.ui.server import sandbox_call
from explorer.ui.widgets.basics import note, refuse
from explorer.ui.widgets.copy_link import not_in_link
from explorer.ui.widgets.reconnect import ask_again, size_limit
from explorer.vision import DecodedImage, ImageError, decode
from explorer.vision.image import from_plain
from explorer.vision.image_kind import ImageKind, image_kind

#: From matplotlib's own files.
PHOTOGRAPH = "Photograph: Grace Hopper"
_CREDIT = "Photograph: U.S. Navy, in the public domain, from matplotlib's sample data."
OWN = "Your image"
CAMERA = "Camera"
DRAWN = {f"Drawn: {name}": name for name in ("star", *CLASSES)}
_SIZE, _SEED = 256, 10
#: The key of the reader's own image in the session; it is gone when the reader leaves.
_UPLOADED = "picture-read"
#: The key of the image that was shown last.
_LAST = "picture-last"


@dataclass(frozen=True)
class ChosenImage:
    """The image on the page; equal digests mean equal pixels. `kind` is what it looks like."""

    image: DecodedImage
    digest: str
    name: str
    kind: ImageKind = "unknown"
    credit: str = ""


def choose_image(messages: Any) -> ChosenImage:
    """Draw the file upload and the list of samples. If a file cannot be used, show the reason in
    the container `messages` and return the first sample."""
    samples = [PHOTOGRAPH, *DRAWN]
    file = st.file_uploader(
        "Your image",
        key="picture-file",
        max_upload_size=size_limit("picture-file", limits.IMAGE_BYTES // 2**20),
        help=f"{', '.join(limits.IMAGE_PIXELS)}. Processed in memory; never stored.",
        on_change=_select_upload,
        label_visibility="collapsed",
        width=118,
    )
    options = [*([OWN] if file else []), *samples, CAMERA]
    name = st.selectbox(
        "Image",
        options,
        index=options.index(samples[0]),
        key="picture",
        bind="query-params",
        label_visibility="collapsed",
        width=236,
        help="A photograph, a drawing, your own image, or a picture from your camera",
    )
    with messages:
        ask_again("picture-file", file, "Upload your image again, or choose a sample.", name)
        source = _take_picture() if name == CAMERA else file if name == OWN else None
        chosen = name if source is None else _read(source.getvalue())
        if chosen in (None, CAMERA):  # the image on the page stays until this one is there
            return st.session_state.get(_LAST) or load_sample(samples[0])
        if isinstance(chosen, ChosenImage):
            for sentence in chosen.image.notes:
                note(sentence)
            not_in_link("It opens with a sample image: your image is never stored.")
        elif chosen in samples:
            chosen = load_sample(chosen)
        else:
            refuse(f"{chosen} A sample is shown instead.")
            chosen = load_sample(samples[0])
    st.session_state[_LAST] = chosen
    return chosen


def _take_picture() -> Any:
    """Draw the camera; the picture that was taken with it, or None."""
    picture = st.camera_input(
        "Camera",
        key="picture-camera",
        label_visibility="collapsed",
        width=320,
        help="Your browser asks before it turns the camera on. Processed in memory; never stored.",
    )
    ask_again("picture-camera", picture, "Take the picture again.")
    return picture


def choose_second_image() -> ChosenImage:
    """Draw the choice of an image to compare with: a sample, or another file of the reader's."""
    samples = [*DRAWN, PHOTOGRAPH]
    file = st.file_uploader(
        "Second image",
        key="second-file",
        max_upload_size=size_limit("second-file", limits.IMAGE_BYTES // 2**20),
        help=f"{', '.join(limits.IMAGE_PIXELS)}. Processed in memory; never stored.",
        label_visibility="collapsed",
    )
    instead = st.session_state.get("second", "")
    ask_again("second-file", file, "Upload your image again, or choose a sample.", instead)
    if file is not None:
        chosen = _read(file.getvalue(), "second")
        if isinstance(chosen, ChosenImage):
            not_in_link("It opens with a sample as the second image: your image is never stored.")
            return chosen
        if chosen is not None:
            refuse(chosen)
    name = st.selectbox(
        "Second image",
        samples,
        index=1,
        key="second",
        bind="query-params",
        label_visibility="collapsed",
        help="The image to compare with, unless you upload one",
        disabled=file is not None,
    )
    return load_sample(name if name in samples else samples[1])


def _select_upload() -> None:
    """In a callback: select a new file at once, and a sample again when the file is removed."""
    state = st.session_state
    state.pop(f"{_UPLOADED}-image", None)
    if state.get("picture-file") is not None:
        state["picture"] = OWN
    elif state.get("picture") == OWN:
        del state["picture"]


def _read(data: bytes, slot: str = "image") -> ChosenImage | str | None:
    """The image in a file, or a sentence that says why there is none; None while it is decoded."""
    if len(data) > limits.IMAGE_BYTES:
        return f"The file is larger than {limits.IMAGE_BYTES // 2**20} MB."
    digest = hashlib.sha256(data).hexdigest()
    place = st.empty()  # always drawn, so that what follows keeps its place on the page
    last: tuple[str, ChosenImage | str] = st.session_state.get(f"{_UPLOADED}-{slot}", ("", ""))
    if last[0] == digest:
        return last[1]

    submit = partial(sandbox.submit, "image", data, timeout=limits.DECODING_SECONDS)
    try:
        plain = sandbox_call.ask(slot, digest, submit, label="Reading the image", place=place)
    except ProgramRefused as refused:  # not stored: the next try may succeed
        return f"The image could not be read: {refused.error.message}"
    if plain is None:
        return None
    sandbox_call.forget(slot)
    result = _to_chosen_image(plain, digest)
    st.session_state[f"{_UPLOADED}-{slot}"] = digest, result
    return result


def _to_chosen_image(plain: Any, digest: str) -> ChosenImage | str:
    try:
        image = from_plain(plain)
        return ChosenImage(image, digest, OWN, image_kind(image.rgb))
    except ImageError as error:
        return str(error)


@cache
def load_sample(name: str) -> ChosenImage:
    """The sample with this name in the list."""
    if name == PHOTOGRAPH:
        data = Path(get_data_path(), "sample_data", "grace_hopper.jpg").read_bytes()
        return ChosenImage(decode(data), name, name, "photograph", _CREDIT)
    drawing = draw_one(DRAWN[name], _SIZE, _SEED).transpose(1, 2, 0)
    rgb = np.rint(255 * drawing).astype(np.uint8)
    return ChosenImage(DecodedImage(rgb, "drawing", (_SIZE, _SIZE)), name, name, "drawing")
