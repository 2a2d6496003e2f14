"""HTTP requests of a reader's browser: pictures and uploads, with the cookies it was given."""

from __future__ import annotations

import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from http.cookies import SimpleCookie

#: Seconds after which a reader gives up.
TIMEOUT = 30.0
#: The cookie with Streamlit's token against forged requests.
_XSRF = "_streamlit_xsrf"


class WrongAnswer(Exception):
    """The page gave no answer, or a wrong one."""


@dataclass
class Browser:
    """What the tabs of one reader share: the cookies that a server, or a proxy in front of it,
    has set. A proxy finds a reader's replica by one."""

    address: str
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str) -> bytes:
        """The body at a path. Raises WrongAnswer."""
        return self._request(path, "GET")

    def put(self, path: str, name: str, data: bytes) -> None:
        """Upload a file as a form. Raises WrongAnswer."""
        boundary = uuid.uuid4().hex
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        body = head.encode() + data + f"\r\n--{boundary}--\r\n".encode()
        self._request(path, "PUT", body, f"multipart/form-data; boundary={boundary}")

    def delete(self, path: str) -> None:
        """Delete an uploaded file. Raises WrongAnswer."""
        self._request(path, "DELETE")

    @property
    def token(self) -> str:
        return self.cookies.get(_XSRF, "")

    def cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _request(
        self, path: str, method: str, body: bytes | None = None, kind: str = "text/plain"
    ) -> bytes:
        headers = {"X-Xsrftoken": self.token} if method != "GET" else {}
        if body is not None:
            headers["Content-Type"] = kind
        if self.cookies:
            headers["Cookie"] = self.cookie_header()
        where = self.address + path
        request = urllib.request.Request(where, body, headers, method=method)
        where = where if method == "GET" else where.rpartition("/")[0]  # without the file's name
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                self._keep(answer.headers.get_all("Set-Cookie") or [])
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            self._keep(error.headers.get_all("Set-Cookie") or [])
            raise WrongAnswer(f"{method} {where}: {error}") from None
        except OSError as error:
            raise WrongAnswer(f"{method} {where}: {error}") from None

    def _keep(self, cookies: list[str]) -> None:
        for text in cookies:
            for name, cookie in SimpleCookie(text).items():
                self.cookies[name] = cookie.value


def get(url: str) -> bytes:
    """The body at a URL, without cookies. Raises WrongAnswer."""
    return Browser(url).get("")
