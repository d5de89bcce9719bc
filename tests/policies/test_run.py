"""`Run`: the one class behind the policy, batches, offline evaluation, service and simulator."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.confidence.evidence import new_blocks, rows_of
from structuredbandits.confidence.many_subjects import PlausibleSets
from structuredbandits.policies.run import Run

ROOT = Path(__file__).parents[2]
KNOWN = sb.Structure.from_table(
    [[3.0, 2.0, 0.0, 1.0], [3.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 2.0]], sigma=0.5
)
WITH_SETS = {
    "box": sb.Competitive(sb.UCB(), alpha=0.7),
    "joint": sb.Competitive(sb.UCB(), alpha=0.7, confidence="joint"),
    "robust box": sb.Robust(sb.Competitive(sb.UCB(), alpha=0.7), alpha=4.0),
    "robust joint": sb.Robust(sb.Competitive(sb.UCB(), alpha=0.7, confidence="joint")),
    "floor": sb.ExplorationFloor(sb.Competitive(sb.UCB(), alpha=0.7)),
    "floor around robust": sb.ExplorationFloor(sb.Robust(sb.Competitive(sb.UCB(), alpha=0.7))),
    "informative": sb.Competitive(sb.UCB(), alpha=0.7, informative=sb.Informative("kl")),
    "every arm first": sb.Competitive(sb.UCB(), alpha=0.7, pull_each_arm_first=True),
    "ucb-s": sb.UCBS(alpha=0.7),
    "hierarchical": sb.HierarchicalCompetitive(alpha=0.7),
}


def random_structure(rng: np.random.Generator) -> sb.Structure:
    shape = (int(rng.integers(1, 12)), int(rng.integers(2, 6)))
    means = rng.integers(0, 5, shape) / 2.0  # with ties
    errors = np.full(shape, 0.1)
    return sb.Structure.from_table(
        means, sigma=0.5, standard_errors=errors, minimize=bool(rng.integers(2))
    )


def best_by_definition(run: Run, allowed: np.ndarray) -> list[int]:
    """The arms that are best among the allowed ones at some plausible θ; all if there is none."""
    parameters = run.algorithm.confidence_parameters(run.structure)
    assert parameters is not None
    assert run.plausible is not None
    known = parameters.structure
    found = set()
    for theta in np.flatnonzero(run.plausible):
        if known.minimize:
            best = known.upper[theta, allowed].min() + known.tolerance
            found |= {int(arm) for arm in allowed if known.lower[theta, arm] <= best}
        else:
            best = known.lower[theta, allowed].max() - known.tolerance
            found |= {int(arm) for arm in allowed if known.upper[theta, arm] >= best}
    return sorted(found) if run.plausible.any() else allowed.tolist()


@pytest.mark.parametrize("name", WITH_SETS)
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_candidates_are_best_among_the_allowed_arms(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure = random_structure(rng)
    run = Run(WITH_SETS[name], structure, seed=1)
    for arm in rng.integers(structure.n_arms, size=rng.integers(20)):
        run.observe(int(arm), float(rng.normal()))
    allowed = np.flatnonzero(rng.random(structure.n_arms) < 0.6)
    allowed = allowed if allowed.size else np.arange(1)
    expected = best_by_definition(run, allowed)
    assert run.candidates(allowed).tolist() == expected

    parameters = run.algorithm.confidence_parameters(structure)
    assert parameters is not None
    sets = PlausibleSets(parameters)
    plausible, competitive = sets.of(run.block[None].copy(), allowed)
    assert np.flatnonzero(competitive[0]).tolist() == expected
    assert run.plausible is not None
    assert plausible[0] == run.plausible.sum()
    assert sets.mask(run.block.copy()).tolist() == run.plausible.tolist()


def test_policies_without_a_set_have_all_allowed_arms_as_candidates() -> None:
    run = Run(sb.UCB(), KNOWN, seed=1)
    assert run.plausible is None
    assert run.algorithm.confidence_parameters(KNOWN) is None
    assert run.candidates(np.array([1, 3])).tolist() == [1, 3]


@pytest.mark.parametrize("name", WITH_SETS)
def test_the_competitive_arms_of_a_policy_are_the_candidates(name: str) -> None:
    rng = np.random.default_rng(5)
    structure = random_structure(rng)
    policy = WITH_SETS[name].start(structure, seed=2)
    for _ in range(15):
        policy.update(policy.pull(), float(rng.normal()))
        named = [
            structure.arms[arm]
            for arm in best_by_definition(policy.run, np.arange(structure.n_arms))
        ]
        assert list(policy.competitive_arms) == named


def test_a_floor_around_a_robust_policy_is_diagnosed_with_its_test() -> None:
    """Seven standard deviations refute at level 0.01, and do not at 0.01^40."""
    known = sb.Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)
    for alpha, refuted in ((1.0, True), (40.0, False)):
        robust = sb.Robust(sb.Competitive(sb.UCB()), alpha=alpha)
        for algorithm in (robust, sb.ExplorationFloor(robust)):
            policy = algorithm.start(known, seed=1)
            policy.update(0, 6.0)
            policy.update(0, 6.0)
            assert policy.diagnostics().refuted is refuted, algorithm


@pytest.mark.parametrize("name", ["ucb-c", "ts-cj", "ucb-c(robust=1)", "epsilon-greedy(decay=5)"])
def test_a_run_goes_on_from_its_statistics(name: str) -> None:
    rng = np.random.default_rng(3)
    run = Run(sb.make_algorithm(name), KNOWN, seed=4)
    for _ in range(30):
        run.learn(run.decide(), float(rng.normal()))
    twin = Run(sb.make_algorithm(name), KNOWN, seed=4)
    rows = run.evidence
    twin.restore(
        counts=rows.counts,
        sums=rows.sums,
        squares=rows.squares,
        pending=rows.pending,
        decided=run.decided,
    )
    twin.generator.bit_generator.state = run.generator.bit_generator.state
    assert twin.state() | {"empty_rounds": 0} == run.state() | {"empty_rounds": 0}
    for copied in (twin, copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        again = copy.copy(run)
        assert [copied.decide() for _ in range(20)] == [again.decide() for _ in range(20)]


def test_a_restarted_run_is_a_new_one() -> None:
    run = Run(sb.make_algorithm("ucb-c"), KNOWN, seed=4)
    for _ in range(5):
        run.learn(run.decide(), -1.0)
    run.restart(9)
    fresh = Run(sb.make_algorithm("ucb-c"), KNOWN, seed=9)
    assert run.state() == fresh.state()
    assert [run.decide() for _ in range(9)] == [fresh.decide() for _ in range(9)]


@pytest.mark.parametrize("name", ["epsilon-greedy(decay=5)", "ucb-c-kl", "moss"])
def test_the_tables_grow_with_the_rounds(name: str) -> None:
    short = Run(sb.make_algorithm(name), KNOWN, seed=4, rounds=4)
    long = Run(sb.make_algorithm(name), KNOWN, seed=4, rounds=4_096)
    for t in range(300):
        arm = short.decide()
        assert long.decide() == arm, t
        for run in (short, long):
            run.learn(arm, float(np.sin(t)))
    assert short.probabilities() is not None
    np.testing.assert_array_equal(short.probabilities(), long.probabilities())


def test_an_undone_decision_leaves_no_trace_in_the_statistics() -> None:
    run = Run(sb.make_algorithm("ts-c"), KNOWN, seed=4)
    before = run.state()
    run.undo_decision(run.decide())
    assert run.state() | {"generator": None} == before | {"generator": None}


def test_rows_of_one_block_and_of_many_have_the_same_names() -> None:
    blocks = new_blocks(np.array([1.0, 2.0]), 3)
    rows_of(blocks).sums[1, 0] = 7.0
    assert rows_of(blocks[1]).sums.tolist() == [7.0, 0.0]
    assert rows_of(blocks).sigmas.tolist() == [[1.0, 2.0]] * 3
    assert np.isinf(rows_of(blocks).scales).all()


SOURCE = (ROOT / "src/structuredbandits/policies/run.py").read_text(encoding="utf-8")
PRIVATE = "|".join(sorted(set(re.findall(r"(?:\bself\.|\bdef )_([a-z]\w*)", SOURCE))))
NUMBERED_ROW = re.compile(r"\bblock\[(?:None, ?)?\d|\bblocks\[:, ?\d")
PRIVATE_FIELD = re.compile(rf"\b(?:run|policy|twin|_run)\._(?:{PRIVATE})\b")


def test_rows_are_read_by_name_and_private_fields_by_nobody() -> None:
    own = {"src/structuredbandits/policies/run.py": PRIVATE_FIELD}
    own["src/structuredbandits/confidence/evidence.py"] = NUMBERED_ROW
    wrong = []
    for folder in ("src", "tests", "benchmarks", "examples", "docs"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if path == Path(__file__).relative_to(ROOT).as_posix():
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                for pattern in (NUMBERED_ROW, PRIVATE_FIELD):
                    if pattern.search(line) and own.get(path) is not pattern:
                        wrong.append(f"{path}:{number}: {line.strip()}")
    assert not wrong, "\n".join(wrong)
