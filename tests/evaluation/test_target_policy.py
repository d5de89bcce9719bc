"""A policy asked about a log is the policy that would have run."""

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.evaluation._decision_log import find_columns, read_decisions
from structuredbandits.evaluation._ips import choice_probabilities
from structuredbandits.evaluation._target_policy import AlgorithmTarget
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.progress import reporting

STRUCTURE = sb.Structure.from_table(
    [[0.9, 0.1, 0.5], [0.2, 0.8, 0.5], [0.4, 0.5, 0.7]], arms=["a", "b", "c"], sigma=0.5
)


@pytest.mark.parametrize(
    "name", ["ucb", "ts", "ucb-c", "ts-c", "ucb-s", "ucb-c-kl", "ts(floor=0.1)"]
)
@pytest.mark.parametrize("minimize", [False, True])
def test_probabilities_are_those_of_the_running_policy(name: str, minimize: bool) -> None:
    structure = STRUCTURE.with_(minimize=minimize)
    target = AlgorithmTarget(make_algorithm(name), structure, rounds=40)
    generator = np.random.default_rng(3)
    for _ in range(2):  # the second subject must not feel the first
        policy = sb.make_policy(name, structure, seed=1)
        target.start()
        for _ in range(40):
            shares = target.choice_probabilities(np.arange(3))
            expected = list(policy.probabilities().values())
            np.testing.assert_allclose(shares, expected, atol=1e-12)
            arm, reward = int(generator.integers(3)), float(generator.normal(0.5, 0.5))
            target.learn(arm, reward)
            policy.run.observe(arm, structure.sign * reward)


@pytest.mark.parametrize("name", ["ucb", "ucb-c", "ts-c"])
def test_a_rejected_pull_leaves_no_trace(name: str) -> None:
    target = AlgorithmTarget(make_algorithm(name), STRUCTURE, rounds=30)
    generator = np.random.default_rng(4)
    everything = np.arange(3)
    for _ in range(30):
        before = target.choice_probabilities(everything)
        arm = target.pull(everything)
        assert before[arm] > 0
        if generator.random() < 0.5:
            target.reject(arm)
            np.testing.assert_array_equal(target.choice_probabilities(everything), before)
        else:
            target.accept(arm, float(generator.normal()))


def test_a_log_without_subjects_is_one_stream_for_a_policy_that_learns() -> None:
    generator = np.random.default_rng(5)
    log = pd.DataFrame(
        {
            "arm": generator.choice(["a", "b", "c"], 60),
            "reward": generator.normal(0.5, 0.5, 60),
            "probability": np.full(60, 1 / 3),
        }
    )
    policy = sb.make_policy("ucb", STRUCTURE)
    values = []
    for row in log.itertuples():
        share = policy.probabilities()[str(row.arm)]
        values.append(3 * share * float(row.reward))  # type: ignore[arg-type]
        policy.update(str(row.arm), float(row.reward))  # type: ignore[arg-type]
    estimate = sb.evaluate(log, sb.UCB(), structure=STRUCTURE, method="ips")
    assert estimate.value == pytest.approx(np.mean(values))
    assert estimate.standard_error == pytest.approx(np.std(values, ddof=1) / np.sqrt(60))
    assert estimate.policy == "ucb"


def test_simulated_logs_are_reproducible_and_honest() -> None:
    first, again = (
        sb.simulate_log("movielens", "ucb-c(floor=0.5)", subjects=5, rounds=8, seed=2)
        for _ in range(2)
    )
    assert first.equals(again)
    assert (first["probability"] >= 0.5 / 18 - 1e-12).all()
    uniform = sb.simulate_log(subjects=3, rounds=4, reveal=True)
    assert (uniform["probability"] == 1 / 18).all()
    assert uniform.groupby("subject")["theta"].nunique().tolist() == [1, 1, 1]
    always = sb.simulate_log("dose", f"always {sb.load_structure('dose').arms[1]}", subjects=2)
    assert (always["probability"] == 1).all()
    with pytest.raises(sb.InvalidInput, match="subjects = 0"):
        sb.simulate_log(subjects=0)


def test_logs_go_to_files_and_back(tmp_path: object) -> None:
    log = sb.simulate_log("movielens", "uniform", subjects=20, rounds=10, seed=4)
    path = f"{tmp_path}/log.csv"
    log.to_csv(path, index=False)
    structure = sb.load_structure("movielens")
    for method in ("ips", "snips", "dr", "replay"):
        direct = sb.evaluate(log, "uniform", structure=structure, method=method)  # type: ignore[arg-type]
        read = sb.evaluate(path, "uniform", structure="movielens", method=method)  # type: ignore[arg-type]
        assert read.value == pytest.approx(direct.value)


@pytest.mark.parametrize("name", ["ucb-c", "ts-c", "ts(floor=0.1)"])
@pytest.mark.parametrize("limited", [False, True])
def test_all_decisions_at_once_are_those_one_by_one(name: str, limited: bool) -> None:
    """Subjects of different lengths; within a thousandth, as `probabilities_many` promises."""
    generator = np.random.default_rng(6)
    who = np.repeat(np.arange(12), generator.integers(1, 9, size=12))
    log = pd.DataFrame(
        {
            "subject": who,
            "arm": generator.choice(["a", "b"], len(who)),
            "reward": generator.normal(0.5, 0.5, len(who)).round(1),
            "probability": 0.5,
        }
    )
    if limited:
        log["allowed"] = [["a|b", "a|b|c"][k] for k in generator.integers(2, size=len(who))]
    roles = {"arm": "arm", "reward": "reward", "probability": "probability"}
    more = {"subject": None, "order": None, "allowed": None, "context": ()}
    read = read_decisions(log, find_columns(log, **roles, **more), STRUCTURE.arms)
    structure = sb.Structure.from_table(
        STRUCTURE.means, arms=STRUCTURE.arms, sigma=0.5, standard_errors=np.full((3, 3), 0.1)
    )
    with reporting("off", "", 1) as reporter:
        at_once = AlgorithmTarget(make_algorithm(name), structure, rounds=10, batch=True)
        one_by_one = AlgorithmTarget(make_algorithm(name), structure, rounds=10)
        found = choice_probabilities(at_once, read, reporter)
        expected = choice_probabilities(one_by_one, read, reporter)
    assert not one_by_one.is_batch
    tolerance = 1e-12 if name == "ucb-c" else 1e-3
    np.testing.assert_allclose(found, expected, atol=tolerance)
