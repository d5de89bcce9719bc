"""One round of Algorithm-C: the θ each arm allows, the confidence set, the competitive arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from structuredbandits.confidence.divergence import interval_ends
from structuredbandits.plots import style
from structuredbandits.plots.structure_figure import arm_name, draw_curves

if TYPE_CHECKING:
    from structuredbandits.policies.policy import Policy
    from structuredbandits.structure import Structure

_GREY, _GREEN = "#D9D9D9", "#CFE8D5"


class AlgorithmStep(NamedTuple):
    """The state of a run of Algorithm-C in one round."""

    counts: np.ndarray  # (arms,)
    means: np.ndarray  # (arms,)
    low: np.ndarray  # (arms,) ends of the arms' intervals
    high: np.ndarray  # (arms,)
    allowed: np.ndarray  # (parameters, arms): the θ that each arm allows
    plausible: np.ndarray  # (parameters,)
    competitive: tuple[str, ...]

    @classmethod
    def of(cls, policy: Policy) -> AlgorithmStep:
        """Read a run of Algorithm-C."""
        structure = policy.structure
        counts, kept = policy.counts, policy.algorithm.confidence_parameters(structure)
        assert kept is not None  # the run is one of Algorithm-C
        means = np.where(counts > 0, policy.means, 0.0)
        low, high = interval_ends(structure, kept.alpha, policy.received, counts, means)
        least, most = low, high
        if structure.rewards.limited:  # an interval that reaches a limit contains it
            least = np.where(low <= structure.rewards.low, -np.inf, low)
            most = np.where(high >= structure.rewards.high, np.inf, high)
        allowed = (structure.lower < most) & (structure.upper > least)
        return cls(
            counts,
            policy.means,
            low,
            high,
            allowed,
            policy.confidence_set.mask,
            policy.competitive_arms,
        )


def steps_plot(structure: Structure, step: AlgorithmStep) -> Figure:
    """Draw the three steps over a numerical Θ: one panel per arm, the set, the competitive arms.

    Parameters
    ----------
    structure
        A structure with a numerical Θ.
    step
        The result of `AlgorithmStep.of` for a run.
    """
    theta = np.asarray(structure.parameters.points)[:, 0]
    columns = max(structure.n_arms, 2)
    drawn = style.figure(3.4 * columns, 6.4, arranged=True)
    grid = drawn.add_gridspec(2, 2 * columns)
    for k, arm in enumerate(structure.arms):
        axes = drawn.add_subplot(grid[0, 2 * k : 2 * k + 2])
        _arm_panel(axes, structure, step, theta, k)
        style.title(axes, f"1. {arm_name(arm)} allows")
    axes = drawn.add_subplot(grid[1, :columns])
    _shade(axes, theta, step.plausible, _GREEN)
    draw_curves(axes, structure)
    style.title(axes, "2. θ that all arms allow")
    axes = drawn.add_subplot(grid[1, columns:])
    _shade(axes, theta, step.plausible, _GREEN)
    draw_curves(axes, structure)
    for line, arm in zip(axes.get_lines(), structure.arms, strict=False):
        line.set_alpha(1.0 if arm in step.competitive else 0.2)
    style.title(axes, f"3. competitive: {', '.join(step.competitive)}")
    return drawn


def _arm_panel(
    axes: Axes, structure: Structure, step: AlgorithmStep, theta: np.ndarray, arm: int
) -> None:
    look = style.arm_look(arm)
    _shade(axes, theta, step.allowed[:, arm], _GREY)
    axes.plot(theta, structure.means[:, arm], color=look.colour, linewidth=style.LINE_WIDTH)
    if step.counts[arm] > 0:
        axes.axhspan(step.low[arm], step.high[arm], color=look.colour, alpha=0.15, linewidth=0)
        axes.axhline(step.means[arm], color=look.colour, linewidth=1.0, linestyle=":")
    axes.set_xlim(float(theta[0]), float(theta[-1]))
    axes.set_ylim(
        float(structure.lower.min()) - 0.5,
        float(structure.upper.max()) + 0.5,
    )
    axes.set_xlabel("θ")
    if arm == 0:
        axes.set_ylabel("mean reward")


def _shade(axes: Axes, theta: np.ndarray, mask: np.ndarray, colour: str) -> None:
    axes.fill_between(
        theta,
        0,
        1,
        where=mask,
        color=colour,
        linewidth=0,
        step="mid",
        transform=axes.get_xaxis_transform(),
    )
