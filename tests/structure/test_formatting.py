"""How a structure shows itself: a line, and a table for notebooks."""

import sys
from types import ModuleType

import pytest
from matplotlib.figure import Figure

from structuredbandits.structure import Box, Finite, Interval, Structure


def test_one_line() -> None:
    table = Structure.from_table([[1, 2]], sigma=[1, 2], minimize=True)
    assert repr(table) == "<Structure: 2 arms, 1 θ, sigma 1 to 2, costs>"
    cells = Structure.from_functions(
        {"a": lambda t: t, "b": lambda t: -t}, Interval(0, 6), sigma=2, lipschitz=1, name="n"
    )
    assert repr(cells) == "<Structure n: 2 arms, 601 θ in [0, 6], sigma 2, bounds>"
    square = Structure.linear([[1, 2], [2, 1]], Box([(-1, 1), (0, 2)]), sigma=2)
    assert repr(square) == "<Structure: 2 arms, 1681 θ in [-1, 1] × [0, 2], sigma 2>"


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Matplotlib were not installed."""
    missing = ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib.figure")
    monkeypatch.setitem(sys.modules, "structuredbandits.plots", plots_that_raise(missing))


def plots_that_raise(error: ImportError) -> ModuleType:
    """A package `plots` whose functions cannot be imported."""

    def look_up(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise error

    plots = ModuleType("structuredbandits.plots")
    vars(plots)["__getattr__"] = look_up
    return plots


@pytest.mark.usefixtures("no_plots")
class TestTable:
    def test_ten_rows_at_most_with_both_ends(self) -> None:
        structure = Structure.from_functions(
            {"a": lambda t: t, "b": lambda t: 3.5}, Interval(0, 6), sigma=2
        )
        html = structure._repr_html_()
        assert html.count("<tr>") == 11
        assert "<th>0</th>" in html
        assert "<th>6</th>" in html
        assert "10 of 601 rows shown" in html

    def test_small_tables_are_shown_whole_with_the_best_in_bold(self) -> None:
        structure = Structure.from_table([[1, 2], [4, 3]], Finite(["x", "y"]), sigma=1)
        html = structure._repr_html_()
        assert "<tr><th>x</th><td>1</td><td><b>2</b></td></tr>" in html
        assert "<tr><th>y</th><td><b>4</b></td><td>3</td></tr>" in html
        assert "rows shown" not in html

    def test_bounds_are_shown_as_such(self) -> None:
        html = Structure.from_bounds([[1, 2]], [[1.5, 3]], sigma=1)._repr_html_()
        assert "<td>1 … 1.5</td><td><b>2 … 3</b></td>" in html

    def test_names_are_escaped(self) -> None:
        structure = Structure.from_table(
            [[1, 2]], Finite(["<script>"]), ["<i>", "&"], sigma=1, name="<b>"
        )
        html = structure._repr_html_()
        assert "<script>" not in html
        assert "<i>" not in html
        assert "&lt;b&gt;" in html


@pytest.mark.parametrize(
    "error",
    [
        ImportError("cannot import name 'style'"),
        ModuleNotFoundError("No module named 'structuredbandits.plots.style'", name="style"),
    ],
)
def test_an_import_error_inside_plots_is_not_hidden(
    error: ImportError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "structuredbandits.plots", plots_that_raise(error))
    with pytest.raises(ImportError, match="style"):
        Structure.from_table([[1, 2]], sigma=1)._repr_html_()


def test_the_picture_is_drawn_by_the_package_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def structure_plot(structure: Structure) -> Figure:
        shown.append(structure)
        return Figure()

    plots = ModuleType("structuredbandits.plots")
    monkeypatch.setattr(plots, "structure_plot", structure_plot, raising=False)
    monkeypatch.setitem(sys.modules, "structuredbandits.plots", plots)
    structure = Structure.from_table([[1, 2]], sigma=1)
    html = structure._repr_html_()
    assert shown == [structure]
    assert html.count("<svg") == html.count("</svg>") == 1
    assert "<table>" in html
    assert "<?xml" not in html
