"""The test of a structure: its plain twin, its false alarms at every look, and its power."""

from __future__ import annotations

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.confidence.evidence import new_block, rows_of
from structuredbandits.confidence.refutation import (
    LEVEL,
    least_evidence,
    pooled_evidence,
    refutation_test,
)
from tests.plain.refutation import smallest_evidence

GENERATOR = np.random.default_rng(8)
RATES = GENERATOR.uniform(0.02, 0.9, (6, 3))
COUNTS = GENERATOR.integers(5, 200, (6, 3)).astype(float)
NORMAL = sb.Structure.from_table(RATES, sigma=[0.5, 1.0, 2.0])
CLICKS = sb.Structure.from_table(RATES, rewards="bernoulli")
SALES = sb.Structure.from_table(RATES * [2, 3, 4], rewards="bernoulli", prize=[2, 3, 4])
STARS = sb.Structure.from_table(1 + 4 * RATES, rewards="bounded", limits=(1, 5), noise=1.0)


def learned(known: sb.Structure, counts: bool = True) -> sb.Structure:
    return sb.Structure.from_table(
        known.means,
        sigma=known.sigma,
        rewards=known.rewards,
        counts=COUNTS if counts else None,
        standard_errors=0.4 * known.sigma / np.sqrt(COUNTS),
    )


CASES = {
    "normal": NORMAL,
    "costs": NORMAL.with_(minimize=True),
    "bounds": sb.Structure.from_bounds(RATES - 0.1, RATES + 0.2, sigma=0.5),
    "clicks": CLICKS,
    "missed sales": SALES.with_(minimize=True),
    "stars": STARS,
    "few stars": STARS.with_(minimize=True),
    "learned": learned(NORMAL),
    "learned clicks": learned(CLICKS),
    "shrunken clicks": learned(CLICKS, counts=False),
    "learned stars": learned(STARS),
}


@pytest.mark.parametrize("known", CASES.values(), ids=CASES)
def test_it_equals_its_plain_twin(known: sb.Structure) -> None:
    generator = np.random.default_rng(1)
    test = refutation_test(known, LEVEL)
    for _ in range(60):
        counts = generator.integers(0, 40, 3) * (generator.random(3) < 0.8)
        block = new_block(known.sigma)
        rows = rows_of(block)
        for k in range(3):
            rewards = generator.normal(0.5, 1.0, counts[k])
            if known.rewards.limited:
                low, high = known.rewards.low[k], known.rewards.high[k]
                unit = np.where(generator.random(counts[k]) < 0.4, 1.0, 0.0)
                if not known.rewards.is_bernoulli:
                    unit = generator.random(counts[k]) ** 2
                rewards = low + (high - low) * unit
            rows.counts[k], rows.squares[k] = counts[k], np.square(rewards).sum()
            rows.sums[k] = known.sign * rewards.sum()
        plain = smallest_evidence(known, rows.counts, known.sign * rows.sums, rows.squares, LEVEL)
        assert least_evidence(test, block) == pytest.approx(plain, rel=1e-9, abs=1e-9)


def test_a_rate_of_nothing_is_excluded_by_one_click_only_if_the_map_is_exact() -> None:
    never = sb.Structure.from_table([[0.0, 0.5]], rewards="bernoulli")
    seen = sb.Structure.from_table(
        [[0.0, 0.5]], rewards="bernoulli", counts=[[20, 20]], standard_errors=[[0.02, 0.1]]
    )
    for known, refuted in ((never, True), (seen, False)):
        policy = sb.make_policy("ucb", known)
        policy.update(0, 1.0)
        assert policy.diagnostics().refuted is refuted


def test_one_click_does_not_refute_a_correct_map() -> None:
    known = sb.Structure.from_table([[0.01, 0.02], [0.02, 0.015]], rewards="bernoulli")
    policy = sb.make_policy("ucb", known)
    policy.update(0, 1.0)
    assert not policy.diagnostics().refuted


def test_pooling_finds_what_single_subjects_do_not_show() -> None:
    every = pooled_evidence(np.full(50, np.log(3.0)))
    assert every > np.log(1 / LEVEL)
    few = np.concatenate((np.full(199, np.log(0.2)), [np.log(1e7)]))
    assert pooled_evidence(few) > np.log(1 / LEVEL)
    assert pooled_evidence(np.full(200, np.log(0.2))) < 0.0
    assert pooled_evidence(np.array([])) == 0.0
