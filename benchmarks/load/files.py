"""HTTP requests of a tab: pictures and uploads."""

from __future__ import annotations

import urllib.request
import uuid

#: Seconds after which a reader gives up.
TIMEOUT = 30.0


class WrongAnswer(Exception):
    """The page gave no answer, or a wrong one."""


def get(url: str) -> bytes:
    """The body at a URL. Raises WrongAnswer."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            return bytes(answer.read())
    except OSError as error:
        raise WrongAnswer(f"{url}: {error}") from None


def put(address: str, path: str, name: str, data: bytes) -> None:
    """Upload a file as a form. Raises WrongAnswer."""
    boundary = uuid.uuid4().hex
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = head.encode() + data + f"\r\n--{boundary}--\r\n".encode()
    _send(address, path, "PUT", body, f"multipart/form-data; boundary={boundary}")


def delete(address: str, path: str) -> None:
    """Delete an uploaded file. Raises WrongAnswer."""
    _send(address, path, "DELETE")


def _send(
    address: str, path: str, method: str, body: bytes | None = None, kind: str = "text/plain"
) -> None:
    """Send a request with the server's XSRF token."""
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=TIMEOUT) as answer:
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
        token = cookie.partition("=")[2]
        headers = {"Content-Type": kind, "Cookie": cookie, "X-Xsrftoken": token}
        request = urllib.request.Request(address + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            answer.read()
    except OSError as error:
        raise WrongAnswer(f"{method} {path.rpartition('/')[0]}: {error}") from None
