"""Random click problems: banners, segments of visitors, and an uneven log of impressions."""

from __future__ import annotations

import numpy as np

from structuredbandits.environments import Bernoulli
from structuredbandits.problems._problem import Problem
from structuredbandits.structure import FloatArray, Structure

_ARMS, _SEGMENTS = (5, 40), (20, 60)
_RATES = (0.002, 0.05)
# Arms have typical rates between these, evenly on the logit scale.
_TYPICAL = (0.005, 0.02)
_SPREAD = 0.5  # standard deviation of a segment's own effect on an arm, on the logit scale
_IMPRESSIONS = (2e5, 2e6)  # in the whole log, evenly on the log scale
_LEAST = 20  # impressions of every arm in every segment
_UNEVEN = 1.0  # standard deviation of the logarithm of the segments' and the arms' traffic


def click_problem(seed: int) -> Problem:
    """Draw a random problem with clicks as rewards, and learn its structure from a random log.

    Parameters
    ----------
    seed
        Equal seeds give equal problems.

    Returns
    -------
    Problem
        Its structure holds the click rates in the log, their standard errors and the segments'
        shares of the traffic; its environment (``.environment.structure``) the true rates.

    Notes
    -----
    There are 5 to 40 arms and 20 to 60 segments. The logit of a click rate is the arm's effect,
    evenly distributed between those of 0.5 % and 2 %, plus N(0, 0.5²) per segment and arm; rates
    are between 0.2 % and 5 %. The log has 200,000 to 2 million impressions, whose numbers per
    segment and per arm are log-normal (σ = 1), at least 20 in every cell. As `learn_structure`
    does, a standard error is the pooled standard deviation of a reward over the root of the count.

    These numbers were fixed before any policy was tried on them, and no setting of a policy is
    chosen on the problems of seeds below 1,000.

    Examples
    --------
    >>> problem = click_problem(0)
    >>> problem.structure
    <Structure clicks: 27 arms, 60 θ, sigma 0.5, bernoulli rewards>
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0xC11C,)))
    shape = _between(generator, _SEGMENTS), _between(generator, _ARMS)
    low, high = (np.log(rate / (1 - rate)) for rate in _TYPICAL)
    effects = generator.uniform(low, high, shape[1]) + generator.normal(0.0, _SPREAD, shape)
    rates = (1.0 / (1.0 + np.exp(-effects))).clip(*_RATES)
    shares, popularity = (_shares(generator, number) for number in shape)
    impressions = np.exp(generator.uniform(*np.log(_IMPRESSIONS)))
    counts = generator.poisson(impressions * np.outer(shares, popularity)).clip(_LEAST)
    clicks = generator.binomial(counts, rates)
    means = clicks / counts
    sigma = float(np.sqrt((counts * means * (1 - means)).sum() / (counts.sum() - counts.size)))
    arms = [f"banner-{number}" for number in range(1, shape[1] + 1)]
    known = Structure.from_table(
        means,
        arms=arms,
        name="clicks",
        prior=shares,
        counts=counts,
        standard_errors=sigma / np.sqrt(counts),
        rewards="bernoulli",
        noise=sigma,
    )
    truth = Structure.from_table(
        rates, known.parameters, arms, prior=shares, rewards="bernoulli", noise=sigma
    )
    return Problem(
        "clicks",
        known,
        Bernoulli(truth),
        tuple(range(shape[0])),
        100,
        "Each arm is a banner, θ is the segment of a visitor and a reward is a click. The "
        "structure was learned from a log in which some segments and banners are rare.",
        f"Random banners, number {seed}",
    )


def _between(generator: np.random.Generator, limits: tuple[int, int]) -> int:
    return int(generator.integers(limits[0], limits[1] + 1))


def _shares(generator: np.random.Generator, number: int) -> FloatArray:
    """Return log-normal shares that sum to 1: (number,)."""
    traffic = np.exp(generator.normal(0.0, _UNEVEN, number))
    return np.asarray(traffic / traffic.sum())
