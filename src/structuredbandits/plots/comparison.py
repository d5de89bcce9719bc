"""Final regrets side by side: against θ, and spread over many θ.

This module knows results that are already there. It must not know how they were simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from structuredbandits.plots import style
from structuredbandits.plots.structure import name_curves

if TYPE_CHECKING:
    from structuredbandits.simulation import Results

_NORMAL_95 = 1.959963984540054


def regret_against_theta_plot(results: Results) -> Figure:
    """Draw the final mean regret of every policy against a θ of numbers, with 95 % bars."""
    theta = np.array(results.thetas, dtype=float)
    means = results.mean()[..., -1]
    half = _NORMAL_95 * np.nan_to_num(results.standard_error()[..., -1])
    drawn = style.figure(7.6, 4.4)
    axes = drawn.add_axes((0.11, 0.13, 0.72, 0.77))
    ends = []
    for number, policy in enumerate(results.policies):
        look = style.look_of(policy)
        axes.errorbar(
            theta,
            means[number],
            half[number],
            color=look.colour,
            linestyle=look.line,
            linewidth=style.LINE_WIDTH,
            elinewidth=1.0,
            capsize=2,
        )
        ends.append((policy, look.colour, float(means[number, -1])))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("θ*")
    axes.set_ylabel(f"regret after {results.horizon:,} rounds")
    name_curves(axes, ends)
    return drawn


def regret_spread_plot(results: Results, baseline: str) -> Figure:
    """Draw how the final mean regrets of every policy spread over many θ, as shares of a baseline.

    A dot is a θ, the bar the median; right of 1 a policy is worse than the baseline.
    """
    means = results.mean()[..., -1]
    shares = means / means[results.policies.index(baseline)]
    drawn = style.figure(7.6, 0.9 + 0.5 * len(results.policies))
    axes = drawn.add_axes((0.2, 0.9 / (1.6 + 0.5 * len(results.policies)), 0.77, 0.72))
    generator = np.random.default_rng(0)
    for row, policy in enumerate(reversed(results.policies)):
        number = results.policies.index(policy)
        look = style.look_of(policy)
        jitter = row + generator.uniform(-0.22, 0.22, size=shares.shape[1])
        axes.scatter(shares[number], jitter, s=9, color=look.colour, alpha=0.5, linewidths=0)
        median = float(np.median(shares[number]))
        axes.plot([median, median], [row - 0.33, row + 0.33], color=style.INK, linewidth=2)
    axes.axvline(1.0, color=style.INK, linewidth=0.8, linestyle=":")
    axes.set_xlim(left=0)
    axes.set_yticks(range(len(results.policies)), list(reversed(results.policies)))
    axes.set_xlabel(f"regret as a share of {baseline}'s, one dot a θ, bar = median")
    return drawn
