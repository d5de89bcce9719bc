"""The notebooks in examples/ run from the first cell to the last; outputs are not stored."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def test_there_is_one_for_each_kind_of_reader() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["practitioner", "researcher"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client.*")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    place = {"metadata": {"path": str(tmp_path)}}
    # Long, since a busy machine compiles first.
    NotebookClient(notebook, timeout=1800, startup_timeout=600, resources=place).execute()
    shown = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert all(output.output_type != "error" for output in shown)
    complaints = [output.text for output in shown if output.get("name") == "stderr"]
    assert complaints == []
