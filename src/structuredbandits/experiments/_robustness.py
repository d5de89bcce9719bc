"""The cost of a wrong structure: a map that is off by a growing number of standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from structuredbandits.environments import Gaussian
from structuredbandits.experiments.experiment import HERE, Claim, ExperimentRequest, Outcome
from structuredbandits.plots import style
from structuredbandits.plots.structure_figure import name_curves
from structuredbandits.structure import Structure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OFFSETS = (0.0, 0.5, 1.0, 2.0, 4.0)
ADVERSARIAL = "adversarial"
BASE = "ts"
POLICIES = (
    "ts",
    "ts-c",
    "posterior",
    "hierarchical",
    "hierarchical-index",
    "ts-c(robust=1)",
    "posterior(robust=1)",
    "hierarchical-index(robust=1)",
    "hierarchical-index(robust=4)",
)
_ARMS, _THETAS, _COUNT, _HORIZON = 8, 30, 50, 5_000


def robustness(request: ExperimentRequest) -> Outcome:
    """Regret when every mean of the map is off by 0 to 4 standard errors, or is adversarial."""
    table = regret_by_error(request)
    settings = {
        "arms": _ARMS,
        "thetas": _THETAS,
        "observations_per_mean": _COUNT,
        "horizon": _HORIZON,
        "runs": request.runs,
        "seed": request.seed,
    }
    return Outcome({"robustness": robustness_figure(table)}, table, claims(table), settings)


def learned_map(seed: int) -> Structure:
    """Return a map of 30 θ and 8 arms, learned from 50 rewards per mean with standard deviation 1.

    Arm 1 is the worst at every θ, by 0.3: a policy that trusts the map never needs it.
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(5,)))
    means = 0.3 * generator.standard_normal(_ARMS) + 0.5 * generator.standard_normal(
        (_THETAS, _ARMS)
    )
    means[:, 0] = means[:, 1:].min(axis=1) - 0.3
    return Structure.from_table(
        means,
        sigma=1.0,
        counts=np.full(means.shape, _COUNT),
        standard_errors=np.full(means.shape, 1.0 / np.sqrt(_COUNT)),
        name="learned map",
    )


def true_means(known: Structure, offset: float | str, seed: int) -> np.ndarray:
    """Return the true means of the rewards: (parameters, arms).

    Every mean is the map's plus or minus `offset` standard errors; in the adversarial case all
    equal the map's except those of arm 1, which is the best at every θ, by 0.5.
    """
    if isinstance(offset, str):
        means = np.array(known.means)
        means[:, 0] = means.max(axis=1) + 0.5
        return means
    assert known.standard_errors is not None
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(6,)))
    signs = generator.choice([-1.0, 1.0], size=known.means.shape)
    return np.asarray(known.means + offset * signs * known.standard_errors)


def regret_by_error(request: ExperimentRequest) -> pd.DataFrame:
    """Return one row per policy and error: mean regret over all θ, and its ratio to that of ts."""
    known = learned_map(request.seed)
    rows = []
    for offset in (*OFFSETS, ADVERSARIAL):
        truth = Structure.from_table(
            true_means(known, offset, request.seed), known.parameters, known.arms, sigma=1.0
        )
        results = request.simulate(
            known,
            list(POLICIES),
            list(range(_THETAS)),
            horizon=_HORIZON,
            runs=request.runs,
            seed=request.seed,
            environment=Gaussian(truth),
            checkpoints=1,
            n_jobs=request.n_jobs,
            progress="off",
        )
        by_run = results.regret[..., -1].mean(axis=1)
        by_theta = results.mean()[..., -1]
        base = results.policies.index(BASE)
        for place, policy in enumerate(results.policies):
            rows.append(
                {
                    "policy": policy,
                    "error": str(offset) if isinstance(offset, str) else f"{offset:g} se",
                    "regret": by_run[place].mean(),
                    "standard_error": by_run[place].std(ddof=1) / np.sqrt(request.runs)
                    if request.runs > 1
                    else np.nan,
                    "of_ts": by_run[place].mean() / by_run[base].mean(),
                    "worst_of_ts": (by_theta[place] / by_theta[base]).max(),
                }
            )
    return pd.DataFrame(rows)


def claims(table: pd.DataFrame) -> tuple[Claim, ...]:
    """Return the claims about standard errors and about robust policies."""
    share = table.set_index(["policy", "error"])["of_ts"]
    inside = [float(share["hierarchical-index", f"{offset:g} se"]) for offset in OFFSETS[:4]]
    trusting = float(share["hierarchical-index", ADVERSARIAL])
    guarded = float(share["hierarchical-index(robust=4)", ADVERSARIAL])
    return (
        Claim(
            "hierarchical-index beats ts on maps that are off by up to 2 standard errors",
            max(inside) < 1.0,
            f"at most {max(inside):.2f} times the regret of ts",
            HERE,
        ),
        Claim(
            "forced pulls and refutation limit the cost of an adversarial map",
            guarded < 0.5 * trusting,
            f"{guarded:.1f} times the regret of ts instead of {trusting:.1f}",
            HERE,
        ),
    )


def robustness_figure(table: pd.DataFrame) -> Figure:
    """Draw regret divided by that of ts against the error of the map, one line per policy."""
    errors = [error for error in dict.fromkeys(table["error"]) if error != ADVERSARIAL]
    drawn = style.figure(9.2, 4.8)
    lines = drawn.add_axes((0.09, 0.13, 0.46, 0.8))
    adversarial = drawn.add_axes((0.58, 0.13, 0.09, 0.8), sharey=lines)
    ends = []
    for policy, rows in table.groupby("policy", sort=False):
        look = style.look_of(str(policy))
        # Logarithms are drawn on a linear axis, so that the names can be placed.
        shares = rows.set_index("error")["of_ts"].map(np.log10)
        lines.plot(
            range(len(errors)),
            shares[errors],
            color=look.colour,
            linestyle=look.line,
            linewidth=style.LINE_WIDTH,
            marker="o",
            markersize=4,
        )
        adversarial.plot([0], [shares[ADVERSARIAL]], "o", color=look.colour, markersize=7)
        ends.append((str(policy), look.colour, float(shares[ADVERSARIAL])))
    ticks = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
    low, high = np.log10(table["of_ts"].min()) - 0.08, np.log10(table["of_ts"].max()) + 0.08
    lines.set_ylim(low, high)
    lines.set_yticks(
        [float(np.log10(tick)) for tick in ticks if low <= np.log10(tick) <= high],
        [f"{tick:g}" for tick in ticks if low <= np.log10(tick) <= high],
    )
    for axes in (lines, adversarial):
        axes.axhline(0.0, color=style.PALE, linewidth=1.0, zorder=0)
    lines.set_xticks(range(len(errors)), errors)
    lines.set_xlabel("error of every mean of the map (standard errors)")
    lines.set_ylabel(f"mean regret divided by that of {BASE}")
    adversarial.set_xticks([0], [ADVERSARIAL])
    adversarial.tick_params(axis="y", left=False, labelleft=False)
    adversarial.spines["left"].set_visible(False)
    name_curves(adversarial, ends)
    return drawn
