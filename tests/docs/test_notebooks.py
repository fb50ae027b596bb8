"""Every notebook runs from top to bottom, in a kernel of its own."""

import os
from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_the_notebooks_are_those_of_the_list():
    listed = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert NOTEBOOKS
    assert all(f"\n{path.stem}\n" in listed for path in NOTEBOOKS)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow) if path.stem == "plan-a-campaign" else path
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs(path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # The kernel finds the code that is tested, wherever this process found it.
    import latesum

    source = str(Path(latesum.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), (
        "clear the outputs: the site runs it"
    )
    nbclient.NotebookClient(
        book, timeout=240, resources={"metadata": {"path": path.parent}}
    ).execute()
    shown = [
        output
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type in ("display_data", "execute_result")
    ]
    assert any("text/html" in output.data or "image/png" in output.data for output in shown)
    assert not any(
        output.get("name") == "stderr" for cell in book.cells for output in cell.get("outputs", [])
    ), "a notebook that warns frightens its readers"
