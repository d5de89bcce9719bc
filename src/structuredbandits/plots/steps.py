"""One round of Algorithm-C: what each arm allows, what remains, who competes.

This module knows a run's state at one moment. It must not change it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from structuredbandits.plots import style
from structuredbandits.plots.structure import arm_name, draw_curves

if TYPE_CHECKING:
    from structuredbandits.policies.policy import Policy
    from structuredbandits.structure import Structure

_GREY, _GREEN = "#D9D9D9", "#CFE8D5"


class Step(NamedTuple):
    """What is known of a run at one moment."""

    counts: np.ndarray  # (arms,)
    means: np.ndarray  # (arms,)
    radii: np.ndarray  # (arms,)
    allowed: np.ndarray  # (parameters, arms) which θ each arm allows
    plausible: np.ndarray  # (parameters,)
    competitive: tuple[str, ...]

    @classmethod
    def of(cls, policy: Policy) -> Step:
        """Read a run of Algorithm-C."""
        structure = policy.structure
        width = math.sqrt(2.0 * policy.algorithm.alpha * math.log(max(policy.received, 2)))  # type: ignore[attr-defined]  # Competitive has it
        counts = policy.counts
        with np.errstate(divide="ignore"):
            radii = width * structure.sigma / np.sqrt(counts)
        means = np.where(counts > 0, policy.means, 0.0)
        low, high = means - radii, means + radii
        allowed = (structure.lower < high) & (structure.upper > low)
        return cls(
            counts,
            policy.means,
            radii,
            allowed,
            policy.confidence_set.mask,
            policy.competitive_arms,
        )


def steps_plot(structure: Structure, step: Step) -> Figure:
    """Draw the three steps over a one-dimensional Θ: a panel an arm, then the set, then the arms.

    Parameters
    ----------
    structure
        With a Θ of numbers.
    step
        `Step.of` a run.
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


def _arm_panel(axes: Axes, structure: Structure, step: Step, theta: np.ndarray, arm: int) -> None:
    look = style.arm_look(arm)
    _shade(axes, theta, step.allowed[:, arm], _GREY)
    axes.plot(theta, structure.means[:, arm], color=look.colour, linewidth=style.LINE_WIDTH)
    if step.counts[arm] > 0:
        low, high = step.means[arm] - step.radii[arm], step.means[arm] + step.radii[arm]
        axes.axhspan(low, high, color=look.colour, alpha=0.15, linewidth=0)
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
