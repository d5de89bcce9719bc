"""`structuredbandits analyze`, mounted on an application of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from structuredbandits.cli.analyze import ANALYZE_EXAMPLES, analyze
from structuredbandits.cli.analyze import _usual_radii as usual_radii
from structuredbandits.errors import FileError, InvalidInput, InvalidParameter
from structuredbandits.problems import load_structure
from structuredbandits.structure import Structure

app = typer.Typer(pretty_exceptions_enable=False)
app.command(epilog=ANALYZE_EXAMPLES)(analyze)


def call(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def call_json(*arguments: str) -> Any:
    return json.loads(call(*arguments, "--json"))


def test_all_of_theta_in_short() -> None:
    shown = call("three-arms")
    assert "2.5 to 3" in shown
    assert "C is exact" in shown
    assert "C̃" in call("linear")


def test_several_theta_closely() -> None:
    shown = call("three-arms", "--theta", "0.5", "--theta", "2.6", "--horizon", "5e4")
    assert "θ = 0.5: the best arm is 2" in shown
    assert "θ = 2.6: the best arm is 1" in shown
    assert "vacuous" in shown
    assert "Theorem 3" in shown


def test_json_of_theta() -> None:
    data = call_json("linear", "--theta", "0.5,0.5", "--theta", "0.9,0.9", "--alpha", "4")
    assert [report["C"] for report in data["thetas"]] == [3, 1]
    assert data["thetas"][0]["alpha"] == 4.0
    assert data["thetas"][0]["lower_bound"] == pytest.approx(16)


def test_json_of_all_theta() -> None:
    data = call_json("three-arms")
    assert data["exact"] is True
    assert [region["C"] for region in data["regions"]] == [1, 2, 3, 1]
    assert len(data["rows"]) == 601
    row = data["rows"][260]
    assert (row["theta"], row["optimal_arm"], row["unique"], row["C"]) == (2.6, "1", True, 3)
    assert row["least_epsilon"] is None


def test_labels_get_a_few_radii_by_themselves() -> None:
    shown = call("movielens", "--fast")
    assert "C(0.05)" in shown
    assert "C(0.2)" in shown
    assert "published values for such data use one" in " ".join(shown.split())
    own = call_json("movielens", "--epsilon", "0.3", "--theta", "67", "--fast")
    assert [entry["epsilon"] for entry in own["thetas"][0]["C_epsilon"]] == [0.3]
    flat = Structure.from_table([[1, 1], [1, 1]], sigma=1)
    assert usual_radii(flat) == ()


def test_two_pictures_and_a_table_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    shown = call("corner", "--out", str(folder))
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["analysis.csv", "competitive.png", "regions.png"]
    assert "regions.png" in shown
    assert len((folder / "analysis.csv").read_text(encoding="utf-8").splitlines()) == 602
    data = call_json("corner", "--theta", "3", "--out", str(folder))
    assert len(data["files"]) == 3
    assert data["thetas"][0]["C_tilde"] == 1


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.structure"
    load_structure("two-arms").save(path)
    assert "3 to 5" in call(str(path))


def test_bad_input_is_an_error_of_the_library() -> None:
    for wrong, error in [
        (["tree-arms"], FileError),
        (["three-arms", "--theta", "7"], InvalidParameter),
        (["three-arms", "--horizon", "0"], InvalidInput),
        (["three-arms", "--alpha", "-1"], InvalidInput),
        (["three-arms", "--epsilon", "0"], InvalidInput),
    ]:
        with pytest.raises(error):
            CliRunner().invoke(app, wrong, catch_exceptions=False)


def test_help_names_every_option() -> None:
    shown = call("--help")
    for option in ("--theta", "--horizon", "--alpha", "--epsilon", "--out", "--json"):
        assert option in shown
