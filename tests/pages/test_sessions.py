"""What is kept for a reader is gone when the reader leaves."""

from __future__ import annotations

import gc
import io
import weakref
from typing import Any

import numpy as np
import pytest
from PIL import Image

from explorer.ui.feature_maps import image_choice
from tests.pages.test_pages import component, html_of, opened


def _png(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (20, 30, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def _uploaded(data: bytes) -> Any:
    at = opened("pages/feature_maps.py")
    return at.file_uploader(key="picture-file").upload("mine.png", data, "image/png").run()


def _collect() -> None:
    """Also what the app has spared the collector: Streamlit's test runner is in a cycle."""
    gc.unfreeze()
    gc.collect()


def test_a_session_holds_its_workspace_and_nothing_else_does() -> None:
    at = opened("pages/optimizer.py")
    at.button(key="press-iterate").click().run()
    workspace = weakref.ref(at.session_state["steps"])
    session = weakref.ref(workspace().session)
    del at
    _collect()
    assert workspace() is None
    assert session() is None


def test_a_session_holds_its_picture_and_nothing_else_does() -> None:
    at = _uploaded(_png(1))
    image = weakref.ref(at.session_state[f"{image_choice._UPLOADED}-image"][1])
    shown = component(at, "pictures")["pictures"][0]
    assert shown["title"].startswith("Image, 30 × 20;")
    del at
    _collect()
    assert image() is None


def test_a_picture_that_waited_in_line_is_read_again_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really = image_choice.sandbox.call

    def crowded(*args: Any, on_wait: Any, **options: Any) -> Any:
        on_wait(1)
        return really(*args, on_wait=on_wait, **options)

    monkeypatch.setattr(image_choice.sandbox, "call", crowded)
    for _ in range(2):
        at = _uploaded(_png(2))
        assert not at.exception
        assert "ax-error" not in html_of(at)
        at.run()
        assert not at.exception
