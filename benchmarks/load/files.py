"""What a tab asks for over HTTP: pictures, uploads."""

from __future__ import annotations

import urllib.request
import uuid

#: Seconds until a reader gives up.
PATIENCE = 30.0


class Wrong(Exception):
    """The page did not answer, or its answer is not the right one."""


def get(url: str) -> bytes:
    """The body of an address. Raises Wrong."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return bytes(answer.read())
    except OSError as error:
        raise Wrong(f"{url}: {error}") from None


def put(address: str, path: str, name: str, data: bytes) -> None:
    """Upload a file as a form. Raises Wrong."""
    edge = uuid.uuid4().hex
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = head.encode() + data + f"\r\n--{edge}--\r\n".encode()
    _changed(address, path, "PUT", body, f"multipart/form-data; boundary={edge}")


def delete(address: str, path: str) -> None:
    """Take an uploaded file back. Raises Wrong."""
    _changed(address, path, "DELETE")


def _changed(
    address: str, path: str, method: str, body: bytes | None = None, kind: str = "text/plain"
) -> None:
    """Ask with the token against forged requests, which the server gives with any page."""
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=PATIENCE) as answer:
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
        token = cookie.partition("=")[2]
        headers = {"Content-Type": kind, "Cookie": cookie, "X-Xsrftoken": token}
        request = urllib.request.Request(address + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            answer.read()
    except OSError as error:
        raise Wrong(f"{method} {path.rpartition('/')[0]}: {error}") from None
