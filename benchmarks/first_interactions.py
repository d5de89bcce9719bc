"""`python -m benchmarks.first_interactions`: the default policy against everything simpler.

One table per kind of problem, with the rivals that everybody has (one arm for everybody, greedy, an
index without θ). Every policy of a table uses the same σ, all face identical rewards, and each run
knows its number of rounds. Writes docs/first-interactions.md and a record of all figures. Nothing
was chosen on these problems; what `value-of-information` does where the doubt cannot be resolved
was chosen among four rules on click problems 1,000 to 1,007 and tiny problems of seed 99.

    python -m benchmarks.first_interactions                     # everything, several hours
    python -m benchmarks.first_interactions --parts clicks      # one part
    python -m benchmarks.first_interactions --runs 0.1          # a tenth of the runs
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import structuredbandits as sb
from benchmarks import learned_maps
from benchmarks.optimal_play import optimal_cases
from structuredbandits.policies.structured.hierarchical_model import reward_variance

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "first-interactions.md"
RECORD = ROOT / "benchmarks" / "records" / "first-interactions.json"
DEFAULT = "value-of-information"
SIMPLE = ("always", "greedy", "prior-index", "hierarchical")
#: Splits of MovieLens and seeds of click problems that nothing else uses.
FIRST_SPLIT, SPLITS = 100, 5
CLICK_PROBLEMS = 40
SEED = 20_261_118


class Row(NamedTuple):
    """One comparison: what was measured, its standard error, and what was aimed at."""

    part: str
    case: str
    rounds: int
    what: str
    value: float
    error: float
    target: float
    regrets: dict[str, float]

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.value <= self.target


def _final(results: sb.Results) -> np.ndarray:
    """Regret at the last round: (policies, θ, runs)."""
    return np.asarray(results.regret[..., -1])


def _simulate(problem: Any, policies: Sequence[str], thetas: Any, **options: Any) -> np.ndarray:
    settings = {"checkpoints": 1, "n_jobs": 2, "progress": "off", "seed": SEED, **options}
    return _final(sb.simulate(problem, list(policies), thetas, **settings))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> tuple[float, float]:
    """Ratio of two means of paired values, and its standard error: (samples,) each."""
    top, bottom = numerator.mean(), denominator.mean()
    ratio = top / bottom
    spread = np.std(numerator - ratio * denominator, ddof=1) / np.sqrt(numerator.size)
    return float(ratio), float(spread / bottom)


def same_sigma(structure: sb.Structure) -> sb.Structure:
    """The structure with the noise of its rewards as σ, so that all policies use the same."""
    return structure.with_(sigma=np.sqrt(reward_variance(structure)))


# -- embedded problems -----------------------------------------------------------------------------


def _without_ties(problem: sb.Problem) -> list[Any]:
    """The θ of a problem at which one arm alone is best."""
    known = problem.structure
    kept = []
    for theta in problem.thetas:
        worth = np.sort(known.sign * known.means_at(theta))
        if worth[-1] - worth[-2] > known.tolerance:
            kept.append(theta)
    return kept


def embedded(runs: float) -> list[Row]:
    """Exact means: ratios of (regret + 1) to ts-c's, geometric means within and across problems."""
    rows = []
    targets = {100: 0.60, 1_000: 0.40, 5_000: 0.25, 50_000: 0.25}
    names = [name for name in sb.problem_names() if name != "movielens"]
    for rounds, target in targets.items():
        number = max(int(runs * (200 if rounds > 5_000 else 1_000)), 20)
        logs, worst_case, worst_tail = [], (0.0, ""), (0.0, "")
        for name in names:
            problem = sb.load_problem(name)
            thetas = _without_ties(problem)
            found = _simulate(problem, ["ts-c", DEFAULT], thetas, horizon=rounds, runs=number)
            means = found.mean(axis=2) + 1.0
            logs.append(float(np.log(means[1] / means[0]).mean()))
            ordered = np.sort(found, axis=2)[..., -max(number // 20, 1) :].mean(axis=2)
            for place, theta in enumerate(thetas):
                case = f"{name} at {theta}"
                worst_case = max(worst_case, (float(means[1, place] / means[0, place]), case))
                tail = float((ordered[1, place] + 1.0) / (ordered[0, place] + 1.0))
                worst_tail = max(worst_tail, (tail, case))
            print(f"  {name} {rounds}: {np.exp(logs[-1]):.3f}", flush=True)
        spread = float(np.std(logs, ddof=1) / np.sqrt(len(logs)))
        mean = float(np.exp(np.mean(logs)))
        rows += [
            Row("embedded", "all problems", rounds, "÷ ts-c", mean, spread * mean, target, {}),
            Row(
                "embedded",
                f"worst: {worst_case[1]}",
                rounds,
                "÷ ts-c",
                worst_case[0],
                0.0,
                1.25 if rounds >= 5_000 else 2.0,
                {},
            ),
            Row(
                "embedded",
                f"worst 5 % of runs: {worst_tail[1]}",
                rounds,
                "÷ ts-c",
                worst_tail[0],
                0.0,
                2.0,
                {},
            ),
        ]
    return rows


def averaged(runs: float) -> list[Row]:
    """θ drawn from the prior: mean regret against the best of all policies here."""
    rows, number, rounds = [], max(int(2_000 * runs), 20), 5_000
    rivals = ("ts-c", "ucb-c", "posterior", "ids", "greedy", "prior-index", "always")
    for name in sb.problem_names():
        if name == "movielens":
            continue
        problem = sb.load_problem(name)
        known = problem.structure
        generator = np.random.default_rng(SEED)
        drawn = generator.choice(known.n_parameters, number, p=known.prior)
        places, weights = np.unique(drawn, return_counts=True)
        thetas = [known.parameters[int(place)] for place in places]
        found = _simulate(problem, [*rivals, DEFAULT], thetas, horizon=rounds, runs=1)
        by_policy = np.repeat(found[..., 0], weights, axis=1)
        means = dict(zip([*rivals, DEFAULT], by_policy.mean(axis=1).tolist(), strict=True))
        best = int(by_policy[:-1].mean(axis=1).argmin())
        value, error = _ratio(by_policy[-1], by_policy[best])
        rows.append(Row("averaged", name, rounds, f"÷ {rivals[best]}", value, error, 1.05, means))
        print(f"  {name}: {value:.3f} ± {error:.3f} of {rivals[best]}", flush=True)
    return rows


# -- MovieLens -------------------------------------------------------------------------------------


class Split(NamedTuple):
    """One split of MovieLens, ready to be simulated."""

    problem: sb.Problem
    segments: list[Any]
    shares: np.ndarray


def _split(number: int) -> Split:
    problem = sb.load_problem("movielens", split_seed=number)
    known = same_sigma(problem.structure)
    segments = [known.parameters[place] for place in range(known.n_parameters)]
    assert known.prior is not None
    return Split(dataclasses.replace(problem, structure=known), segments, known.prior)


def _weighted(split: Split, uniform: bool) -> tuple[sb.Problem, np.ndarray]:
    weights = np.full(len(split.segments), 1.0 / len(split.segments)) if uniform else split.shares
    known = split.problem.structure.with_(prior=weights)
    return dataclasses.replace(split.problem, structure=known), weights


def movielens(runs: float) -> list[Row]:
    """All segments: the default against the best of the simple policies at each length."""
    rows = []
    numbers = {5: 650, 10: 650, 20: 650, 50: 400, 100: 200, 500: 60}
    splits = [_split(number) for number in range(FIRST_SPLIT, FIRST_SPLIT + SPLITS)]
    for uniform in (False, True):
        case = "unweighted" if uniform else "by shares"
        for rounds, most in numbers.items():
            number = max(int(most * runs), 4)
            policies = [*SIMPLE, DEFAULT]
            samples = []
            for split in splits:
                problem, weights = _weighted(split, uniform)
                found = _simulate(problem, policies, split.segments, horizon=rounds, runs=number)
                samples.append(np.einsum("pts,t->ps", found, weights))
            values = np.concatenate(samples, axis=1)
            best = int(values[:-1].mean(axis=1).argmin())
            value, error = _ratio(values[-1], values[best])
            means = dict(zip(policies, values.mean(axis=1).tolist(), strict=True))
            what = f"÷ {policies[best]}"
            rows.append(Row("movielens", case, rounds, what, value, error, 1.02, means))
            print(f"  {case} {rounds}: {value:.3f} ± {error:.3f} of {policies[best]}", flush=True)
    return rows


def movielens_long(runs: float) -> list[Row]:
    """5,000 rounds: against prior-index, the true map, and Thompson sampling in each segment."""
    rows, number, rounds = [], max(int(40 * runs), 4), 5_000
    splits = [_split(number) for number in range(FIRST_SPLIT, FIRST_SPLIT + SPLITS)]
    by_case: dict[str, list[np.ndarray]] = {}
    worst, tails = 0.0, []
    for split in splits:
        for prior in ("by shares", "unweighted"):
            problem, _ = _weighted(split, prior == "unweighted")
            found = _simulate(
                problem, ["prior-index", DEFAULT, "ts"], split.segments, horizon=rounds, runs=number
            )
            environment: Any = problem.environment
            known = problem.structure
            truth = sb.Structure.from_table(
                environment.means,
                known.parameters,
                known.arms,
                sigma=known.sigma,
                prior=known.prior,
            )
            limit = _simulate(
                dataclasses.replace(problem, structure=truth),
                [DEFAULT],
                split.segments,
                horizon=rounds,
                runs=number,
            )
            uniform = np.full(len(split.segments), 1.0 / len(split.segments))
            for weighting, weights in (("by shares", split.shares), ("unweighted", uniform)):
                parts = [
                    np.einsum("ts,t->s", one, weights) for one in (found[1], found[0], limit[0])
                ]
                by_case.setdefault(f"prior {prior}, {weighting}", []).append(tuple(parts))  # type: ignore[arg-type]  # three parts
            if prior == "by shares":
                means = found.mean(axis=2)
                worst = max(worst, float((means[1] / means[2]).max()))
                quantiles = np.quantile(found[1], 0.99, axis=1) / np.median(found[1], axis=1)
                tails.append(float(np.median(quantiles)))
    targets = {
        ("prior by shares, by shares", "÷ prior-index"): 0.80,
        ("prior unweighted, unweighted", "÷ prior-index"): 0.55,
        ("prior by shares, unweighted", "÷ prior-index"): 0.65,
        ("prior by shares, by shares", "÷ limit"): 1.35,
        ("prior unweighted, unweighted", "÷ limit"): 1.35,
    }
    for (case, what), target in targets.items():
        own, index, limit_values = np.concatenate(by_case[case], axis=1)
        value, error = _ratio(own, index if "index" in what else limit_values)
        means = {DEFAULT: own.mean(), "prior-index": index.mean(), "limit": limit_values.mean()}
        rows.append(Row("movielens, long", case, rounds, what, value, error, target, means))
    rows.append(Row("movielens, long", "worst segment", rounds, "÷ ts", worst, 0.0, 0.5, {}))
    tail = float(np.mean(tails))
    rows.append(
        Row("movielens, long", "99 % quantile ÷ median", rounds, "of runs", tail, 0.0, 4.0, {})
    )
    return rows


# -- clicks ----------------------------------------------------------------------------------------


def clicks(runs: float) -> list[Row]:
    """Random click problems, θ by traffic and true 0/1 clicks, against one banner for everybody."""
    rows = []
    targets = {10: 1.02, 30: 1.02, 300: 0.85, 1_000: 0.70}
    for rounds, target in targets.items():
        number = max(int(runs * (400 if rounds <= 30 else 100)), 4)
        own, rival, limit = [], [], []
        for seed in range(CLICK_PROBLEMS):
            problem = sb.problems.click_problem(seed)
            known = problem.structure
            thetas = list(problem.thetas)
            assert known.prior is not None
            found = _simulate(problem, ["always", DEFAULT], thetas, horizon=rounds, runs=number)
            truth: Any = problem.environment
            true_map = dataclasses.replace(problem, structure=truth.structure)
            known_map = _simulate(true_map, [DEFAULT], thetas, horizon=rounds, runs=number)
            rival.append(known.prior @ found[0].mean(axis=1))
            own.append(known.prior @ found[1].mean(axis=1))
            limit.append(known.prior @ known_map[0].mean(axis=1))
        own_values, rival_values, limit_values = map(np.array, (own, rival, limit))
        value, error = _ratio(own_values, rival_values)
        means = {
            DEFAULT: float(own_values.mean()),
            "always": float(rival_values.mean()),
            "true map": float(limit_values.mean()),
        }
        rows.append(Row("clicks", "40 problems", rounds, "÷ always", value, error, target, means))
        if rounds <= 30:
            value, error = _ratio(own_values, limit_values)
            rows.append(
                Row("clicks", "40 problems", rounds, "÷ true map", value, error, 1.1, means)
            )
        print(f"  {rounds}: {means}", flush=True)
    return rows


# -- six kinds of maps, and optimal play -----------------------------------------------------------


def maps(runs: float) -> list[Row]:
    """Six kinds of learned maps: no case may be much worse than Thompson sampling."""
    rows, number = [], max(int(200 * runs), 10)
    for kind in learned_maps.KINDS:
        worst = (0.0, 0.0)
        for seed in range(8):
            truth, known = learned_maps.draw_map(kind, seed)
            environment = sb.Gaussian(truth) if kind.noise > 0 else sb.Bernoulli(truth)
            thetas = np.random.default_rng(seed).choice(kind.thetas, 10, replace=False).tolist()
            options = {"horizon": 5_000, "runs": number, "environment": environment}
            found = _simulate(known, ["ts", DEFAULT], thetas, **options).mean(axis=2)
            own = _simulate(truth, [DEFAULT], thetas, **options).mean(axis=2)
            for place in range(len(thetas)):
                allowed = max(1.1, 1.05 * own[0, place] / found[0, place])
                ratio = found[1, place] / found[0, place]
                worst = max(worst, (ratio / allowed, ratio))
        target = worst[1] / worst[0] if worst[0] else 1.1
        rows.append(Row("maps", kind.name, 5_000, "worst ÷ ts", worst[1], 0.0, target, {}))
        print(f"  {kind.name}: {worst[1]:.3f} (at most {target:.3f})", flush=True)
    return rows


def optimal(runs: float) -> list[Row]:
    """Two arms, few θ, 0/1 rewards: expected reward lost against exact dynamic programming."""
    rows = []
    for rounds in (5, 20, 50):
        own, best = optimal_cases(rounds, max(int(30 * runs), 3))
        value, error = _ratio(own, best)
        rows.append(
            Row("optimal", "30 tiny problems", rounds, "regret ÷ optimal", value, error, 1.03, {})
        )
        print(f"  {rounds}: {value:.4f} ± {error:.4f}", flush=True)
    return rows


PARTS: dict[str, Callable[[float], list[Row]]] = {
    "optimal": optimal,
    "clicks": clicks,
    "movielens": movielens,
    "movielens-long": movielens_long,
    "embedded": embedded,
    "averaged": averaged,
    "maps": maps,
}


def _table(rows: Sequence[Row]) -> str:
    lines = [
        "| problems | rounds | regret of the default | measured | at most | |",
        "|---|---:|---|---:|---:|---|",
    ]
    for row in rows:
        error = f" ± {row.error:.3f}" if row.error else ""
        verdict = "yes" if row.met else "**no**"
        lines.append(
            f"| {row.case} | {row.rounds:,} | {row.what} | {row.value:.3f}{error} | "
            f"{row.target:.3g} | {verdict} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure the parts that are asked for, merge them into the record, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--runs", type=float, default=1.0, help="share of the full number of runs")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in options.parts.split(","):
        print(name, flush=True)
        found = [row._asdict() for row in PARTS[name](options.runs)]
        record[name] = {
            "rows": found,
            "runs": options.runs,
            "date": datetime.date.today().isoformat(),
            "version": sb.__version__,
            "machine": platform.machine(),
        }
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
    write_page(record)


def write_page(record: dict[str, Any]) -> None:
    """Write the page from the record."""
    parts = []
    for name, measure in PARTS.items():
        if name in record:
            rows = [Row(**row) for row in record[name]["rows"]]
            note = f"Measured on {record[name]['date']}"
            if record[name]["runs"] != 1.0:
                note += f" with {record[name]['runs']:g} of the full number of runs"
            parts.append(
                f"## {name}\n\n{measure.__doc__}\n\n{_table(rows)}\n\n{note}, version "
                f"{record[name]['version']}, {record[name]['machine']}."
            )
    PAGE.write_text(HEAD + "\n\n".join(parts) + "\n", encoding="utf-8")


HEAD = """# The first interactions, measured

How good the default policy (`value-of-information`) is from the first interaction on, against the
simplest rivals: one arm for everybody (`always`), the largest posterior mean (`greedy`), and an
index that knows every arm's average but no θ (`prior-index`). The command
`python -m benchmarks.first_interactions` makes the tables. All policies of a table use the same σ
and face identical rewards; each run knows its number of rounds; ± is one standard error. Nothing
was chosen on these problems; what the default does where the doubt cannot be resolved in time was
chosen among four rules on click problems 1,000 to 1,007 and tiny problems of seed 99.

"""


if __name__ == "__main__":
    main()
