"""What a reward of a log is: detected, said in the report and written into the structure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.errors import InvalidInput

ROLES: dict[str, Any] = {"arm": "arm", "segment": "who", "reward": "reward"}
CLICKS = [0, 1, 1, 0, 1, 0, 0, 0]
STARS = [1, 5, 4, 2, 3, 3, 4, 5]


def table(rewards: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"arm": list("aabb") * 2, "who": ["x"] * 4 + ["y"] * 4, "reward": rewards})


@pytest.mark.parametrize("engine", ["pandas", "ibis"])
@pytest.mark.parametrize(
    ("rewards", "family", "limits"),
    [
        (CLICKS, "bernoulli", (0.0, 1.0)),
        (["True" if click else "False" for click in CLICKS], "bernoulli", (0.0, 1.0)),
        ([bool(click) for click in CLICKS], "bernoulli", (0.0, 1.0)),
        (STARS, "bounded", (1.0, 5.0)),
        ([stars + 0.5 for stars in STARS], "gaussian", None),
        ([2 * click for click in CLICKS], "gaussian", None),
        ([0, 1, 2, 3, 0, 4, 0, 5], "gaussian", None),  # counts have no limit
    ],
    ids=["0/1", "true/false", "bool", "stars", "fractions", "0/2", "counts"],
)
def test_the_family_is_detected(
    rewards: list[Any], family: str, limits: tuple[float, float] | None, engine: Any, tmp_path: Path
) -> None:
    table(rewards).to_csv(tmp_path / "log.csv", index=False)
    known, report = sb.learn_structure_with_report(tmp_path / "log.csv", **ROLES, engine=engine)
    assert known.rewards.name == family
    if limits is None:
        assert known.noise is None
        assert "treated as" not in str(report)
    else:
        assert set(zip(known.rewards.low, known.rewards.high, strict=True)) == {limits}
        np.testing.assert_array_equal(known.sigma, 0.5 * (limits[1] - limits[0]))
        assert known.noise is not None
        assert known.standard_errors is not None
        np.testing.assert_allclose(known.noise / np.sqrt(2), known.standard_errors[0])
        assert f"treated as {family.replace('be', 'Be')}" in str(report)
    known.save(tmp_path / "map.structure")
    assert sb.load_structure(tmp_path / "map.structure").rewards == known.rewards


def test_the_option_overrides() -> None:
    assert sb.learn_structure(table(CLICKS), **ROLES, rewards="gaussian").rewards.name == "gaussian"
    priced = table([0, 20, 30, 0, 20, 0, 0, 30])
    sold = sb.learn_structure(priced, **ROLES, rewards="bernoulli")
    assert sold.rewards.high == (20.0, 30.0)
    np.testing.assert_array_equal(sold.sigma, [10.0, 15.0])
    assert sb.learn_structure(priced, **ROLES, rewards="bounded").rewards.high == (30.0, 30.0)
    estimated = sb.learn_structure(table(CLICKS), **ROLES, sigma="estimate")
    np.testing.assert_array_equal(estimated.sigma, estimated.noise)


def test_bounds_stay_within_the_limits() -> None:
    vague = sb.learn_structure(table(CLICKS), **ROLES, estimate="bounds")
    assert (vague.lower >= 0.0).all()
    assert (vague.upper <= 1.0).all()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidInput, match="rewards = 'stars' is unknown"):
        sb.learn_structure(table(STARS), **ROLES, rewards="stars")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="arm 'a' are not all 0 or 5"):
        sb.learn_structure(table(STARS), **ROLES, rewards="bernoulli")
    with pytest.raises(InvalidInput, match="all rewards are 1"):
        sb.learn_structure(table([1] * 8), **ROLES, rewards="bounded")


def test_weights_do_not_hide_a_third_value() -> None:
    log = table([0, 2, 1, 1, 2, 0, 0, 1]).assign(w=[1, 2, 3, 4, 5, 6, 7, 8])
    two_valued = sb.learn_structure(log, **ROLES, weight="w", rewards="bernoulli")
    assert two_valued.rewards.high == (2.0, 1.0)
    log.loc[0, "reward"] = 1
    with pytest.raises(InvalidInput, match="arm 'a' are not all 0 or 2"):
        sb.learn_structure(log, **ROLES, weight="w", rewards="bernoulli")


def test_the_command_says_the_family(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    table(CLICKS).to_csv(path, index=False)
    words = ["learn", str(path), "--arm", "arm", "--segment", "who", "--reward", "reward"]
    assert run(words) == 0
    assert "Rewards are treated as Bernoulli, 0 or 1" in " ".join(capsys.readouterr().out.split())
    for more, family in (([], "bernoulli"), (["--rewards", "gaussian"], "gaussian")):
        assert run([*words, "--json", *more]) == 0
        assert json.loads(capsys.readouterr().out)["rewards"] == family
