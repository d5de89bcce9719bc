"""Figures with little or no simulation: the set-up, one step, C(θ), the corner case."""

from __future__ import annotations

import pandas as pd

from structuredbandits.experiments.experiment import HERE, Claim, ExperimentRequest, Outcome
from structuredbandits.plots import best_plot, competitive_plot, regions_plot, structure_plot
from structuredbandits.plots.algorithm_steps import AlgorithmStep, steps_plot
from structuredbandits.policies.registry import make_policy
from structuredbandits.problems import load_problem
from structuredbandits.theory import C_epsilon, analyze

_STEP_ROUND = 60


def setup(request: ExperimentRequest) -> Outcome:
    """Reward functions of the running example."""
    structure = load_problem("setup").structure
    report = analyze(structure, theta=3)
    table = pd.DataFrame(
        {
            "arm": structure.arms,
            "mean at θ* = 3": structure.means_at(3),
            "gap": [report.gaps[arm] for arm in structure.arms],
        }
    )
    claim = Claim("arm 2 is the best at θ* = 3", report.optimal_arm == "2", "computed exactly")
    figures = {"functions": best_plot(analyze(structure))}
    return Outcome(figures, table, (claim,), {"problem": "setup"})


def c_of_theta(request: ExperimentRequest) -> Outcome:
    """The number of competitive arms against θ*."""
    structure = load_problem("setup").structure
    table = analyze(structure)
    report = analyze(structure, theta=3)
    regions = pd.DataFrame(table.regions)
    outside = all(region.C == 1 for region in table.regions if region.high <= 2 or region.low >= 4)
    claims = (
        Claim(
            "at θ* = 3 arms 1 and 2 compete, C = 2",
            report.competitive_arms == ("1", "2"),
            f"C(3) = {report.C}, ε of arm 3 = {report.epsilon['3']:.3g}",
        ),
        Claim(
            "C = 1 outside [2, 4]",
            outside,
            "; ".join(f"[{r.low:g}, {r.high:g}]: {r.C}" for r in table.regions),
        ),
    )
    figures = {"regions": regions_plot(table), "C": competitive_plot(table)}
    return Outcome(figures, regions, claims, {"problem": "setup"})


def corner(request: ExperimentRequest) -> Outcome:
    """The corner case in which C and C̃ differ."""
    structure = load_problem("corner").structure
    report = analyze(structure, theta=3)
    claim = Claim(
        "C(3) = 2 although C̃(3) = 1: bounded regret is possible, but arm 2 still competes",
        (report.C, report.C_tilde) == (2, 1),
        f"C = {report.C}, C̃ = {report.C_tilde}, lower bound {report.lower_bound:.3g}",
    )
    table = analyze(structure)
    return Outcome(
        {"regions": regions_plot(table)},
        pd.DataFrame(table.regions),
        (claim,),
        {"problem": "corner"},
    )


def steps(request: ExperimentRequest) -> Outcome:
    """The three steps at one round of a real run."""
    problem = load_problem("setup")
    structure = problem.structure
    policy = make_policy("ucb-c", structure, seed=request.seed)
    rewards = problem.environment.rewards(3.0, request.seed)
    for _ in range(_STEP_ROUND):
        arm = policy.pull()
        policy.update(arm, rewards.draw(arm))
    step = AlgorithmStep.of(policy)
    rows = pd.DataFrame(
        {
            "arm": structure.arms,
            "pulls": step.counts,
            "mean": step.means,
            "radius": 0.5 * (step.high - step.low),
            "θ it allows": step.allowed.sum(axis=0),
            "competitive": [arm in step.competitive for arm in structure.arms],
        }
    )
    inside = 3.0 in policy.confidence_set
    claims = (
        Claim(
            "the true θ* = 3 is in the set",
            inside,
            f"{int(step.plausible.sum())} of {structure.n_parameters} θ are plausible",
            HERE,
        ),
    )
    settings = {"problem": "setup", "theta": "3", "round": _STEP_ROUND, "seed": request.seed}
    return Outcome({"steps": steps_plot(structure, step)}, rows, claims, settings)


def movielens_c(request: ExperimentRequest) -> Outcome:
    """The number of competitive genres per segment, exact and within some ε."""
    problem = load_problem("movielens")
    structure = problem.structure
    radii = (0.02, 0.05, 0.1)
    table = analyze(structure, epsilon=radii)
    four = [problem.resolve(theta) for theta in problem.thetas]
    exact = [analyze(structure, theta=theta).C for theta in four]
    within = [C_epsilon(structure, theta, radii[1]) for theta in four]
    claims = (
        Claim(
            "C(θ*) of the four segments is 6, 6, 3 and 1",
            exact == [6, 6, 3, 1],
            f"exact C is {_listed(exact)}: on a learned map few means are equal, so the published "
            f"values need an ε > 0 (C_ε for ε = {radii[1]} is {_listed(within)})",
        ),
        Claim(
            "C(θ*) ranges from 1 to 9",
            (int(table.C.min()), int(table.C.max())) == (1, 9),
            f"exactly from {table.C.min()} to {table.C.max()}; "
            + "; ".join(f"for ε = {r:g} to {table.C_epsilon(r).max()}" for r in radii),
        ),
        Claim(
            "C(θ*) is smaller than the number of genres everywhere",
            bool((structure.n_arms > table.C).all()),
            f"C is at most {int(table.C.max())} of {structure.n_arms}",
        ),
    )
    settings = {"problem": "movielens", "epsilon": list(radii)}
    return Outcome({"C": competitive_plot(table)}, table.to_frame(), claims, settings)


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def movielens_functions(request: ExperimentRequest) -> Outcome:
    """The learned map from segments to mean ratings."""
    structure = load_problem("movielens").structure
    return Outcome(
        {"functions": structure_plot(structure)},
        structure.to_frame(),
        (),
        {"problem": "movielens", "split_seed": 0},
    )
