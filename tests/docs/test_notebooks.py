"""Every notebook runs from top to bottom: here its cells, and in a kernel of its own in the complete version."""

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


def read(path):
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), (
        "clear the outputs: the site runs it"
    )
    return book


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """What runs the cells of a notebook, in this process."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    yield InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    InteractiveShell.clear_instance()


#: Two of them take longer than all others: they run in the complete version only, and in the site.
LONG = {"plan-a-campaign", "paper-in-ten-cells"}
SHORT = [path for path in NOTEBOOKS if path.stem not in LONG]


@pytest.mark.parametrize("path", SHORT, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(path, shell, monkeypatch):
    """Much of the time of a kernel of its own is loading what this process has loaded already."""
    from IPython.utils.capture import capture_output

    monkeypatch.chdir(path.parent)
    shown, said = [], ""
    for cell in read(path).cells:
        if cell.cell_type == "code":
            with capture_output() as captured:
                outcome = shell.run_cell(cell.source)
            outcome.raise_error()
            shown += [output.data for output in captured.outputs]
            shown.append(shell.display_formatter.format(outcome.result)[0])
            said += captured.stderr
    assert any("text/html" in data or "image/png" in data for data in shown)
    assert said == "", "a notebook that warns frightens its readers"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # The kernel finds the code that is tested, wherever this process found it.
    import latesum

    source = str(Path(latesum.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    book = read(path)
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
