"""Runs docs/library.ipynb and stores its outputs.

    python -m docs.notebook

Edit the cells in Jupyter or in a text editor, then run this. A test compares the stored outputs
with fresh ones.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from docs.compress_png import compress_png

PATH = Path(__file__).with_name("library.ipynb")
#: Time limit of one cell, in seconds.
TIMEOUT = 120


class _ThisPython(KernelSpecManager):
    """Starts this interpreter, regardless of the kernels registered on the machine."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        argv.append("--log-level=ERROR")
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


def execute(notebook: Any) -> Any:
    """A copy of the notebook with fresh outputs. Raises CellExecutionError if a cell fails."""
    fresh = nbformat.from_dict(notebook)
    client = NotebookClient(
        fresh,
        km=AsyncKernelManager(kernel_spec_manager=_ThisPython()),
        timeout=TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(PATH.parent)}},
    )
    client.execute()
    fresh.metadata = notebook.metadata
    for output in _outputs(fresh):
        if "image/png" in output.get("data", {}):
            png = base64.b64decode(output.data["image/png"])
            output.data["image/png"] = base64.b64encode(compress_png(png)).decode()
    return fresh


def output_texts(notebook: Any) -> list[str]:
    """All outputs in order: text as it is, of a picture or HTML only its MIME type."""
    return [text for output in _outputs(notebook) for text in _texts_of(output)]


def _outputs(notebook: Any) -> list[Any]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [output for cell in cells for output in cell.outputs]


def _texts_of(output: Any) -> list[str]:
    if output.output_type == "stream":
        return [output.text]
    data = output.data
    is_drawn = ("image/", "text/html")
    return [f"({kind})" if kind.startswith(is_drawn) else data[kind] for kind in sorted(data)]


def read() -> Any:
    return nbformat.read(PATH, as_version=4)


if __name__ == "__main__":
    nbformat.write(execute(read()), PATH)
