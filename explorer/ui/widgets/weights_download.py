"""Downloads published weights, with a progress bar."""

from __future__ import annotations

import streamlit as st

from explorer.ui.widgets.basics import refuse
from explorer.vision.download import DownloadError, fetch


def download_weights(url: str) -> bool:
    """Download a file of weights and show the progress; say why if that fails."""
    place = st.empty()
    bar = place.progress(0.0, "Downloading")

    def progress(done: int, total: int) -> None:
        bar.progress(done / total if total else 0.0, f"{done / 1e6:.0f} of {total / 1e6:.0f} MB")

    try:
        fetch(url, progress=progress)
    except DownloadError as error:
        with place:
            refuse(str(error))
        return False
    place.empty()
    return True
