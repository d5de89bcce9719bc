"""The picture of the event-driven confidence set, drawn from one real run of UCB-C."""

from __future__ import annotations

import math

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import structuredbandits as sb

_COLOURS = ("#2a7f78", "#c0562b", "#5b5ea6")
_GREY = "#b5b5b5"
_ALPHA = 3.0


def draw(points: int = 19, rounds: int = 40, theta: float = 3.0, seed: int = 5) -> Figure:
    """Three panels: sorted values with an interval, counts of exclusions, and what comes next."""
    problem = sb.load_problem("setup", points=points)
    structure = problem.structure
    policy = sb.make_policy("ucb-c", structure, seed=seed)
    rewards = problem.environment.rewards(theta, seed=seed)
    for _ in range(rounds):
        arm = policy.pull()
        policy.update(arm, rewards.draw(arm))
    q = _width(policy.received)
    scales = structure.sigma / np.sqrt(policy.counts)
    low, high = policy.means - q * scales, policy.means + q * scales
    outside = (structure.means <= low) | (structure.means >= high)
    if not np.array_equal(policy.confidence_set.mask, ~outside.any(axis=1)):
        raise AssertionError("the picture does not show the set that the policy has")
    figure = plt.figure(figsize=(8.6, 7.4), layout="constrained")
    above, below = figure.subfigures(2, 1)
    left, right = below.subplots(1, 2)
    _sorted_values(above.subplots(), structure, policy.means, low, high)
    _exclusions(left, structure, outside)
    _events(right, structure, policy.means, scales, low, high, policy.received)
    return figure


def _width(rounds: float) -> float:
    return math.sqrt(2 * _ALPHA * math.log(rounds))


def _sorted_values(
    axes: Axes, structure: sb.Structure, means: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    for k, arm in enumerate(structure.arms):
        values = np.sort(structure.means[:, k])
        inside = (values > low[k]) & (values < high[k])
        axes.barh(k, high[k] - low[k], left=low[k], height=0.5, color=_COLOURS[k], alpha=0.15)
        axes.plot([means[k]] * 2, [k - 0.25, k + 0.25], color=_COLOURS[k], linewidth=2)
        axes.scatter(values[inside], [k] * int(inside.sum()), color=_COLOURS[k], s=22, zorder=3)
        axes.scatter(
            values[~inside], [k] * int((~inside).sum()), edgecolors=_GREY, facecolors="white", s=22
        )
        head, tail = int((values <= low[k]).sum()), int((values < high[k]).sum())
        axes.text(
            max(values[0], low[k]),
            k + 0.33,
            f"arm {arm}: positions {head} to {tail}",
            fontsize=9,
            va="bottom",
        )
    axes.set(
        title="1  Each arm's values, sorted once. Its interval is two positions among them.",
        xlabel="mean reward",
        yticks=[],
        xlim=(low.min() - 0.4, max(high.max(), structure.means.max()) + 0.4),
        ylim=(-0.6, len(structure.arms) - 0.2),
    )


def _exclusions(axes: Axes, structure: sb.Structure, outside: np.ndarray) -> None:
    theta = np.asarray(structure.parameters.points)[:, 0]
    bottom = np.zeros(len(theta))
    for k, arm in enumerate(structure.arms):
        axes.bar(
            theta,
            outside[:, k],
            bottom=bottom,
            width=0.8 * (theta[1] - theta[0]),
            color=_COLOURS[k],
            label=f"arm {arm} rules it out",
        )
        bottom += outside[:, k]
    plausible = bottom == 0
    best = structure.optimal[plausible].argmax(axis=1)
    axes.scatter(
        theta[plausible], [0.08] * int(plausible.sum()), c=[_COLOURS[k] for k in best], s=26
    )
    axes.set(
        title="2  Each θ counts the arms against it.\nNone: plausible (dot: its best arm)",
        xlabel="θ",
        ylim=(0, len(structure.arms) + 0.6),
        yticks=range(len(structure.arms) + 1),
    )
    axes.legend(frameon=False, fontsize=9, loc="upper left")


def _events(
    axes: Axes,
    structure: sb.Structure,
    means: np.ndarray,
    scales: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    now: int,
) -> None:
    t = np.linspace(now, 12 * now, 400)
    axes.plot(t, np.sqrt(2 * _ALPHA * np.log(t)), color="black", linewidth=2)
    axes.text(t[-1], _width(t[-1]) + 0.05, "q(t)", ha="right")
    for k, arm in enumerate(structure.arms):
        values = structure.means[:, k]
        above, below = values[values >= high[k]], values[values <= low[k]]
        distances = [above.min() - means[k]] if above.size else []
        distances += [means[k] - below.max()] if below.size else []
        if not distances:
            continue
        soonest = min(distances) / scales[k]
        axes.axhline(soonest, color=_COLOURS[k], linestyle="--", linewidth=1.3)
        axes.text(t[-1], soonest, f"arm {arm} lets a θ in", fontsize=9, va="bottom", ha="right")
        when = math.exp(soonest**2 / (2 * _ALPHA))
        if when <= t[-1]:
            axes.scatter([when], [soonest], color=_COLOURS[k], zorder=3)
    axes.set(
        title="3  Without a reward an interval only grows.\nWhen it lets a θ in is known before",
        xlabel="rounds",
        ylabel="q",
        ylim=(_width(now) - 0.3, _width(t[-1]) + 0.4),
    )
