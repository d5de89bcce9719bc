"""What may be written for θ and for policies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.cli.choices import read_policies, read_target, read_thetas
from structuredbandits.cli.simulate import whole_number
from structuredbandits.cli.summary_rows import number_with_error

LINE = sb.Interval(0, 6, points=601)
SQUARE = sb.Box([(-1, 1), (-1, 1)], points=3)
LABELS = sb.Finite(["a, b", "c", "d"])


@pytest.mark.parametrize(
    ("texts", "parameters", "thetas"),
    [
        (["0.5"], LINE, (0.5,)),
        (["0.5,1.5", "2.6"], LINE, (0.5, 1.5, 2.6)),
        (["0.5; 1.5;"], LINE, (0.5, 1.5)),
        (["0.5", "0.50"], LINE, (0.5,)),
        (["0.9,0.2"], SQUARE, ((0.9, 0.2),)),
        (["(0.9, 0.2)"], SQUARE, ((0.9, 0.2),)),
        (["-0.9,0.2; 0.1,0.1", "0 0"], SQUARE, ((-0.9, 0.2), (0.1, 0.1), (0.0, 0.0))),
        (["a, b"], LABELS, ("a, b",)),
        (["c,d"], LABELS, ("c", "d")),
        (["C;a, b"], LABELS, ("c", "a, b")),
        ([], LINE, ()),
    ],
)
def test_thetas_are_read(texts: list[str], parameters: Any, thetas: tuple[Any, ...]) -> None:
    assert read_thetas(texts, parameters) == thetas


@pytest.mark.parametrize(
    ("text", "parameters", "says"),
    [
        ("7", LINE, "θ = 7 is not in Θ; give a number from 0 to 6."),
        ("0.5,7", LINE, "θ = 7 is not in Θ; give a number from 0 to 6."),
        ("nan", LINE, "θ = nan is not in Θ; give a number from 0 to 6."),
        ("0.9", SQUARE, "θ = 0.9 is not in Θ; give 2 numbers in [-1, 1] × [-1, 1]."),
        ("0,0,0,0", SQUARE, "θ = 0,0,0,0 is not in Θ; give 2 numbers in [-1, 1] × [-1, 1]."),
        ("", LINE, "--theta '' contains no θ; give one, or omit the option."),
        (";,", LINE, "--theta ';,' contains no θ; give one, or omit the option."),
        ("x", LABELS, "θ = x is not in Θ; choose one of 'a, b', 'c', 'd'."),
    ],
)
def test_a_wrong_theta_is_named(text: str, parameters: Any, says: str) -> None:
    with pytest.raises(sb.InvalidParameter) as caught:
        read_thetas([text], parameters)
    assert str(caught.value) == says


@given(st.lists(st.floats(0, 6), min_size=1, unique=True), st.sampled_from(",;"))
def test_any_numbers_in_one_option_or_in_many_are_the_same(
    thetas: list[float], between: str
) -> None:
    texts = [repr(theta) for theta in thetas]
    assert read_thetas([between.join(texts)], LINE) == read_thetas(texts, LINE) == tuple(thetas)


def test_policies_are_split_outside_parentheses() -> None:
    target = read_target("setup", [], None)
    text = " ucb , ucb-c(alpha=2,pull_each_arm_first=True),,ts(beta=1.5)-c(alpha=2)"
    names = ["ucb", "ucb-c(alpha=2,pull_each_arm_first=True)", "ts(beta=1.5)-c(alpha=2)"]
    assert read_policies(text, target) == (names, {})
    for name in names:
        sb.make_algorithm(name)


def test_all_is_everything_that_the_library_simulates() -> None:
    target = read_target("setup", [], None)
    names, left_out = read_policies(" ALL ", target)
    assert set(names) | set(left_out) == set(sb.policy_names())
    assert {"kl-ucb-bernoulli", "ts-beta", "ts-beta-c"} <= set(left_out)
    assert {"ucb", "ucb-s", "ucb-c", "ts-c-kl"} <= set(names)
    for name in names:
        sb.make_algorithm(name).check(target.structure)
    for name in left_out:
        with pytest.raises(sb.InvalidPolicy):
            sb.simulate(target.source, [name], runs=1, horizon=1)


def test_all_takes_policies_for_rewards_between_0_and_1_where_they_are() -> None:
    structure = sb.Structure.from_table([[0.2, 0.7], [0.6, 0.1]], sigma=0.5)
    coins = sb.Problem("coins", structure, sb.Bernoulli(structure), (0, 1), 100, "Coins.", "Coins")
    target = read_target("setup", [], None)._replace(
        source=coins, structure=structure, thetas=coins.thetas
    )
    names, _ = read_policies("all", target)
    assert {"kl-ucb-bernoulli", "ts-beta", "ts-beta-c"} <= set(names)
    sb.simulate(coins, ["ts-beta"], runs=1, horizon=10)


def test_defaults_are_the_problems_own() -> None:
    target = read_target("Three-Arms", [], None)
    assert (target.name, target.thetas, target.horizon) == ("three-arms", (0.5, 1.5, 2.6), 50_000)
    assert target.remark is None


def test_the_most_likely_theta_of_a_file_are_tried(tmp_path: Any) -> None:
    structure = sb.Structure.from_table(
        [[float(i), 1.0] for i in range(9)], sigma=1, prior=[1, 1, 1, 5, 1, 9, 7, 1, 3]
    )
    structure.save(tmp_path / "shop.structure")
    target = read_target(str(tmp_path / "shop.structure"), [], None)
    assert target.thetas == (5, 6, 3, 8)
    assert target.remark == "4 of 9 θ are simulated (the most likely); choose others with --theta."


@pytest.mark.parametrize(
    ("rows", "thetas"), [(1, (0,)), (4, (0, 1, 2, 3)), (5, (0, 1, 3, 4)), (80, (10, 30, 50, 70))]
)
def test_otherwise_theta_are_spread(tmp_path: Any, rows: int, thetas: tuple[int, ...]) -> None:
    structure = sb.Structure.from_table([[float(i), 1.0] for i in range(rows)], sigma=1)
    structure.save(tmp_path / "shop.structure")
    assert read_target(str(tmp_path / "shop.structure"), [], None).thetas == thetas


@pytest.mark.parametrize(("text", "number"), [("100", 100), ("10_000", 10_000), ("1e4", 10_000)])
def test_whole_numbers(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["1.5", "nan", "1e400", "", "٣.٥", "x", "1e-1"])
def test_what_is_no_whole_number(text: str) -> None:
    with pytest.raises(Exception, match="is not a whole number, such as 100"):
        whole_number(text)


@given(st.floats(1e-9, 1e6), st.floats(1e-9, 1e6))
def test_a_number_is_shown_to_the_first_figure_of_its_error(value: float, error: float) -> None:
    texts = number_with_error(value, error).replace(",", "").split(" ± ")
    shown, shown_error = map(float, texts)
    unit = 10.0 ** -len(texts[1].partition(".")[2])
    assert unit <= max(1.0, error)
    assert shown_error > 0
    assert shown == pytest.approx(value, abs=0.501 * unit)
    assert shown_error == pytest.approx(error, abs=0.501 * unit)
