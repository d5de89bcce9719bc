"""`python -m benchmarks.comparison`: all policies on all embedded problems (docs/comparison.md)."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import structuredbandits as sb
from structuredbandits.errors import StructuredBanditsError
from structuredbandits.policies.registry import applicable
from structuredbandits.structure.theta import show_theta
from structuredbandits.theory.lower_bound import lower_bound

PAGE = Path(__file__).parents[1] / "docs" / "comparison.md"
EARLY, LATE = 5_000, 50_000
_INFORMATIVE = ("-kl", "-entropy", "-differential", "-random")


class Row(NamedTuple):
    """One policy at one θ of one problem."""

    problem: str
    theta: str
    policy: str
    early: float
    early_error: float
    late: float
    late_error: float
    to_bound: float | None
    """Growth for each log T after the early round, as a multiple of what none can avoid."""
    nanoseconds: float
    """Processor time a round, rewards included."""


def candidates(structure: sb.Structure) -> tuple[list[str], dict[str, str]]:
    """All policies that apply, without those of an informative step, and why others do not."""
    names = [name for name in sb.policy_names() if not name.endswith(_INFORMATIVE)]
    return applicable(structure, names)


def has_unit_rewards(problem: sb.Problem) -> bool:
    environment = problem.environment
    if not hasattr(environment, "quantile_table"):
        return False
    _, values = environment.quantile_table(problem.thetas[0])
    return bool(values.min() >= 0 and values.max() <= 1)


def slope_of(problem: sb.Problem, theta: object) -> float:
    """L(θ) of the lower bound; 0 where it is not known."""
    try:
        return lower_bound(problem.structure, theta).value
    except StructuredBanditsError:
        return 0.0


def measure(problem: sb.Problem, policies: Sequence[str], runs: int) -> Iterator[Row]:
    slopes = [slope_of(problem, theta) for theta in problem.thetas]
    for policy in policies:
        sb.simulate(problem, [policy], horizon=10, runs=1, progress="off")  # compiles
        start = time.process_time()
        results = sb.simulate(
            problem, [policy], horizon=LATE, runs=runs, checkpoints=[EARLY, LATE], progress="off"
        )
        spent = time.process_time() - start
        for place, theta in enumerate(results.thetas):
            regret = results.regret[0, place]
            mean = regret.mean(axis=0)
            error = regret.std(axis=0, ddof=1) / math.sqrt(runs)
            growth = float(mean[1] - mean[0]) / math.log(LATE / EARLY)
            yield Row(
                problem.name,
                show_theta(theta),
                policy,
                float(mean[0]),
                float(error[0]),
                float(mean[1]),
                float(error[1]),
                growth / slopes[place] if slopes[place] > 0 else None,
                spent / (runs * LATE * len(results.thetas)) * 1e9,
            )


def page(rows: Sequence[Row], reasons: dict[str, dict[str, str]], runs: int) -> str:
    lines = [
        "# All policies on all embedded problems",
        "",
        f"Mean regret ± standard error of {runs} runs after {EARLY:,} and {LATE:,} rounds, all "
        "policies on the same rewards, with default settings. *Of the bound* is the growth of "
        f"regret for each log T between the two, divided by the lower bound's slope L(θ), where "
        "L(θ) > 0: 1 is what no good policy can stay below for ever. *ns* is processor time a "
        "round, rewards included. Made by `python -m benchmarks.comparison`.",
    ]
    keys = list(dict.fromkeys((row.problem, row.theta) for row in rows))
    for problem, theta in keys:
        lines += ["", f"## {problem}, θ = {theta}", ""]
        lines += ["| policy | T = 5,000 | T = 50,000 | of the bound | ns |"]
        lines += ["|---|---:|---:|---:|---:|"]
        chosen = [row for row in rows if (row.problem, row.theta) == (problem, theta)]
        for row in sorted(chosen, key=lambda row: row.late):
            ratio = "" if row.to_bound is None else f"{row.to_bound:.1f}"
            lines.append(
                f"| {row.policy} | {row.early:.0f} ± {row.early_error:.0f} "
                f"| {row.late:.0f} ± {row.late_error:.0f} | {ratio} | {row.nanoseconds:,.0f} |"
            )
    lines += ["", "## What does not apply", ""]
    for problem, why in reasons.items():
        lines += [f"- **{problem}**, {policy}: {reason}" for policy, reason in why.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="runs of each policy at each θ")
    parser.add_argument("--problems", nargs="*", default=list(sb.problem_names()))
    parser.add_argument("--policies", nargs="*", help="only these; all that apply if left out")
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    rows: list[Row] = []
    reasons: dict[str, dict[str, str]] = {}
    for name in asked.problems:
        problem = sb.load_problem(name)
        policies, refused = candidates(problem.structure)
        if not has_unit_rewards(problem):
            unfit = [policy for policy in policies if sb.make_algorithm(policy).needs_unit_rewards]
            policies = [policy for policy in policies if policy not in unfit]
        if asked.policies:
            policies = [policy for policy in policies if policy in asked.policies]
        reasons[name] = {
            policy: reason
            for policy, reason in refused.items()
            if not asked.policies or policy in asked.policies
        }
        for row in measure(problem, policies, asked.runs):
            rows.append(row)
            print(f"{row.problem:12} {row.theta:28} {row.policy:18} {row.late:9.1f}", flush=True)
        # After every problem, so that an interrupted run leaves what it has.
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(page(rows, reasons, asked.runs), encoding="utf-8")
    print(
        f"{len(rows)} rows in {asked.out}, {np.sum([len(why) for why in reasons.values()])} refused"
    )


if __name__ == "__main__":
    main()
