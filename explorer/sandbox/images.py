"""The job "image": an uploaded file's bytes to its pixels."""

from __future__ import annotations

from typing import Any

from explorer.sandbox.context import Context
from explorer.vision.image import decode_to_plain


def decoded(request: bytes, context: Context) -> dict[str, Any]:
    """In the child: the picture in plain values, or a sentence; see `vision.image.from_plain`."""
    return decode_to_plain(request)
