"""Hidden kinds of visitors: EM against known truth, its standard errors, and the choice of size."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.errors import InvalidInput
from structuredbandits.learning import learn_kinds
from structuredbandits.learning._factors import fit_factors
from structuredbandits.learning._mixture import Mixture, fit_mixture, standard_errors
from structuredbandits.learning._subject_table import read_subjects
from structuredbandits.learning.kinds import EVERYBODY, replay

GENRES = ("art", "love", "space", "war", "west", "zoo")
STARS = np.array(
    [
        [4.5, 4.0, 2.0, 1.5, 2.0, 3.0],
        [2.0, 1.5, 4.5, 4.0, 3.0, 3.0],
        [3.0, 3.5, 2.0, 2.5, 4.5, 3.0],
    ]
)
RATES = np.array(
    [
        [0.80, 0.60, 0.10, 0.10, 0.20, 0.30],
        [0.10, 0.10, 0.70, 0.80, 0.40, 0.30],
        [0.20, 0.40, 0.10, 0.30, 0.90, 0.30],
    ]
)
SHARES = np.array([0.5, 0.3, 0.2])
COLUMNS = {"arm": "genre", "reward": "reward", "subject": "visitor"}


def people(
    means: np.ndarray, n_subjects: int, per_subject: int, seed: int, *, binary: bool = False
) -> pd.DataFrame:
    """Return a log of subjects; their kind is in the column `kind`, hidden from the learner."""
    random = np.random.default_rng(seed)
    kind = random.choice(
        len(means), size=n_subjects, p=SHARES[: len(means)] / SHARES[: len(means)].sum()
    )
    who = np.repeat(np.arange(n_subjects), per_subject)
    arm = random.integers(means.shape[1], size=len(who))
    mean = means[kind[who], arm]
    reward = random.random(len(who)) < mean if binary else mean + random.normal(size=len(who))
    return pd.DataFrame(
        {
            "visitor": who,
            "genre": np.array(GENRES)[arm],
            "reward": reward.astype(float),
            "kind": np.array(["a", "b", "c"])[kind[who]],
        }
    )


def matched(structure: sb.Structure, truth: np.ndarray) -> np.ndarray:
    """Return the positions of the learned kinds in the order of the true ones."""
    distance = np.square(structure.means[:, None] - truth[None]).sum(axis=2)
    found, true = linear_sum_assignment(distance)
    return np.asarray(found[np.argsort(true)])


@pytest.mark.parametrize("binary", [False, True])
def test_the_true_kinds_are_found(binary: bool) -> None:
    truth = RATES if binary else STARS
    log = people(truth, 1500, 12, seed=1, binary=binary)
    structure, report = learn_kinds(log, arm="genre", reward="reward", subject="visitor")
    assert report.chosen == "3 kinds"
    order = matched(structure, truth)
    errors = (structure.means[order] - truth) / structure.standard_errors[order]
    assert np.abs(errors).max() < 4.5  # 18 errors: below 1e-4 if they are standard normal
    np.testing.assert_allclose(structure.prior[order], SHARES, atol=0.06)
    assert structure.rewards.is_bernoulli == binary
    assert report.kinds[0].likes[0] in {"art", "love"}
    assert "zoo" not in report.kinds[0].likes + report.kinds[0].dislikes
    assert "likes less" in str(report)


def test_standard_errors_cover_with_uncertain_kinds() -> None:
    """About 95 % of the means are within 1.96 standard errors, although kinds overlap.

    360 means; fewer than 320 or more than 355 covered has probability below 1e-4 at 95 %, if they
    were independent. With responsibilities taken for labels 89 % are covered.
    """
    truth = 3.0 + 0.6 * (STARS - 3.0)
    covered, labels_covered = 0, 0
    for seed in range(20):
        log = people(truth, 500, 8, seed)
        table = read_subjects(log, arm="genre", reward="reward", subject="visitor")
        mixture = fit_mixture(table, 3, binary=False, restarts=2)
        errors = standard_errors(mixture, table)
        distance = np.square(mixture.means[:, None] - truth[None]).sum(axis=2)
        found, true = linear_sum_assignment(distance)
        off = np.abs(mixture.means[found] - truth[true])
        covered += int((off < 1.96 * errors[found]).sum())
        counts = (table.counts.T @ mixture.responsibilities(table)).T
        labels = np.sqrt(mixture.variances / counts)
        labels_covered += int((off < 1.96 * labels[found]).sum())
    low, high = binom.ppf([1e-4, 1 - 1e-4], 360, 0.95)
    assert low <= covered <= high
    assert labels_covered < low


def test_nothing_is_found_where_there_is_nothing() -> None:
    log = people(STARS[:1], 600, 10, seed=3)
    structure, report = learn_kinds(log, arm="genre", reward="reward", subject="visitor")
    assert report.chosen == EVERYBODY
    assert structure.n_parameters == 1
    assert "Nothing beats the same for everybody" in str(report)


def test_the_same_seed_gives_the_same_kinds() -> None:
    log = people(STARS, 300, 8, seed=4)
    columns = {"arm": "genre", "reward": "reward", "subject": "visitor"}
    once, again = (learn_kinds(log, kinds=3, **columns).structure for _ in range(2))
    assert once == again


def test_segments_are_compared_and_described() -> None:
    log = people(STARS, 800, 10, seed=5)
    structure, report = learn_kinds(
        log, arm="genre", reward="reward", subject="visitor", segment="kind", kinds=3
    )
    names = [row.model for row in report.scores]
    assert names[-1] == "segments"
    assert report.scores[-1].difference > 0
    order = matched(structure, STARS)
    assert [report.kinds[c].segments[0][0] for c in order] == ["a", "b", "c"]


def test_levels_and_factors_are_compared_and_named_if_they_predict_better() -> None:
    log = people(STARS, 500, 10, seed=15)
    level = 1.5 * np.random.default_rng(15).normal(size=500)
    log["reward"] += level[log["visitor"]]
    report = learn_kinds(log, arm="genre", reward="reward", subject="visitor", kinds=3).report
    rows = {row.model: row for row in report.scores}
    assert rows["3 kinds with a personal level"].log_score > rows["3 kinds"].log_score
    table = read_subjects(log, **COLUMNS)
    assert set(replay(fit_factors(table, 1), table, choices=(3, 7))) == {3}
    assert any("factor" in model for model in rows)
    assert "3 kinds with a personal level would predict the held-out subjects better" in str(report)
    plain = learn_kinds(people(STARS, 300, 10, seed=16), kinds=3, **COLUMNS).report
    assert "would predict" not in str(plain)


def test_replay_earns_more_with_kinds_than_without() -> None:
    log = people(STARS, 800, 30, seed=6)
    table = read_subjects(log, arm="genre", reward="reward", subject="visitor")
    kinds = fit_mixture(table, 3, binary=False)
    everybody = fit_mixture(table, 1, binary=False)
    with_kinds = replay(kinds, table, choices=(3,))[3]
    assert with_kinds > replay(everybody, table, choices=(3,))[3] + 0.3
    assert replay(kinds, table, choices=(7,)) == {}  # nobody has seven arms


def test_replay_against_a_plain_loop() -> None:
    log = people(RATES, 60, 20, seed=7, binary=True)
    table = read_subjects(log, arm="genre", reward="reward", subject="visitor")
    mixture = Mixture(SHARES, RATES, np.ones(6), 4.0, True)
    counts, sums = table.counts.toarray(), table.sums.toarray()
    earned = []
    for n, s in zip(counts, sums, strict=True):
        if (n > 0).sum() < 4:
            continue
        logs, left = np.log(SHARES), set(np.flatnonzero(n).tolist())
        for _ in range(4):
            belief = np.exp(logs - logs.max())
            expected = (belief / belief.sum()) @ RATES
            arm = max(left, key=lambda k: expected[k])
            left.remove(arm)
            reward = s[arm] / n[arm]
            earned.append(reward)
            logs = logs + reward * np.log(RATES[:, arm]) + (1 - reward) * np.log1p(-RATES[:, arm])
    assert replay(mixture, table, choices=(4,))[4] == pytest.approx(np.mean(earned), rel=1e-12)


def test_files_and_frames_agree(tmp_path: Path) -> None:
    log = people(STARS, 100, 5, seed=8)
    log.to_csv(tmp_path / "log.csv", index=False)
    columns = {"arm": "genre", "reward": "reward", "subject": "visitor"}
    frame = read_subjects(log, **columns)
    file = read_subjects(tmp_path / "log.csv", **columns)
    assert file.arms == frame.arms
    assert file.rows == frame.rows
    for name in ("counts", "sums", "squares"):  # the order of the subjects is not defined
        rows, others = (sorted(getattr(t, name).toarray().tolist()) for t in (frame, file))
        np.testing.assert_allclose(rows, others, rtol=1e-9)


def test_two_values_that_are_not_zero_and_one() -> None:
    log = people(RATES, 400, 10, seed=9, binary=True)
    log["reward"] = np.where(log["reward"] == 1, 20.0, 0.0)
    structure = learn_kinds(log, arm="genre", reward="reward", subject="visitor", kinds=3).structure
    assert structure.rewards.high == (20.0,) * 6
    assert structure.means.max() < 20.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": 0}, "kinds = 0 is not a number of kinds"),
        ({"subject": "genre"}, "are not all different"),
        ({"subject": "nobody"}, "nobody"),
        ({"engine": "abacus"}, "engine = 'abacus' is unknown"),
    ],
)
def test_impossible_requests(change: dict[str, object], message: str) -> None:
    log = people(STARS, 60, 5, seed=10)
    arguments = {"arm": "genre", "reward": "reward", "subject": "visitor"} | change
    with pytest.raises(InvalidInput, match=message):
        learn_kinds(log, **arguments)  # type: ignore[arg-type]  # by intention


def test_too_few_subjects_or_arms() -> None:
    log = people(STARS, 20, 5, seed=11)
    with pytest.raises(InvalidInput, match="20 subjects are too few"):
        learn_kinds(log, arm="genre", reward="reward", subject="visitor")
    alone = log[log["genre"] == "art"]
    with pytest.raises(InvalidInput, match="only the arm 'art'"):
        learn_kinds(alone, arm="genre", reward="reward", subject="visitor")


def test_learn_structure_keeps_the_model_that_predicts_best(tmp_path: Path) -> None:
    log = people(STARS, 600, 10, seed=12)
    columns = {"arm": "genre", "reward": "reward", "subject": "visitor"}
    kinds = sb.learn_structure(log, **columns)
    assert kinds.parameters.names == ("kind",)
    # With few rewards per subject kinds are hard to find, and the segment is the kind itself.
    few = people(STARS, 120, 3, seed=12)
    segments = sb.learn_structure(few, segment="kind", **columns)
    assert segments == sb.learn_structure(few, arm="genre", reward="reward", segment="kind")
    assert sb.learn_structure(log, segment="kind", kinds=2, **columns).n_parameters == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither segment nor subject"),
        ({"segment": "kind", "kinds": 3}, "kinds = 3 needs the column of subjects"),
        ({"subject": "visitor", "estimate": "shrink"}, "estimate has no meaning for hidden kinds"),
        ({"subject": "visitor", "weight": "kind"}, "weight has no meaning for hidden kinds"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], message: str) -> None:
    log = people(STARS, 60, 5, seed=13)
    with pytest.raises(InvalidInput, match=message):
        sb.learn_structure(log, arm="genre", reward="reward", **options)  # type: ignore[arg-type]  # by intention


def test_the_command_prints_models_and_kinds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(RATES, 400, 12, seed=14, binary=True).to_csv(tmp_path / "log.csv", index=False)
    command = ["learn", str(tmp_path / "log.csv"), "--arm", "genre", "--reward", "reward"]
    command += ["--subject", "visitor", "--kinds", "3", "-o", str(tmp_path / "v.structure")]
    assert run(command) == 0
    shown = capsys.readouterr().out
    assert "the same for everybody" in shown
    assert "kind 1 (" in shown
    assert sb.load_structure(tmp_path / "v.structure").rewards.is_bernoulli
    assert run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["chosen"] == "3 kinds"
    assert len(found["kinds"]) == 3
