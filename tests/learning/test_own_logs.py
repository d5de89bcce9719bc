"""Learning from a bandit's own log: weighted by its probabilities, or warned about."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.learning import learn_structure_with_report, read_cells
from tests.statistical.agreement import bound_on_z

MEANS = np.array([0.3, 0.5, 0.4])
STREAMS, ROUNDS, FLOOR = 600, 200, 0.1
OPTIONS: dict[str, Any] = {"arm": "arm", "segment": "who", "reward": "reward"}


def bandit_log(seed: int = 5, streams: int = STREAMS, rounds: int = ROUNDS) -> pd.DataFrame:
    """0/1 rewards of a greedy bandit with a floor, one for each segment, all with equal means."""
    generator = np.random.default_rng(seed)
    rows, counts, sums = np.arange(streams), np.zeros((streams, 3)), np.zeros((streams, 3))
    columns: dict[str, list[np.ndarray]] = {"arm": [], "reward": [], "probability": []}
    for _ in range(rounds):
        looks = np.where(counts > 0, sums / np.maximum(counts, 1), 9.0)
        best = (looks + 1e-9 * generator.random(looks.shape)).argmax(axis=1)
        shares = FLOOR / 3 + (1 - FLOOR) * np.eye(3)[best]
        uniform = generator.random((streams, 1))
        arm = (uniform > shares.cumsum(axis=1)).sum(axis=1).clip(max=2)
        reward = (generator.random(streams) < MEANS[arm]).astype(float)
        counts[rows, arm] += 1
        sums[rows, arm] += reward
        columns["arm"].append(np.array(["a", "b", "c"], dtype=object)[arm])
        columns["reward"].append(reward)
        columns["probability"].append(shares[rows, arm])
    log = pd.DataFrame({name: np.concatenate(parts) for name, parts in columns.items()})
    return log.assign(who=np.tile(rows, rounds))


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    return bandit_log()


def bias(structure: sb.Structure) -> tuple[np.ndarray, np.ndarray]:
    """Mean error of each arm over the segments, and its standard error."""
    errors = structure.means - MEANS
    return errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))


def test_weighted_means_are_unbiased_and_plain_ones_are_not(log: pd.DataFrame) -> None:
    """600 streams of 200 rounds, seed 5; two-sided z tests of 3 arms, wrong with rate 1e-4 each.

    The plain means are about 0.05 too small; the test sees a bias of 0.03.
    """
    weighted, error = bias(sb.learn_structure(log, **OPTIONS, empty="drop-segment"))
    assert (np.abs(weighted) < bound_on_z() * error).all()
    assert (bound_on_z() * error < 0.035).all()
    plain, error = bias(sb.learn_structure(log, **OPTIONS, probability=False))
    assert (plain < -bound_on_z() * error).all()
    assert plain.mean() < -0.04


@pytest.mark.parametrize("engine", ["pandas", "ibis"])
def test_both_engines_weight_by_hand(engine: str, tmp_path: Path) -> None:
    small = bandit_log(seed=1, streams=4, rounds=60).assign(w=lambda f: 1.0 + f["who"] % 2)
    path = tmp_path / "log.csv"
    small.to_csv(path, index=False)
    for source in (small, path):
        for weight in (None, "w"):
            cells = read_cells(
                source,
                **OPTIONS,
                weight=weight,
                probability="probability",
                engine=engine,  # type: ignore[arg-type]
            )
            own = np.ones(len(small)) if weight is None else small["w"].to_numpy()
            w = own / small["probability"].to_numpy()
            for i, who in enumerate(cells.segments):
                for k, arm in enumerate(cells.arms):
                    here = ((small["who"] == who) & (small["arm"] == arm)).to_numpy()
                    if not here.any():
                        continue
                    r, mine = small["reward"].to_numpy()[here], w[here]
                    mean = (mine * r).sum() / mine.sum()
                    assert cells.means[i, k] == pytest.approx(mean, rel=1e-12, abs=1e-15)
                    kish = mine.sum() ** 2 / (mine**2).sum()
                    assert cells.counts[i, k] == pytest.approx(kish, rel=1e-12)
                    squares = (mine * (r - mean) ** 2).sum()
                    assert cells.deviations[i, k] == pytest.approx(squares, rel=1e-9, abs=1e-12)
                    # The prior is that of the rows: probabilities do not make a segment larger.
                    assert cells.weights[i, k] == pytest.approx(own[here].sum())
            assert cells.weighting.column == "probability"


def test_a_column_is_used_by_itself_unless_there_are_weights(log: pd.DataFrame) -> None:
    small = bandit_log(seed=1, streams=2, rounds=100)
    asked = read_cells(small, **OPTIONS, probability="probability")
    found = read_cells(small, **OPTIONS)
    assert np.array_equal(asked.means, found.means)
    own = small.assign(w=1.0 / small["probability"])
    once = read_cells(own, **OPTIONS, weight="w")  # whose weights may contain it already
    assert once.means == pytest.approx(found.means)
    assert once.weighting.column is None
    renamed = small.rename(columns={"probability": "p"})
    assert np.array_equal(read_cells(renamed, **OPTIONS, probability="p").means, found.means)


def test_the_report_says_what_was_done(log: pd.DataFrame) -> None:
    small = bandit_log(seed=1, streams=2, rounds=300)
    structure, report = learn_structure_with_report(small, **OPTIONS)
    assert "Rewards are weighted by 1 / probability" in str(report)
    assert structure.counts is not None
    assert f"the effective sample size is {structure.counts.sum():,.0f}" in str(report)
    assert structure.counts.sum() < 600


def survey(rows: int = 3000) -> pd.DataFrame:
    generator = np.random.default_rng(2)
    who, arm = generator.integers(3, size=rows), generator.integers(3, size=rows)
    means = np.array([[0.2, 0.5, 0.7], [0.6, 0.3, 0.2], [0.4, 0.4, 0.5]])
    return pd.DataFrame(
        {
            "who": who,
            "arm": np.array(["a", "b", "c"], dtype=object)[arm],
            "reward": (generator.random(rows) < means[who, arm]).astype(float),
        }
    )


def test_a_survey_is_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for log in (survey(), survey().assign(probability=1 / 3), survey().assign(subject=1)):
            _, report = learn_structure_with_report(log, **OPTIONS)
            assert report.weighting.doubt is None


def test_probabilities_of_0_or_1_are_warned_about() -> None:
    plain = sb.learn_structure(survey(), **OPTIONS)
    for log in (survey().assign(probability=1), survey().assign(probability=lambda f: f.who % 2)):
        with pytest.warns(sb.StructureWarning, match="'probability' are 0 or 1"):
            structure, report = learn_structure_with_report(log, **OPTIONS)
        assert np.array_equal(structure.means, plain.means)
        assert np.array_equal(structure.counts, plain.counts)  # type: ignore[arg-type]
        assert report.weighting.column is None


def test_a_log_of_decisions_without_probabilities_is_warned_about() -> None:
    log = survey().assign(subject=lambda f: f.index // 10, decision=lambda f: f.index % 10)
    with pytest.warns(sb.StructureWarning, match="looks like the decisions of a policy"):
        sb.learn_structure(log, **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.learn_structure(log, **OPTIONS, probability=False)


def test_arms_that_were_shown_where_they_earn_more_are_warned_about() -> None:
    log = survey()
    liked = (log["reward"] > 0) | (log.index % 3 == 0)  # people come back for what they like
    with pytest.warns(sb.StructureWarning, match="in which they earn more"):
        sb.learn_structure(log[liked], **OPTIONS)


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([0.5, 1.5, 0.5, 0.5], {}, "holds 1 probabilities that are missing or not"),
        ([0.5, None, 0.5, 0.5], {}, "holds 1 probabilities"),
        ([0.5, 0.0, 0.5, 0.0], {}, "holds 2 probabilities"),
        ([0.5] * 4, {"probability": "p"}, "no column 'p'"),
        ([0.5] * 4, {"probability": 3}, "probability = 3 is not the name of a column"),
        ([0.5] * 4, {"probability": "who"}, "column 'who' is given twice"),
        (
            [0.5] * 4,
            {"probability": "probability", "weight": "n", "weight_kind": "frequency"},
            "cannot be combined with the probabilities",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["pandas", "ibis"])
def test_probabilities_that_cannot_be_used_are_refused(
    values: list[Any], options: dict[str, Any], words: str, engine: Any
) -> None:
    log = pd.DataFrame(
        {"arm": list("abab"), "who": list("xxyy"), "reward": [1, 0, 1, 0], "n": 1}
    ).assign(probability=values)
    with pytest.raises(sb.InvalidInput, match=words):
        sb.learn_structure(log, **OPTIONS, engine=engine, sigma=1, **options)


def test_the_command_weights_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    bandit_log(seed=1, streams=2, rounds=300).rename(columns={"probability": "p"}).to_csv(path)
    base = ["learn", str(path), "--arm", "arm", "--segment", "who", "--reward", "reward"]
    assert run([*base, "--probability", "p"]) == 0
    out, err = capsys.readouterr()
    assert "Rewards are weighted by 1 / p" in " ".join(out.split())
    assert err == ""
    assert run([*base, "--probability", "p", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["weighted_by"], said["bias"]) == ("p", None)
    assert run([*base, "--probability", "p", "--ignore-probability"]) == 2
    assert "exclude each other" in capsys.readouterr().err
