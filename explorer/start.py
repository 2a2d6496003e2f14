"""Where the app's own files are, and the command that starts it: `autograd-explorer`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_HERE = Path(__file__).parent
#: The folder of app.py, pages and .streamlit: in an installed package, or of a checkout.
FOLDER = _HERE / "_app" if (_HERE / "_app").is_dir() else _HERE.parent
#: What the app imports and the library does not: pyproject.toml calls it `app`.
EXTRA = ("streamlit", "torchvision", "matplotlib", "captum", "pyarrow")


def main() -> None:
    """`streamlit run` of the app, with the arguments of the command line."""
    missing = [name for name in EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(
            f"The app also needs {', '.join(missing)}, which `pip install '.[app]'` in the "
            "project's folder installs."
        )
    from streamlit.web import cli

    cli.main(["run", str(FOLDER / "app.py"), *sys.argv[1:]], prog_name="autograd-explorer")


if __name__ == "__main__":
    main()
