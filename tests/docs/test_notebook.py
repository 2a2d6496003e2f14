"""docs/library.ipynb runs, and its stored outputs are up to date."""

import re
import shutil

import nbformat
import pytest

from docs import notebook

pytestmark = pytest.mark.skipif(shutil.which("dot") is None, reason="one cell draws with dot")


def test_the_stored_outputs_are_up_to_date():
    stored = notebook.read()
    nbformat.validate(stored)
    assert notebook.output_texts(notebook.execute(stored)) == notebook.output_texts(stored), (
        "run python -m docs.notebook"
    )


def test_it_shows_every_public_call():
    """The calls that others rely on, each with an output."""
    code = "\n".join(cell.source for cell in notebook.read().cells if cell.cell_type == "code")
    calls = """explorer.run explorer.prove explorer.sandbox.run explorer.ProgramProblem
        explorer.TrainingSession
        explorer.networks.names explorer.networks.problem explorer.networks.inspect
        explorer.vision.open_image explorer.vision.feature_maps explorer.vision.load_weights"""
    for call in calls.split():
        assert re.search(rf"\b{re.escape(call)}\(", code), call


def test_it_is_small_and_names_no_path_of_a_machine():
    text = notebook.PATH.read_text()
    assert len(text) < 100_000
    assert "/home/" not in text
    assert str(notebook.PATH.parent) not in text
    assert set(notebook.read().metadata) == {"kernelspec", "language_info"}
