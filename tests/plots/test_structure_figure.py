"""The library's look, and pictures of structures."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from structuredbandits.errors import FileError, InvalidInput
from structuredbandits.plots import colour_of, look_of, save, structure_plot, style
from structuredbandits.problems import load_structure
from structuredbandits.structure import Box, Finite, Structure

TOGETHER = [
    ["ucb", "ucb-s", "ucb-c", "ts", "ts-c", "kl-ucb", "kl-ucb-c"],
    ["ucb", "ucb-s", "ucb-c", "ucb-c-kl", "ucb-c-entropy", "ucb-c-random"],
    ["ts", "ts-c", "ts-c-kl", "ts-c-entropy", "ts-c-random", "ids", "posterior"],
    ["ucb", "glm-ucb", "oful", "ucb-c", "ts-c", "linear-greedy", "wagp", "ossb"],
    ["ucb", "moss", "imed", "bayes-ucb", "ucb-tuned", "epsilon-greedy", "ts", "kl-ucb"],
    ["ts-beta", "ts-beta-c", "kl-ucb-bernoulli", "kl-ucb-bernoulli-c", "ucb-c", "ucb-cj"],
]


@pytest.mark.parametrize("policies", TOGETHER)
def test_policies_in_one_picture_look_different(policies: list[str]) -> None:
    looks = [look_of(policy) for policy in policies]
    for i, a in enumerate(looks):
        for b in looks[:i]:
            apart = np.linalg.norm(np.subtract(to_rgb(a.colour), to_rgb(b.colour)))
            assert a.line != b.line or apart > 0.25


@pytest.mark.parametrize("policies", TOGETHER)
def test_every_curve_stands_out_from_white(policies: list[str]) -> None:
    def luminance(colour: str) -> float:
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
        ]
        return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))

    for policy in policies:
        assert 1.05 / (luminance(colour_of(policy)) + 0.05) > 1.7


def test_a_policy_looks_the_same_however_it_is_written() -> None:
    assert look_of("UCB-C") == look_of("ucb-c") == look_of("ucb_c")
    assert colour_of("ucb-c(alpha=2)") != colour_of("ucb-c")
    assert look_of("ucb-c(alpha=2)").line == look_of("ucb-c").line
    assert look_of("ucb(alpha=2)-c").line == "-"
    assert colour_of("ucb(alpha=2, c=1)-c") != "#000000"
    assert look_of("mine-c").colour == look_of("mine").colour
    assert look_of("mine-c").line != look_of("mine").line


def test_eighteen_arms_look_different() -> None:
    assert len({style.arm_look(k) for k in range(18)}) == 18


@given(
    st.lists(st.floats(0, 1), max_size=9),
    st.floats(0.01, 0.1),
)
def test_labels_are_moved_apart_and_keep_their_order(places: list[float], least: float) -> None:
    found = style.spread(places, least, 0.0, 1.0)
    order = np.argsort(places, kind="stable")
    assert (np.diff(np.array(found)[order]) >= least - 1e-9).all()
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in found)
    far = all(abs(a - b) >= least for i, a in enumerate(places) for b in places[:i])
    if far:
        assert found == pytest.approx(places)


@pytest.mark.parametrize(
    ("name", "options", "panels"),
    [
        ("three-arms", {}, 1),
        ("three-arms", {"sound": True}, 1),
        ("informative", {}, 1),
        ("pricing", {}, 1),
        ("movielens", {}, 2),  # a heat map and its colour bar
        ("linear", {}, 1),
        ("plane", {}, 1),
    ],
)
def test_every_kind_of_structure_is_drawn(
    name: str, options: dict[str, bool], panels: int, tmp_path: Path
) -> None:
    figure = structure_plot(load_structure(name, **options))
    assert isinstance(figure, Figure)
    assert len(figure.axes) == panels
    assert figure.axes[0].get_title(loc="left").startswith(f"{name}: ")
    assert save(figure, tmp_path / "drawn.png").stat().st_size > 5_000


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_curves_are_named_where_they_end_and_break_at_jumps() -> None:
    axes = structure_plot(load_structure("informative")).axes[0]
    assert texts(axes) == ["arm 1", "arm 2", "arm 3"]
    jumping = np.asarray(axes.lines[2].get_ydata(), dtype=float)
    assert np.isnan(jumping).sum() == 1
    assert axes.get_xlabel() == "θ"
    costs = load_structure("informative").with_(minimize=True)
    assert structure_plot(costs).axes[0].get_ylabel() == "mean cost"


def test_a_few_labels_give_bars_and_more_a_heat_map() -> None:
    few = Structure.from_table([[3, 4], [2, 1]], Finite(["calm", "busy"]), sigma=1)
    assert len(structure_plot(few).axes[0].patches) == 4
    vague = Structure.from_bounds([[1, 0]], [[2, 1.5]], Finite(["only"]), sigma=1)
    assert structure_plot(vague).axes[0].containers
    many = Structure.from_table(
        np.arange(60.0).reshape(30, 2), Finite([f"segment {i}" for i in range(30)]), sigma=1
    )
    assert len(structure_plot(many).axes) == 2


def test_more_than_two_dimensions_give_shares() -> None:
    cube = Structure.linear(np.eye(3), Box([(0, 1)] * 3, points=5), sigma=1)
    axes = structure_plot(cube).axes[0]
    widths = [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]
    assert sum(widths) == pytest.approx(100)
    scattered = Structure.from_table([[1, 2], [2, 1]], Finite([(0.0, 1.0), (1.0, 0.0)]), sigma=1)
    assert len(structure_plot(scattered).axes) == 1


def test_the_best_arms_are_named_on_a_map() -> None:
    axes = structure_plot(load_structure("plane")).axes[0]
    assert {"arm 1", "arm 2", "arm 3"} <= set(texts(axes))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("θ₁", "θ₂")


def test_a_structure_can_be_drawn_into_given_axes() -> None:
    figure = style.figure()
    axes = figure.add_subplot(1, 2, 1)
    assert structure_plot(load_structure("setup"), axes) is figure
    assert axes.lines


def test_a_notebook_shows_the_picture() -> None:
    assert "<svg" in load_structure("setup")._repr_html_()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_equal_pictures_give_equal_files(ending: str, tmp_path: Path) -> None:
    written = [
        save(structure_plot(load_structure("three-arms")), tmp_path / f"{i}.{ending}").read_bytes()
        for i in range(2)
    ]
    assert written[0] == written[1]
    assert len(written[0]) > 5_000


def test_only_pictures_are_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\.png, \.svg or \.pdf"):
        save(style.figure(), tmp_path / "picture.docx")
    assert not list(tmp_path.iterdir())


def test_pictures_are_drawn_in_threads(tmp_path: Path) -> None:
    names = ["setup", "three-arms", "two-arms", "corner"] * 2

    def draw(i: int) -> bytes:
        path = tmp_path / f"{i}.svg"
        return save(structure_plot(load_structure(names[i])), path).read_bytes()

    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(draw, range(len(names))))
    assert drawn[:4] == drawn[4:]


def test_nothing_opens_a_window_or_changes_global_settings() -> None:
    code = (
        "import sys, matplotlib\n"
        "before = dict(matplotlib.rcParams)\n"
        "from structuredbandits.plots import structure_plot, save\n"
        "from structuredbandits.problems import load_structure\n"
        "structure_plot(load_structure('setup'))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert dict(matplotlib.rcParams) == before\n"
    )
    done = run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_is_an_attribute_error() -> None:
    from structuredbandits import plots

    with pytest.raises(AttributeError, match=r"No structuredbandits\.plots attribute"):
        plots.nothing_like_this  # noqa: B018
    assert "structure_plot" in dir(plots)


@pytest.mark.parametrize("path", ["missing/x.png", "file/x.svg"])
def test_a_place_where_nothing_can_be_written_is_a_file_error(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    target = tmp_path / path
    with pytest.raises(FileError) as caught:
        save(structure_plot(load_structure("three-arms")), target)
    assert str(caught.value).startswith(f"{target} cannot be written: ")
    assert str(caught.value).endswith("; choose a folder that exists.")


@pytest.mark.parametrize("path", [5, None, "a\0b.png"])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InvalidInput, match=r"is not a file name; give one that ends in \.png"):
        save(structure_plot(load_structure("three-arms")), path)  # type: ignore[arg-type]


@pytest.mark.parametrize("arms", [3, 40])
@pytest.mark.parametrize("members", [3, 60])
def test_long_names_leave_room_for_the_picture(members: int, arms: int) -> None:
    """Matplotlib warns where they do not, and a warning is an error here."""
    long = "a label that goes on and on until nothing else fits, number"
    structure = Structure.from_table(
        np.random.default_rng(5).random((members, arms)),
        Finite([f"{i} {long} {i}" for i in range(members)]),
        arms=[f"{k} {long} {k}" for k in range(arms)],
        sigma=1,
    )
    assert "<svg" in structure._repr_html_()
    labels = structure_plot(structure).axes[0].get_xticklabels()
    assert [label.get_text()[:10] for label in labels[:1]] == ["0 a label "]
