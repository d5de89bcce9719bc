"""Errors in the file of a sweep are reported with their line before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import structuredbandits as sb
from structuredbandits.simulation.sweeps.build_plan import make_plan
from structuredbandits.simulation.sweeps.sweep_settings import read_settings, read_share

GOOD = """\
runs = 4
seed = [0, 1]
horizon = 50
[[grid]]
problem = "three-arms"
theta = [
  0.5,
  2.6,
]
policies = ["ucb", { name = "ucb-c", alpha = [2, 3] }]
"""

MISTAKES = [
    ("runs = 4", "runs = -4", 1, "runs is -4; give a whole number of at least 1."),
    ("runs = 4", "runs = true", 1, "runs is True; give a whole"),
    ("runs = 4", 'runs = "4"', 1, "runs is '4'; give a whole"),
    ("runs = 4", "rums = 4", 1, "there is no key 'rums'; did you mean 'runs'"),
    ("seed = [0, 1]", "seed = [0, -1]", 2, "seed is -1; give a whole number of at least 0."),
    ("seed = [0, 1]", "seed = []", 2, "seed is an empty list"),
    ("horizon = 50", "horizon = 0", 3, "horizon is 0"),
    ("horizon = 50", "horizon = 5.5", 3, "horizon is 5.5"),
    ("horizon = 50", "horizon = 50\ncheckpoints = 'lin'", 4, "checkpoints is 'lin'"),
    ("horizon = 50", "horizon = 50\ncheckpoints = [10, 60]", 4, "from 1 to the horizon 50"),
    ("horizon = 50", "horizon = 50\nuntil = '2'", 4, "until is '2'"),
    ("horizon = 50", "horizon = 50\nmax_runs = 9", 4, "max_runs is 9 without until"),
    ("horizon = 50", "horizon = 50\nuntil = '2%'\nmax_runs = 3", 5, "more than max_runs = 3"),
    ("horizon = 50", "horizon = ", 3, "this is not TOML"),
    ("[[grid]]", "[[grids]]", 4, "there is no key 'grids'; did you mean 'grid'"),
    ('"three-arms"', '"tree-arms"', 5, "there is no problem 'tree-arms'; did you mean"),
    ('"three-arms"', '{ points = 5 }', 5, "has no name"),
    ('"three-arms"', '{ name = "three-arms", pints = 5 }', 5, "has no option 'pints'"),
    ('"three-arms"', '"no.structure"', 5, "cannot be read"),
    ('"three-arms"', "3", 5, "3 is not a problem"),
    ('problem = "three-arms"', "", 4, "a grid has no problem"),
    ("  2.6,", "  7.0,", 8, "7"),
    ("  2.6,", "  'x',", 8, "x"),
    ('"ucb", ', '"ucc", ', 10, "there is no policy 'ucc'; did you mean"),
    ('"ucb", ', '"ucb", "UCB", ', 10, "policy 'ucb' is given twice"),
    ('"ucb", ', "5, ", 10, "5 is not a policy"),
    ('"ucb", ', '"ts-beta", ', 10, "needs rewards between 0 and 1"),
    ("alpha = [2, 3]", "alpha = [2, -3]", 10, "alpha"),
    ("alpha = [2, 3]", "gamma = 1", 10, "has no parameter 'gamma'"),
    ('name = "ucb-c", ', "", 10, "has no name"),
    ("theta = [", "until = '2%'\ntheta = [", 6, "until applies to the whole sweep"),
]  # fmt: skip


def write(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_good_file_is_every_combination_once(tmp_path: Path) -> None:
    plan = make_plan(read_settings(write(tmp_path, GOOD)))
    names = [tuple(configuration.names.values()) for configuration in plan.configurations]
    assert names == [
        ("three-arms", policy, theta, 50, seed)
        for seed in (0, 1)
        for policy in ("ucb", "ucb-c(alpha=2)", "ucb-c")
        for theta in ("0.5", "2.6")
    ]
    assert len({configuration.folder for configuration in plan.configurations}) == len(
        plan.configurations
    )


@pytest.mark.parametrize(("old", "new", "line", "complaint"), MISTAKES)
def test_a_mistake_is_named_with_its_line(
    old: str, new: str, line: int, complaint: str, tmp_path: Path
) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(sb.StructuredBanditsError) as caught:
        sb.sweep(path, tmp_path / "out", n_jobs=1)
    assert str(caught.value).startswith(f"sweep.toml, line {line}: ")
    assert complaint in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_missing_file_and_other_bytes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(sb.FileError, match=r"nowhere\.toml cannot be read: No such file"):
        read_settings(tmp_path / "nowhere.toml")
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(sb.InvalidInput, match="not text in UTF-8"):
        read_settings(path)


def test_the_same_configuration_in_two_grids_is_refused(tmp_path: Path) -> None:
    one = '[[grid]]\nproblem = "three-arms"\ntheta = 0.5\nhorizon = 9\npolicies = "ucb"\n'
    with pytest.raises(sb.InvalidInput, match=r"ucb on three-arms at θ = 0\.5.* is given twice"):
        make_plan(read_settings(write(tmp_path, one + one)))


def test_a_mapping_of_objects_is_a_grid_too() -> None:
    structure = sb.Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0, name="pair")
    grid: dict[str, Any] = {
        "problem": [structure, sb.load_problem("linear")],
        "policies": [sb.UCB(alpha=2), "ts"],
        "horizon": [10, 20],
        "grid": [{"theta": [0, 1], "problem": structure}, {"problem": "plane"}],
    }
    plan = make_plan(read_settings(grid))
    assert len(plan.configurations) == 2 * 2 * 2 + 2 * 2 * 2
    assert plan.configurations[0].names["problem"] == "pair"
    with pytest.raises(sb.InvalidInput, match="a structure alone has no default θ"):
        make_plan(read_settings({"problem": structure, "policies": "ucb", "horizon": 5}))
    with pytest.raises(sb.InvalidInput, match="a structure alone has no horizon"):
        make_plan(read_settings({"problem": structure, "policies": "ucb", "theta": 0}))


def test_a_structure_file_is_found_beside_the_settings(tmp_path: Path) -> None:
    structure = sb.Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)
    structure.save(tmp_path / "pair.structure")
    text = 'problem = "pair.structure"\ntheta = [0, 1]\nhorizon = 9\npolicies = "ucb"\n'
    plan = make_plan(read_settings(write(tmp_path, text)))
    assert [configuration.source.load().structure for configuration in plan.configurations] == [
        structure,
        structure,
    ]
    sb.Structure.from_table([[1.0, 0.0], [0.0, 3.0]], sigma=1.0).save(tmp_path / "pair.structure")
    other = make_plan(read_settings(write(tmp_path, text)))
    assert other.digest != plan.digest


@pytest.mark.parametrize(
    "until", ["2", "0%", "100%", "-1%", "%", ".%", "1.2.3%", 0, 1, 2, True, []]
)
def test_a_share_that_is_none_is_refused(until: object) -> None:
    with pytest.raises(sb.InvalidInput, match="give a fraction of the regret such as '2%'"):
        read_share(until)


def test_anything_that_changes_results_changes_the_digest() -> None:
    grid: dict[str, Any] = {
        "problem": "three-arms", "policies": "ucb", "theta": 0.5, "horizon": 90, "runs": 5,
    }  # fmt: skip
    changes: list[dict[str, Any]] = [
        {}, {"problem": "two-arms"}, {"policies": "ucb(alpha=2)"}, {"theta": 0.6}, {"horizon": 91},
        {"runs": 6}, {"seed": 1}, {"checkpoints": 3}, {"runs_per_task": 2}, {"until": "5%"},
        {"until": "6%"}, {"until": "5%", "max_runs": 50}, {"policies": ["ucb", "ts"]},
        {"problem": {"name": "three-arms", "points": 301}},
    ]  # fmt: skip
    digests = [make_plan(read_settings(grid | change)).digest for change in changes]
    assert len(set(digests)) == len(changes)
    assert make_plan(read_settings(grid)).digest == digests[0]
