"""`python -m benchmarks.comparison`: all policies on all embedded problems (docs/comparison.md)."""

from __future__ import annotations

import argparse
import math
import platform
import time
from collections.abc import Iterator, Sequence
from datetime import date
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
# Of 21 values of θ these tell most: UCB-S at its usual, its best and its worst.
_THETAS = {"two-arms": [1.0, 2.75, 3.25]}
_SLOW = 400.0  # nanoseconds a round, beyond which fewer runs must do


class Row(NamedTuple):
    """One policy at one θ of one problem."""

    problem: str
    theta: str
    policy: str
    early: float
    early_error: float
    late: float
    late_error: float
    median: float
    runs: int
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
    """L(θ) of the lower bound; 0 where it is not known, or where rewards have other means."""
    known, true = problem.structure.means_at(theta), problem.environment.means_at(theta)
    if not np.allclose(known, true):
        return 0.0
    try:
        return lower_bound(problem.structure, theta).value
    except StructuredBanditsError:
        return 0.0


def timed(problem: sb.Problem, policy: str, runs: int) -> tuple[sb.Results, float]:
    """Results at the two horizons, and nanoseconds of processor time a round."""
    start = time.process_time()
    results = sb.simulate(
        problem,
        [policy],
        theta=_THETAS.get(problem.name),
        horizon=LATE,
        runs=runs,
        checkpoints=[EARLY, LATE],
        progress="off",
    )
    rounds = runs * LATE * len(results.thetas)
    return results, (time.process_time() - start) / rounds * 1e9


def measure(
    problem: sb.Problem, policies: Sequence[str], runs: int, slow_runs: int
) -> Iterator[Row]:
    slopes = {
        theta: slope_of(problem, theta) for theta in _THETAS.get(problem.name, problem.thetas)
    }
    for policy in policies:
        timed(problem, policy, 1)  # compiles
        _, first = timed(problem, policy, 1)
        results, spent = timed(problem, policy, runs if first < _SLOW else slow_runs)
        for place, (theta, slope) in enumerate(slopes.items()):
            regret = results.regret[0, place]
            mean = regret.mean(axis=0)
            error = regret.std(axis=0, ddof=1) / math.sqrt(results.runs)
            growth = float(mean[1] - mean[0]) / math.log(LATE / EARLY)
            yield Row(
                problem.name,
                show_theta(theta),
                policy,
                float(mean[0]),
                float(error[0]),
                float(mean[1]),
                float(error[1]),
                float(np.median(regret[:, 1])),
                results.runs,
                growth / slope if slope > 0 else None,
                spent,
            )


_HEAD = """# All policies on all embedded problems

Mean regret ± standard error after {early:,} and {late:,} rounds, and the median of the runs after
{late:,}; all policies meet the same rewards, with default settings, {runs} runs each ({slow} of
those that take more than {limit:.0f} ns a round). *Of the bound* is the growth of regret for each
log T between the two, divided by the lower bound's slope L(θ), where L(θ) > 0: 1 is what no good
policy can stay below for ever. *ns* is processor time a round on a shared machine, rewards
included. Made by `python -m benchmarks.comparison` on {day} with structuredbandits {version} and
Python {python}.

## What to make of it

- **Knowing the structure pays** wherever few arms compete: compare each policy with its `-c`. Where
  all arms compete there is less to gain (three-arms at 2.6) or nothing (plane at (-0.2, 0.1)).
- **A mean far above the median** is a few runs that were misled for long, not a growth of all.
  `posterior` believes its model: after unlucky first rewards it may put most of its trust in a
  θ whose best arm tells nothing about its error, and leaves it as rarely as it doubts it. `ossb`
  with its default `gamma=0` explores just as much as the lower bound asks for, which is enough only
  in the limit: of 200 runs on three-arms at θ = 0.5 (seed 1) one kept to a worse arm for 10,000
  rounds and made the mean 88 ± 80; `ossb(gamma=3)` has 6.4 ± 1.4 on the same rewards. `ucb-tuned`
  adds at most half of what `ucb(alpha=1)` adds, in squares, and is misled now and then, too.
- **`linear-greedy`** never explores. That is enough for a θ of one number that every arm tells of;
  in the plane an arm says nothing of one direction, and most runs stay with the first good one.
- **`epsilon-greedy`** explores a tenth of all rounds for ever, so its regret grows with T; its
  structured forms stop where one arm competes.
- **The joint set (`-cj`)** weighs all rewards together and pays for it with log |Θ|: it rules out
  more than the box where arms are many (movielens), hardly more or even less where they are few,
  and takes a pass over Θ in every round.
- **Growth below the bound** (a ratio below 1) is no contradiction: the bound is about T → ∞, and a
  policy that pulled enough early need not pull now.
- **`movielens`** has rewards from other ratings than its means were learned from. Policies that
  take the means for exact can be wrong for ever, so that some end behind those that know nothing;
  the hierarchical ones know how uncertain each mean is. The lower bound is for a right map, and
  left out here.
"""


