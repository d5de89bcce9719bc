"""The picture of a simulation shows its numbers, and every name can be read."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

import structuredbandits as sb
from structuredbandits.plots import colour_of, regret_grid_plot, regret_plot, save, style

POLICIES = ("ucb", "ucb-s", "ucb-c", "ts", "ts-c")


def made_up(
    final: np.ndarray,
    *,
    policies: tuple[str, ...] = POLICIES,
    thetas: tuple[object, ...] = (0.5,),
    runs: int = 4,
) -> sb.Results:
    """Results whose mean regrets grow as a root and end at ``final``: (policies, thetas)."""
    rounds = np.arange(10, 1001, 10)
    shape = np.sqrt(rounds / 1000)
    spread = np.linspace(0.9, 1.1, runs) if runs > 1 else np.ones(1)
    regret = final[:, :, None, None] * spread[:, None] * shape
    return sb.Results(
        policies=policies,
        thetas=thetas,
        arms=("a", "b"),
        rounds=rounds,
        regret=regret,
        reward=-regret,
        pulls=np.zeros((*regret.shape[:3], 2)),
        empty_rounds=np.zeros(regret.shape[:3]),
        seed=0,
        problem="made-up",
    )


def names_in(axes: Axes) -> list[Annotation]:
    return [text for text in axes.texts if isinstance(text, Annotation)]


def boxes_of(drawn: Figure, axes: Axes) -> list[Bbox]:
    """Where the names are, in pixels, without their leader lines, which may touch anything."""
    canvas = drawn.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    return [Text.get_window_extent(name, canvas.get_renderer()) for name in names_in(axes)]


def assert_readable(drawn: Figure) -> None:
    drawn.canvas.draw()
    width, height = drawn.canvas.get_width_height()
    for axes in drawn.axes:
        boxes = boxes_of(drawn, axes)
        for box in boxes:
            assert 0 <= box.x0 < box.x1 <= width
            assert 0 <= box.y0 < box.y1 <= height
        bottoms = sorted((box.y0, box.y1) for box in boxes)
        for (_, top), (bottom, _) in pairwise(bottoms):
            assert bottom >= top - 1, "two names overlap"


def test_every_curve_is_the_mean_regret_from_the_origin() -> None:
    results = sb.simulate(
        "three-arms", ["ucb", "ucb-c"], theta=[0.5, 2.6], horizon=300, runs=4, seed=1
    )
    drawn = regret_plot(results)
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["θ = 0.5", "θ = 2.6"]
    for place, axes in enumerate(drawn.axes):
        curves = {line.get_label(): line for line in axes.lines}
        assert set(curves) == {"ucb", "ucb-c"}
        for i, policy in enumerate(results.policies):
            x, y = curves[policy].get_data()
            np.testing.assert_array_equal(x, [0, *results.rounds])
            np.testing.assert_allclose(y, [0.0, *results.mean()[i, place]])
    assert "three-arms" in drawn.texts[0].get_text()
    assert "mean of 4 runs, 95 % band" in drawn.texts[0].get_text()


def test_the_band_is_the_results_band() -> None:
    results = made_up(np.array([[10.0], [20.0], [30.0], [40.0], [50.0]]))
    (axes,) = regret_plot(results).axes
    low, high = results.band()
    bands = [band for band in axes.collections if isinstance(band, PolyCollection)]
    assert len(bands) == 5
    for i, band in enumerate(bands):
        vertices = band.get_paths()[0].vertices
        assert np.asarray(vertices)[:, 1].max() == pytest.approx(high[i, 0].max())
        for value in low[i, 0]:
            assert np.isclose(np.asarray(vertices)[:, 1], value).any()
    assert axes.get_ylim()[1] >= high.max()


def test_one_run_has_no_band() -> None:
    drawn = regret_plot(made_up(np.full((5, 1), 3.0), runs=1))
    assert not [b for b in drawn.axes[0].collections if isinstance(b, PolyCollection)]
    assert "one run" in drawn.texts[0].get_text()


def test_a_policy_has_its_colour_in_every_panel_and_picture() -> None:
    drawn = regret_plot(made_up(np.ones((5, 2)), thetas=(0.5, 1.5)))
    for axes in drawn.axes:
        for line in axes.lines:
            assert to_hex(line.get_color()) == colour_of(str(line.get_label())).lower()
        for name in names_in(axes):
            wanted = style.readable(colour_of(name.get_text())).lower()
            assert to_hex(name.get_color()) == wanted


@settings(max_examples=25)
@given(st.lists(st.sampled_from([0.0, 1e-9, 1.0, 99.0, 100.0, 100.5]), min_size=5, max_size=5))
def test_names_never_overlap(ends: list[float]) -> None:
    assert_readable(regret_plot(made_up(np.array(ends)[:, None])))


def test_names_are_beside_the_ends_of_their_curves_when_there_is_room() -> None:
    ends = np.array([[10.0], [30.0], [50.0], [70.0], [90.0]])
    drawn = regret_plot(made_up(ends))
    drawn.canvas.draw()
    (axes,) = drawn.axes
    for name, end, box in zip(names_in(axes), ends[:, 0], boxes_of(drawn, axes), strict=True):
        _, pixel = axes.transData.transform((1000, end))
        assert (box.y0 + box.y1) / 2 == pytest.approx(pixel, abs=3), name


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 21])
def test_every_theta_has_a_panel_inside_the_picture(number: int) -> None:
    thetas = tuple(f"segment {i}" for i in range(number))
    drawn = regret_plot(made_up(np.ones((5, number)), thetas=thetas))
    assert [axes.get_title(loc="left") for axes in drawn.axes] == list(thetas)
    assert_readable(drawn)
    places = [axes.get_position() for axes in drawn.axes]
    for i, place in enumerate(places):
        assert 0 < place.x0 < place.x1 < 1
        assert 0 < place.y0 < place.y1 < 1
        assert not any(place.overlaps(other) for other in places[:i])


def test_many_policies_and_long_names_can_be_read() -> None:
    names = tuple(f"ts(beta={i})-c(alpha=2,pull_each_arm_first=True)" for i in range(1, 31))
    assert_readable(regret_plot(made_up(np.ones((30, 1)), policies=names)))


def test_a_long_label_keeps_its_beginning_and_its_end() -> None:
    label = "people who " + "like films and " * 12 + "books"
    drawn = regret_plot(made_up(np.ones((5, 1)), thetas=(label,)))
    title = drawn.axes[0].get_title(loc="left")
    drawn.canvas.draw()
    assert drawn.axes[0]._left_title.get_window_extent().x1 <= drawn.canvas.get_width_height()[0]
    assert title.startswith("people who ")
    assert title.endswith("books")
    assert "…" in title


def test_labels_are_not_read_as_mathematics(tmp_path: Path) -> None:
    results = made_up(np.ones((5, 2)), thetas=("$x^$", "50 $ and 60 $"))
    # Read as a formula, the first would not be one.
    save(regret_plot(results), tmp_path / "picture.png")


def test_no_regret_at_all_is_drawn(tmp_path: Path) -> None:
    save(regret_plot(made_up(np.zeros((5, 1)))), tmp_path / "picture.png")


def test_equal_results_give_equal_pictures(tmp_path: Path) -> None:
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    for path in paths:
        made_up(np.ones((5, 1))).plot(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_no_window_and_no_global_state(tmp_path: Path) -> None:
    code = (
        "import sys, structuredbandits as sb\n"
        "results = sb.simulate('setup', ['ucb'], horizon=50, runs=2)\n"
        "results.plot('picture.png')\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    assert done.stdout.strip() == "False"
    assert (tmp_path / "picture.png").stat().st_size > 5_000


@pytest.mark.parametrize("problem", ["made-up", "a problem with a name that is rather long"])
@pytest.mark.parametrize("panels", [1, 2, 3])
def test_the_heading_is_never_cut(panels: int, problem: str) -> None:
    thetas = tuple(0.5 + place for place in range(panels))
    results = replace(made_up(np.ones((5, panels)), thetas=thetas), problem=problem)
    drawn = regret_plot(results)
    canvas = drawn.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    (heading,) = drawn.texts
    box = heading.get_window_extent(canvas.get_renderer())
    assert box.x0 >= 0
    assert box.x1 <= drawn.bbox.x1
    titles = [text for text in drawn.axes[0].get_children() if isinstance(text, Text)]
    highest = max(text.get_window_extent(canvas.get_renderer()).y1 for text in titles)
    assert highest <= box.y0


def heading_of(results: sb.Results) -> str:
    return str(regret_plot(results).texts[0].get_text()).replace("\n", " ")


def test_the_heading_names_the_policy_with_the_lowest_regret() -> None:
    regret = np.array([[3.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    names = ("ucb", "ts-c")
    some = made_up(regret, policies=names, thetas=(0.5, 1.5, 2.6))
    assert "ucb has the lowest mean regret at 2 of 3 θ" in heading_of(some)
    every = made_up(regret[::-1, 1:], policies=names, thetas=("old", "young"))
    assert "ts-c has the lowest mean regret in every segment" in heading_of(every)
    alone = made_up(regret[:, :1], policies=names, thetas=(0.5,), runs=1)
    assert f"ts-c has the lowest regret after {alone.horizon:,} rounds" in heading_of(alone)
    assert "regret of 2 policies" in heading_of(made_up(np.ones((2, 1)), policies=names))
    assert "regret of ucb" in heading_of(made_up(np.ones((1, 1)), policies=("ucb",)))


def test_rows_of_results_share_one_picture() -> None:
    thetas = (0.5, 1.5, 2.6)
    rows = {
        "first": made_up(np.ones((2, 3)), policies=("ucb", "ucb-c"), thetas=thetas),
        "second": made_up(np.full((3, 3), 2.0), policies=("ts", "ts-c", "ts-cj"), thetas=thetas),
    }
    drawn = regret_grid_plot(rows)
    assert len(drawn.axes) == 6
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert titles[0] == "first, θ = 0.5"
    assert titles[5] == "second, θ = 2.6"
    assert [len(axes.lines) for axes in drawn.axes] == [2, 2, 2, 3, 3, 3]
    assert [axes.get_xlabel() for axes in drawn.axes] == ["", "", "", *["round"] * 3]
    assert "regret of 5 policies" in drawn.texts[0].get_text()  # two policies share first place
    with pytest.raises(sb.InvalidInput, match="different θ"):
        regret_grid_plot(rows | {"third": made_up(np.ones((5, 1)))})


@pytest.mark.parametrize("policy", sb.policy_names())
def test_every_name_stands_out_from_the_paper(policy: str) -> None:
    """The contrast that accessibility guidelines ask for in large letters is 3."""
    red, green, blue = to_rgb(style.readable(colour_of(policy)))
    light = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (red, green, blue)
    ]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    assert 1.05 / (luminance + 0.05) >= 3.5
