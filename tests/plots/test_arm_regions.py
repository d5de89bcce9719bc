"""Pictures of what follows from a structure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

from structuredbandits.errors import InvalidInput
from structuredbandits.plots import best_plot, competitive_plot, regions_plot, save, style
from structuredbandits.plots._arm_regions import shade_of
from structuredbandits.problems import load_structure
from structuredbandits.structure import Box, Interval, Structure
from structuredbandits.theory import analyze


@pytest.mark.parametrize("name", ["setup", "three-arms", "linear", "plane", "movielens", "pricing"])
def test_both_pictures_of_every_kind(name: str, tmp_path: Path) -> None:
    table = analyze(load_structure(name), epsilon=[0.1])
    for drawn in (regions_plot(table), competitive_plot(table)):
        assert save(drawn, tmp_path / "drawn.png").stat().st_size > 5_000
        assert name in drawn.axes[0].get_title(loc="left")


@pytest.mark.parametrize(
    ("name", "says"),
    [("three-arms", "three-arms: 1 to 3 of 3 arms compete"), ("setup", "setup: 1 to 2 of 3 arms")],
)
def test_the_title_says_how_many_arms_compete(name: str, says: str) -> None:
    drawn = regions_plot(analyze(load_structure(name)))
    assert drawn.axes[0].get_title(loc="left").startswith(says)


def spans(axes: Axes) -> list[tuple[float, float, str]]:
    """The shaded regions behind the curves."""
    (behind,) = [part for part in axes.collections if part.get_zorder() == 0]
    ends = [path.get_extents() for path in behind.get_paths()]
    colours = [to_hex(colour) for colour in behind.get_facecolor()]
    return [
        (round(end.x0, 9), round(end.x1, 9), colour)
        for end, colour in zip(ends, colours, strict=True)
    ]


def test_regions_are_shaded_as_published() -> None:
    figure = regions_plot(analyze(load_structure("three-arms")))
    grey, yellow, white = (to_hex(shade_of(c)) for c in (1, 2, 3))
    assert spans(figure.axes[0]) == [
        (0, 1, grey),
        (1, 2.5, yellow),
        (2.5, 3, white),
        (3, 6, grey),
    ]
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["C = 1", "C = 2", "C = 3"]


def test_the_best_arms_are_named_above() -> None:
    axes = regions_plot(analyze(load_structure("setup"))).axes[0]
    named = [text.get_text() for text in axes.texts if text.get_position()[1] > 1]
    assert named == ["arm 1", "arm 2", "arm 3"]


def test_more_shades_than_colours_are_still_different() -> None:
    assert len({shade_of(c) for c in range(1, 25)}) == 24


def test_steps_follow_the_regions() -> None:
    axes = competitive_plot(analyze(load_structure("three-arms"), epsilon=[0.3])).axes[0]
    steps = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    values, edges, _ = steps[0].get_data()
    assert values.tolist() == [1, 2, 3, 1]
    assert edges == pytest.approx([0, 1, 2.5, 3, 6])
    assert len(axes.lines) == 1


def test_labels_give_a_panel_for_c_and_for_each_radius() -> None:
    table = analyze(load_structure("movielens"), epsilon=[0.05, 0.1, 0.2])
    panels = competitive_plot(table).axes
    assert len(panels) == 4
    heights = [[bar.get_height() for bar in axes.patches] for axes in panels]  # type: ignore[attr-defined]
    assert heights[0] == table.C.tolist()
    assert heights[2] == table.C_epsilon(0.1).tolist()
    figure = style.figure()
    competitive_plot(table, figure.add_subplot())
    assert len(figure.axes) == 1


def test_pictures_go_into_given_axes() -> None:
    table = analyze(load_structure("linear", points=9))
    figure = style.figure(8, 4)
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    assert regions_plot(table, left) is figure
    assert competitive_plot(table, right) is figure
    assert left.get_legend() is not None
    shares = [bar.get_height() for bar in right.patches]  # type: ignore[attr-defined]
    assert sum(shares) == pytest.approx(100)


def test_a_map_is_finer_than_the_grid() -> None:
    table = analyze(load_structure("plane", points=9))
    found = table.map(points=61)
    assert found.C.shape == (61, 61)
    assert set(np.unique(found.C[found.unique]).tolist()) == {1, 3}
    # Arm 1 is alone above the line from (0, 1) to (1, 0).
    first, second = np.meshgrid(found.first, found.second, indexing="ij")
    assert (found.C[(first + second > 1.01) & found.unique] == 1).all()


def test_more_than_two_dimensions_give_shares() -> None:
    table = analyze(Structure.linear(np.eye(3), Box([(0, 1)] * 3, points=4), sigma=1))
    axes = regions_plot(table).axes[0]
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(100)  # type: ignore[attr-defined]
    assert len(competitive_plot(table).axes) == 1


def test_equal_tables_give_equal_files(tmp_path: Path) -> None:
    drawn = [
        save(regions_plot(analyze(load_structure("linear"))), tmp_path / f"{i}.svg").read_bytes()
        for i in range(2)
    ]
    assert drawn[0] == drawn[1]


def test_thousands_of_regions_can_be_drawn(tmp_path: Path) -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    noise = generator.normal(size=(5_000, 5))
    table = analyze(Structure.from_table(noise, Interval(0, 1, points=5_000), sigma=1.0))
    assert len(table.regions) > 2_000
    first = save(regions_plot(table), tmp_path / "regions.png")
    second = save(competitive_plot(table), tmp_path / "counts.png")
    assert first.stat().st_size > 10_000
    assert second.stat().st_size > 10_000


def test_the_colour_behind_the_curves_is_that_of_the_best_arm() -> None:
    drawn = best_plot(analyze(load_structure("three-arms")))
    (axes,) = drawn.axes
    said = [text.get_text() for text in axes.texts if "is best" in text.get_text()]
    assert said == ["arm 2 is best", "arm 3 is best", "arm 1 is best"]
    shades = [to_hex(patch.get_facecolor()) for patch in axes.patches]
    # The region of arm 1 is in two parts, since the number of competitive arms changes in it.
    wanted = [style.shaded(style.arm_look(k).colour, 0.8) for k in (1, 2, 0, 0)]
    assert shades == wanted
    with pytest.raises(InvalidInput, match="regions_plot"):
        best_plot(analyze(load_structure("plane", points=5)))
