"""Final regrets compared: against θ, and as a distribution over many θ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from structuredbandits.plots import style
from structuredbandits.plots.structure_figure import name_curves
from structuredbandits.plots.titles import regret_finding

if TYPE_CHECKING:
    from structuredbandits.simulation import Results

_NORMAL_95 = 1.959963984540054


def regret_against_theta_plot(results: Results) -> Figure:
    """Draw the final mean regret of every policy against a numerical θ, with 95 % error bars.

    Where all arms are equal no policy has regret; the curves have a gap there, marked by a dotted
    line.
    """
    theta = np.array(results.thetas, dtype=float)
    means = results.mean()[..., -1]
    half = _NORMAL_95 * np.nan_to_num(results.standard_error()[..., -1])
    tied = (means == 0).all(axis=0)
    means = np.where(tied, np.nan, means)
    drawn = style.figure(8.2, 4.6)
    axes = drawn.add_axes((0.11, 0.13, 0.73, 0.78))
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
    for place in theta[tied]:
        axes.axvline(place, color=style.PALE, linewidth=1.0, linestyle=":")
        axes.annotate(
            "all arms equal",
            (place, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=style.SMALL_SIZE,
            color=style.INK,
        )
    axes.set_ylim(bottom=0)
    axes.set_xlim(float(theta.min()), float(theta.max()))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel("θ*")
    axes.set_ylabel(f"mean regret after {results.horizon:,} rounds (reward)")
    name_curves(axes, ends)
    style.heading(drawn, regret_finding([results], skip=np.flatnonzero(tied).tolist()))
    return drawn


def regret_spread_plot(results: Results, baseline: str) -> Figure:
    """Draw the final mean regrets of every policy at many θ, divided by those of a baseline.

    Each dot is a θ and the bar is the median; right of 1 a policy is worse than the baseline.
    """
    means = results.mean()[..., -1]
    shares = means / means[results.policies.index(baseline)]
    height = 1.1 + 0.5 * len(results.policies)
    drawn = style.figure(7.6, height)
    axes = drawn.add_axes((0.14, 0.65 / height, 0.83, 1 - 1.05 / height))
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
    axes.set_xlabel(f"mean regret divided by that of {baseline} (dot: one θ, bar: median)")
    medians = np.median(shares, axis=1)
    best = int(medians.argmin())
    style.heading(
        drawn,
        f"{results.policies[best]} has the lowest median: "
        f"{medians[best]:.2g} times the regret of {baseline}",
    )
    return drawn
