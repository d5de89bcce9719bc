"""The simulated experiments on given reward functions."""

from __future__ import annotations

import math

import numpy as np

from structuredbandits.environments import Bernoulli
from structuredbandits.experiments._claims import (
    HERE,
    at,
    difference,
    no_worse,
    settles,
    shown,
    smaller,
    smallest,
)
from structuredbandits.experiments._simulated_experiment import (
    counts_of,
    joined,
    settings_of,
    simulated,
    with_functions,
)
from structuredbandits.experiments.experiment import Claim, ExperimentRequest, Outcome
from structuredbandits.plots import (
    regions_plot,
    regret_against_theta_plot,
    regret_grid_plot,
    regret_plot,
)
from structuredbandits.problems import Problem, load_problem
from structuredbandits.simulation import Results
from structuredbandits.structure import Structure, show_theta
from structuredbandits.theory import analyze

_FAMILIES = {
    "UCB": ["ucb", "ucb-s", "ucb-c"],
    "Thompson sampling": ["ts", "ts-c"],
    "KL-UCB": ["kl-ucb", "kl-ucb-c"],
}


def three_arms(request: ExperimentRequest) -> Outcome:
    """Three families of algorithms at θ* with one, two and three competitive arms."""
    problem = load_problem("three-arms")
    results = {
        family: simulated(request, problem, policies) for family, policies in _FAMILIES.items()
    }
    claims: list[Claim] = [counts_of(problem.structure, results["UCB"], [1, 2, 3])]
    for family, (base, *_, competitive) in _FAMILIES.items():
        claims.append(settles(results[family], competitive, 0))
        for place in range(3):
            claims.append(smaller(results[family], competitive, base, place))
    ucb = results["UCB"]
    for family in ("Thompson sampling", "KL-UCB"):
        better = _FAMILIES[family][-1]
        claims += [
            smaller(results[family], better, "ucb-c", place, others=ucb) for place in range(3)
        ]
    claims.append(smallest(ucb, "ucb-s", 0))
    claims.append(smaller(ucb, "ucb", "ucb-s", 2, "ucb-s is worse than ucb at θ* = 2.6"))
    figures = {
        "regret": regret_grid_plot(results),
        "functions": regions_plot(analyze(problem.structure)),
    }
    table = joined({family: found.summary() for family, found in results.items()}, "family")
    return Outcome(figures, table, tuple(claims), settings_of(ucb, families=_FAMILIES))


def two_arms(request: ExperimentRequest) -> Outcome:
    """Regret against θ*."""
    problem = load_problem("two-arms")
    results = simulated(request, problem, ["ucb", "ucb-s", "ucb-c", "ts-c"])
    thetas = list(results.thetas)
    apart = [place for place, theta in enumerate(thetas) if not math.isclose(theta, 3.0)]
    final = results.mean()[..., -1]
    wins = int((final[:, apart].argmin(axis=0) == results.policies.index("ts-c")).sum())
    claims = (
        smallest(results, "ucb-s", thetas.index(2.75)),
        smaller(
            results, "ucb", "ucb-s", thetas.index(3.25), "ucb-s is worse than ucb at θ* = 3.25"
        ),
        _never_worse(results, apart),
        Claim(
            "ts-c performs best for most θ*",
            wins > len(apart) / 2,
            f"smallest mean regret at {wins} of {len(apart)} values of θ*",
        ),
    )
    figures = {
        "regret": regret_against_theta_plot(results),
        "functions": regions_plot(analyze(problem.structure)),
    }
    return Outcome(figures, results.summary(), claims, settings_of(results))


def _never_worse(results: Results, places: list[int]) -> Claim:
    """Claim that UCB-C is nowhere worse than UCB, with simultaneous intervals."""
    worst = max(places, key=lambda place: sum(difference(results, "ucb-c", "ucb", place)))
    many = len(places)
    found = [no_worse(results, "ucb-c", "ucb", place, together=many) for place in places]
    worse = [
        show_theta(results.thetas[p]) for p, c in zip(places, found, strict=True) if not c.held
    ]
    mean, half = difference(results, "ucb-c", "ucb", worst, many)
    return Claim(
        "ucb-c is at least as good as ucb for all θ*",
        not worse,
        f"worse at {', '.join(worse)}"
        if worse
        else f"it is worse at none of {many} values of θ*; the closest is ucb-c − ucb = "
        f"{shown(mean, half)} {at(results, worst)}, simultaneous 95 % interval",
    )


def linear(request: ExperimentRequest) -> Outcome:
    """Linear rewards, with algorithms for them."""
    problem = load_problem("linear")
    results = simulated(request, problem, ["ucb", "glm-ucb", "oful", "ucb-c", "ts-c"])
    places = range(len(results.thetas))
    claims = [smaller(results, "ucb-c", "ucb", place, of=HERE) for place in places]
    claims += [
        no_worse(
            results,
            policy,
            "glm-ucb",
            place,
            f"{policy} competes with glm-ucb {at(results, place)}: it is no worse",
        )
        for policy in ("ucb-c", "ts-c")
        for place in places
    ]
    claims.append(counts_of(problem.structure, results, [1, 3], of=HERE))
    return with_functions(problem.structure, results, claims)


