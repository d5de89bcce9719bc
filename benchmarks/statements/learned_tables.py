"""How often a learned mean is within 1.96 standard errors of the truth, and how biased it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import structuredbandits as sb

MEANS = np.array([0.3, 0.5, 0.4])
FLOOR = 0.1


def measure(segments: int = 2000, rounds: int = 200) -> list[dict[str, Any]]:
    """A survey with uniform choices, and a greedy bandit's own log, plain and weighted."""
    survey = draw(segments, rounds, floor=1.0)
    own = draw(segments, rounds, floor=FLOOR)
    cases = [
        ("survey of uniform choices", survey, False),
        ("a bandit's own log, unweighted", own, False),
        ("a bandit's own log, by probabilities", own, None),
    ]
    rows = []
    for case, log, probability in cases:
        learned = sb.learn_structure(
            log,
            arm="arm",
            segment="who",
            reward="reward",
            probability=probability,  # type: ignore[arg-type]
        )
        assert learned.standard_errors is not None
        errors = learned.means - MEANS
        inside = np.abs(errors) <= 1.96 * learned.standard_errors
        rows.append(
            {
                "case": case,
                "runs": int(errors.size),
                "promised": 0.95,
                "measured": float(inside.mean()),
                "bias": float(errors.mean()),
            }
        )
    return rows


def draw(segments: int, rounds: int, floor: float) -> pd.DataFrame:
    """0/1 rewards; each segment has a greedy bandit of its own."""
    generator = np.random.default_rng(11)
    rows, (counts, sums) = np.arange(segments), np.zeros((2, segments, 3))
    parts: dict[str, list[np.ndarray]] = {"arm": [], "reward": [], "probability": []}
    for _ in range(rounds):
        looks = np.where(counts > 0, sums / np.maximum(counts, 1.0), 9.0)
        best = (looks + 1e-9 * generator.random(looks.shape)).argmax(axis=1)
        shares = floor / 3 + (1.0 - floor) * np.eye(3)[best]
        uniform = generator.random((segments, 1))
        arm = (uniform > shares.cumsum(axis=1)).sum(axis=1).clip(max=2)
        reward = (generator.random(segments) < MEANS[arm]).astype(float)
        counts[rows, arm] += 1.0
        sums[rows, arm] += reward
        parts["arm"].append(np.array(["a", "b", "c"], dtype=object)[arm])
        parts["reward"].append(reward)
        parts["probability"].append(shares[rows, arm])
    log = pd.DataFrame({name: np.concatenate(values) for name, values in parts.items()})
    return log.assign(who=np.tile(rows, rounds))
