"""Download a published weights file once, check its hash, and report progress.

`torch.hub.download_url_to_file` draws its progress on standard error only, and waits for ever for
a server that does not answer.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import torch

from explorer import limits

#: Called with the bytes received so far and the total (0 where the server does not give it).
Progress = Callable[[int, int], None]

_CHUNK = 2**18


class DownloadError(RuntimeError):
    """The file could not be downloaded; the message is a sentence for the reader."""


def cache_folder() -> Path:
    """torchvision's own folder for weights, so that no file is downloaded twice."""
    return Path(torch.hub.get_dir()) / "checkpoints"


def cached_file(url: str, folder: Path | None = None) -> Path | None:
    """The file of `url` if it is already downloaded, or None."""
    path = (folder or cache_folder()) / _file_name(url)
    return path if path.exists() else None


def fetch(url: str, *, folder: Path | None = None, progress: Progress | None = None) -> Path:
    """The file of `url`, from the cache or downloaded, with its hash checked.

    PyTorch's file names end in the first characters of the file's SHA-256 ("resnet18-f37072fd").
    A failed download leaves no file behind. Raises DownloadError.
    """
    path = (folder or cache_folder()) / _file_name(url)
    if path.exists():
        return path
    expected = _hash_prefix(path.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In a folder of its own: two readers may download the same weights at the same time.
        with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as own:
            part = Path(own, path.name)
            digest = _download(url, part, progress)
            if not digest.startswith(expected):
                raise DownloadError(
                    f"The file {path.name} arrived damaged or changed: its SHA-256 hash begins "
                    f"with {digest[: len(expected)]}, not {expected}."
                )
            os.replace(part, path)
    except (OSError, HTTPException) as error:  # no name server, no route, refused, 404, timeout
        raise DownloadError(
            f"The weights could not be downloaded ({_reason(error)}). Check the connection, or "
            "choose a network whose weights are already on this machine."
        ) from error
    return path


def _download(url: str, part: Path, progress: Progress | None) -> str:
    """Write the file of `url` to `part`; return its SHA-256."""
    digest, received = hashlib.sha256(), 0
    with urlopen(url, timeout=limits.SILENT_DOWNLOAD) as response, part.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            if progress:
                progress(received, total)
    if received < total:
        raise OSError(f"the connection ended after {received} of {total} bytes")
    return digest.hexdigest()


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]


def _hash_prefix(name: str) -> str:
    match = re.search(r"-([0-9a-f]{8,})\.", name)
    if not match:
        raise DownloadError(f"The file name {name!r} contains no hash to check the file with.")
    return match[1]


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    reason = getattr(reason, "strerror", None) or reason  # without its number
    return str(reason).splitlines()[0][:120] if str(reason) else type(error).__name__