def plane(request: ExperimentRequest) -> Outcome:
    """A vector θ with rewards that are not linear."""
    problem = load_problem("plane")
    results = simulated(request, problem, ["ucb", "ucb-c", "ts", "ts-c"])
    claims = [
        counts_of(problem.structure, results, [1, 3]),
        smaller(results, "ucb-c", "ucb", 0),
        smaller(results, "ts-c", "ucb", 0),
        smaller(results, "ts-c", "ucb", 1),
        # Where all arms compete there is nothing to gain, so "no worse" is the best possible.
        no_worse(results, "ucb-c", "ucb", 1, of=HERE),
        no_worse(results, "ts-c", "ts", 0, of=HERE),
        no_worse(results, "ts-c", "ts", 1, of=HERE),
    ]
    return with_functions(problem.structure, results, claims)


def informative(request: ExperimentRequest) -> Outcome:
    """Pulls for information, in the UCB and the Thompson family."""
    problem = load_problem("informative")
    families = {
        "UCB": ["ucb", "ucb-s", "ucb-c", "ucb-c-kl", "ucb-c-entropy", "ucb-c-random"],
        "Thompson sampling": ["ts", "ts-c", "ts-c-kl", "ts-c-entropy", "ts-c-random"],
    }
    results = {
        family: simulated(request, problem, policies) for family, policies in families.items()
    }
    ucb, thompson = results["UCB"], results["Thompson sampling"]
    final = dict(zip(ucb.policies, ucb.mean()[:, 0, -1], strict=True))
    family = [final[name] for name in ("ucb-c", "ucb-c-kl", "ucb-c-entropy", "ucb-c-random")]
    claims = [
        *_best_by_kl(ucb, "ucb"),
        *_best_by_kl(thompson, "ts"),
        *(
            smaller(thompson, f"ts-c{ending}", f"ucb-c{ending}", others=ucb)
            for ending in ("", "-kl", "-entropy", "-random")
        ),
        _never_pulled(ucb, "ucb-c", arm=2),
        _never_pulled(thompson, "ts-c", arm=2),
        Claim(
            "ucb-s ends near 2,500 while the ucb-c family ends between 600 and 800",
            2000 <= final["ucb-s"] <= 3000 and all(550 <= value <= 850 for value in family),
            f"ucb-s {final['ucb-s']:,.0f}; the family {min(family):.0f} to {max(family):.0f}",
        ),
        _early(ucb),
    ]
    figures = {name: regret_plot(found) for name, found in results.items()}
    figures["functions"] = regions_plot(analyze(problem.structure))
    table = joined({name: found.summary() for name, found in results.items()}, "family")
    return Outcome(figures, table, tuple(claims), settings_of(ucb, families=families))


def _best_by_kl(results: Results, base: str) -> list[Claim]:
    """Claim that choosing the informative arm by variance over Θ̂ is best."""
    best = f"{base}-c-kl"
    return [smaller(results, best, f"{base}-c{ending}") for ending in ("", "-entropy", "-random")]


def _never_pulled(results: Results, policy: str, arm: int) -> Claim:
    pulls = results.pulls[results.policies.index(policy), 0, :, arm]
    return Claim(
        f"{policy} does not pull arm {arm + 1} at all",
        bool((pulls == 0).all()),
        f"{pulls.mean():.3g} pulls on average, none in {int((pulls == 0).sum())} of "
        f"{pulls.size} runs",
    )


def _early(results: Results) -> Claim:
    curves = dict(zip(results.policies, results.mean()[:, 0], strict=True))
    behind = results.rounds[curves["ucb-c-kl"] > curves["ucb-c"]]
    last = int(behind[-1]) if behind.size else 0
    return Claim(
        "ucb-c-kl is ahead of ucb-c from early on",
        last < results.horizon // 10,
        f"its mean regret is above ucb-c's for the last time at round {last:,}",
        HERE,
    )


def bernoulli(request: ExperimentRequest) -> Outcome:
    """Beta Thompson sampling on two arms with rewards of 0 and 1 (Appendix F)."""
    structure = Structure.from_breakpoints(
        {"1": [(0, 0.2), (1, 0.8)], "2": [(0, 0.5), (1, 0.5)]},
        sigma=0.5,
        points=601,
        name="bernoulli",
    )
    problem = Problem(
        "bernoulli",
        structure,
        Bernoulli(structure),
        (0.25, 0.75),
        50_000,
        "Arm 1 wins more often the larger θ is, arm 2 half of the time.",
        "Two arms that win or lose",
    )
    results = simulated(request, problem, ["ts-beta", "ts-beta-c", "ucb", "ucb-c"])
    claims = [
        *(_thompson_bound(structure, results, place) for place in range(2)),
        settles(results, "ts-beta-c", 1),
        *(smaller(results, "ts-beta-c", "ts-beta", place, of=HERE) for place in range(2)),
        counts_of(structure, results, [2, 1], of=HERE),
    ]
    return with_functions(structure, results, claims)


def _thompson_bound(structure: Structure, results: Results, place: int) -> Claim:
    theta = results.thetas[place]
    means = structure.means_at(theta)
    bad, gap = int(np.argmin(means)), float(np.ptp(means))
    number = results.policies.index("ts-beta-c")
    pulls = float(results.pulls[number, place, :, bad].mean())
    bound = 9.0 * math.log(results.horizon) / gap**2
    return Claim(
        f"at θ* = {theta} the worse arm is pulled at most 9 log T / Δ² times, up to a constant",
        pulls <= bound,
        f"{pulls:.1f} pulls, bound {bound:.0f}",
    )
