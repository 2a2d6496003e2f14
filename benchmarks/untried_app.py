"""The app, which tries nothing: `python -m benchmarks.untried_app` takes the place of
`python -m streamlit`. Its answers appear with the picture, as they were before they were tried."""

from __future__ import annotations

from streamlit.web import cli

from explorer.ui.server import tries

if __name__ == "__main__":
    setattr(tries, "has_tries", lambda trace: False)  # noqa: B010
    cli.main()