def page(rows: Sequence[Row], reasons: dict[str, dict[str, str]], runs: int, slow_runs: int) -> str:
    lines = [
        _HEAD.format(
            early=EARLY,
            late=LATE,
            runs=runs,
            slow=slow_runs,
            limit=_SLOW,
            day=date.today().isoformat(),
            version=sb.__version__,
            python=platform.python_version(),
        ).rstrip()
    ]
    keys = list(dict.fromkeys((row.problem, row.theta) for row in rows))
    for problem, theta in keys:
        lines += ["", f"## {problem}, θ = {theta}", ""]
        lines += ["| policy | T = 5,000 | T = 50,000 | median | of the bound | ns |"]
        lines += ["|---|---:|---:|---:|---:|---:|"]
        chosen = [row for row in rows if (row.problem, row.theta) == (problem, theta)]
        for row in sorted(chosen, key=lambda row: row.late):
            ratio = "" if row.to_bound is None else f"{row.to_bound:.1f}"
            lines.append(
                f"| {row.policy} | {row.early:.0f} ± {row.early_error:.0f} "
                f"| {row.late:.0f} ± {row.late_error:.0f} | {row.median:.0f} | {ratio} "
                f"| {row.nanoseconds:,.0f} |"
            )
    return "\n".join([*lines, "", "## What does not apply", "", *refusals(reasons)]) + "\n"


def refusals(reasons: dict[str, dict[str, str]]) -> list[str]:
    """Which policies were refused where, with the first reason of each."""
    where: dict[str, list[str]] = {}
    for problem, why in reasons.items():
        for policy in why:
            where.setdefault(policy, []).append(problem)
    lines = []
    for policy, found in where.items():
        everywhere = len(found) == len(reasons)
        # What to do about it is for the one who asked.
        reason = reasons[found[0]][policy].split(";")[0]
        first = f" (on {found[0]})" if len(found) > 1 else ""
        lines.append(
            f"- `{policy}` on {'all' if everywhere else ', '.join(found)}: {reason}{first}."
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="runs of each policy at each θ")
    parser.add_argument("--slow-runs", type=int, default=12, help="runs of slow policies")
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
            refused |= {policy: f"{policy} needs rewards between 0 and 1" for policy in unfit}
        if asked.policies:
            policies = [policy for policy in policies if policy in asked.policies]
        reasons[name] = {
            policy: reason
            for policy, reason in refused.items()
            if not asked.policies or policy in asked.policies
        }
        for row in measure(problem, policies, asked.runs, asked.slow_runs):
            rows.append(row)
            print(f"{row.problem:12} {row.theta:28} {row.policy:18} {row.late:9.1f}", flush=True)
        # After every problem, so that an interrupted run leaves what it has.
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(page(rows, reasons, asked.runs, asked.slow_runs), encoding="utf-8")
    print(
        f"{len(rows)} rows in {asked.out}, {np.sum([len(why) for why in reasons.values()])} refused"
    )


if __name__ == "__main__":
    main()
