"""The app without its self-test, which would run every example beside the tests.

`python -m tests.plain_app` takes the place of `python -m streamlit`.
"""

from __future__ import annotations

from streamlit.web import cli

from explorer.ui.server import startup


def leave_out_the_self_test() -> None:
    startup.SELF_TEST_DELAY = 1e6


if __name__ == "__main__":
    leave_out_the_self_test()
    cli.main()
