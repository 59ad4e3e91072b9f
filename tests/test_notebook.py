"""The tutorial notebook: its cells run as they stand, and the stored outputs are whole."""

from pathlib import Path

import matplotlib
import nbformat
import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def cells():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_every_cell_runs(cells, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names: dict = {"__name__": "__main__"}
    for cell in cells:
        exec(compile(cell.source, "tutorial.ipynb", "exec"), names)  # noqa: S102 - our own
    assert (tmp_path / "runs" / "tutorial" / "report.html").stat().st_size > 10_000
    assert "puts out, before training," in capsys.readouterr().out


def test_it_is_stored_as_it_ran(cells):
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert all(output.output_type != "error" for output in outputs)
    rich = [o for o in outputs if "text/html" in o.get("data", {})]
    assert len(rich) == 4  # two geometries, an alignment, results
    assert any("image/png" in o.get("data", {}) for o in outputs)
