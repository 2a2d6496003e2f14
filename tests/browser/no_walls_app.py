"""The app on a machine without Landlock: `python -m tests.browser.no_walls_app` takes the place of
`python -m streamlit`. What is asked of its sandbox is printed."""

from __future__ import annotations

from typing import Any

from streamlit.web import cli

from explorer.sandbox import client, walls
from tests.plain_app import leave_out_the_self_test

ASKED = "asked: "

_dump = client.dump_request


def _note(request: Any) -> bytes:
    body = _dump(request)
    print(ASKED, body.decode(), flush=True)
    return body


if __name__ == "__main__":
    from explorer.sandbox import client

    walls._MECHANISMS = (("Landlock", lambda: False, lambda *_: None),)
    client.dump_request = _note  # type: ignore[attr-defined]
    leave_out_the_self_test()
    cli.main()
