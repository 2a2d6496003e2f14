"""Fetching a published weights file once: progress, hash, and a plain word when there is no net."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import torch

#: Told how many bytes have come, and how many there are (0 where the server does not say).
Progress = Callable[[int, int], None]

_CHUNK = 2**18
_TIMEOUT = 15.0  # seconds without a byte


class DownloadError(RuntimeError):
    """The file could not be fetched; the message is one sentence for the reader."""


def cache_folder() -> Path:
    """Where torchvision itself keeps its weights, so that neither fetches what the other has."""
    return Path(torch.hub.get_dir()) / "checkpoints"


def cached(url: str, folder: Path | None = None) -> Path | None:
    """The file of `url` if it has been fetched before."""
    path = (folder or cache_folder()) / _file_name(url)
    return path if path.exists() else None


def fetch(url: str, *, folder: Path | None = None, progress: Progress | None = None) -> Path:
    """The file of `url`, from the cache or downloaded, with its hash checked.

    PyTorch's file names end in the first characters of the file's SHA-256 ("resnet18-f37072fd").
    Nothing is left behind where the download fails. Raises DownloadError.
    """
    path = (folder or cache_folder()) / _file_name(url)
    if path.exists():
        return path
    wanted = _hash_prefix(path.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _part(path) as part:
            digest = _download(url, part, progress)
            if not digest.startswith(wanted):
                raise DownloadError(
                    f"The file {path.name} arrived damaged or changed: its SHA-256 begins with "
                    f"{digest[: len(wanted)]}, not {wanted}."
                )
            os.replace(part, path)
    except (OSError, HTTPException) as error:  # no name server, no route, refused, 404, timeout
        raise DownloadError(
            f"The weights could not be downloaded ({_reason(error)}). Check the connection, or "
            "choose a network whose weights are here already."
        ) from error
    return path


def _download(url: str, part: Path, progress: Progress | None) -> str:
    digest, done = hashlib.sha256(), 0
    with urlopen(url, timeout=_TIMEOUT) as response, part.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        for chunk in iter(lambda: response.read(_CHUNK), b""):
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            if progress:
                progress(done, total)
    if done < total:
        raise OSError(f"the connection ended after {done} of {total} bytes")
    return digest.hexdigest()


@contextmanager
def _part(path: Path) -> Iterator[Path]:
    """A file of our own beside `path`: two readers may be fetching the same weights."""
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]


def _hash_prefix(name: str) -> str:
    found = re.search(r"-([0-9a-f]{8,})\.", name)
    if not found:
        raise DownloadError(f"The file name {name!r} carries no hash to check it by.")
    return found[1]


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    reason = getattr(reason, "strerror", None) or reason  # without its number
    return str(reason).splitlines()[0][:120] if str(reason) else type(error).__name__
