"""The core table: the cost of the structure, and the library compared with others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import structuredbandits as sb
from benchmarks import arrays, processes
from benchmarks.instances import SIGMA, rate_structures, smooth_structure, true_parameter
from benchmarks.timing import HORIZON, best_seconds
from structuredbandits.environments import default_environment
from structuredbandits.simulation.task import Task

# `simulate` divides its work into tasks of about this many runs at this horizon.
RUNS = 40
ROUNDS = RUNS * HORIZON


@dataclass(frozen=True)
class Row:
    """One figure of the table."""

    figure: str
    target: str
    value: str
    reached: bool


def task_of(
    structure: sb.Structure, policy: str, horizon: int = HORIZON, runs: int = 1
) -> Callable[[], object]:
    """Runs of a policy in the compiled simulator."""
    theta = true_parameter(structure)
    world = default_environment(structure)
    return Task(sb.make_algorithm(policy), structure, world, theta, (horizon,), 0, 0, runs).run


def best_of_both(
    first: Callable[[], object], second: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Shortest times of two functions that alternate, so that both see the same machine load."""
    best = [float("inf"), float("inf")]
    first()
    second()
    for _ in range(repeats):
        for place, work in enumerate((first, second)):
            start = time.perf_counter()
            work()
            best[place] = min(best[place], time.perf_counter() - start)
    return best[0], best[1]


def cost_of_structure(repeats: int) -> Iterator[Row]:
    """Algorithm-C compared with its base policy."""
    instances = [
        ("ucb", 3, 601, 1.3),
        ("ucb", 18, 106, 1.2),
        ("ucb", 18, 10_000, 1.2),
        ("ucb", 100, 10_000, 1.0),
        ("ucb", 18, 1_000_000, 8.0),
        ("ts", 18, 10_000, 1.0),
    ]
    for base, n_arms, n_parameters, target in instances:
        structure = smooth_structure(n_arms, n_parameters)
        with_c, without = best_of_both(
            task_of(structure, f"{base}-c", runs=RUNS), task_of(structure, base, runs=RUNS), repeats
        )
        ratio = with_c / without
        yield Row(
            f"time of {base.upper()}-C ÷ {base.upper()}, K = {n_arms}, |Θ| = {n_parameters:,}",
            f"≤ {target}",
            f"{ratio:.2f} ({with_c / ROUNDS * 1e9:.1f} and {without / ROUNDS * 1e9:.1f} ns)",
            ratio <= target,
        )


def cost_of_rates(repeats: int) -> Iterator[Row]:
    """The confidence set of 0/1 rewards compared with that of normal ones, on the same rates.

    How far a fast-forward of rates looks ahead was chosen on the first of these rows. UCB-S and
    uniform choices are never fast-forwarded, and uniform choices change the arm in every round.
    """
    for text, low, high in (("rates of 0 to 1", 0.0, 1.0), ("clicks of 0.5 to 6 %", 0.005, 0.06)):
        normal, clicks = rate_structures(18, 10_000, low, high)
        for policy in ("ucb-c", "ucb-s", "uniform-c"):
            theirs = task_of(normal, policy, runs=RUNS)
            own, usual = best_of_both(task_of(clicks, policy, runs=RUNS), theirs, repeats)
            yield Row(
                f"time of {policy.upper()} with 0/1 ÷ normal rewards, K = 18, |Θ| = 10,000, {text}",
                "≤ 1.5",
                f"{own / usual:.2f} ({own / ROUNDS * 1e9:.1f} and {usual / ROUNDS * 1e9:.1f} ns)",
                own / usual <= 1.5,
            )


def river_loop(truth: np.ndarray, horizon: int) -> Callable[[], object]:
    """River's UCB, pulled and updated with normal rewards."""
    from river import bandit

    noise = np.random.default_rng(0).standard_normal(horizon).tolist()
    means = truth.tolist()

    def loop() -> None:
        policy = bandit.UCB(delta=1, seed=0)
        arms = list(range(len(means)))
        for z in noise:
            arm = policy.pull(arms)
            policy.update(arm, means[arm] + SIGMA * z)

    return loop


def beside_others(repeats: int) -> Iterator[Row]:
    """River's loop and the NumPy versions."""
    small = smooth_structure(3, 601)
    truth = small.means_at(true_parameter(small))
    ours = best_seconds(task_of(small, "ucb", runs=RUNS), repeats) / ROUNDS
    theirs = best_seconds(river_loop(truth, 10_000), max(3, repeats // 5)) / 10_000
    yield Row(
        "UCB, K = 3: River's pull + update ÷ ours, noise included",
        "≥ 60",
        f"{theirs / ours:,.0f} ({theirs * 1e6:.2f} µs and {ours * 1e9:.1f} ns)",
        theirs / ours >= 60,
    )
    rounds, runs = 500, 1000
    batch = best_seconds(lambda: arrays.batched_ucb(truth, SIGMA, rounds, runs), 5) / rounds / runs
    yield Row(
        "UCB, K = 3: NumPy over 1,000 runs at once ÷ ours",
        "> 1",
        f"{batch / ours:.1f} ({batch * 1e9:.0f} and {ours * 1e9:.1f} ns)",
        batch > ours,
    )
    yield from _numpy_ucb_c(repeats)


def _numpy_ucb_c(repeats: int) -> Iterator[Row]:
    structure = smooth_structure(18, 10_000)
    truth = structure.means_at(true_parameter(structure))
    ours = best_seconds(task_of(structure, "ucb-c", runs=RUNS), repeats) / ROUNDS
    found = {}
    for name, layout in arrays.LAYOUTS.items():
        made = layout(structure.means)
        # All run to the same horizon: some layouts are faster while many θ are plausible.
        work = lambda made=made: arrays.run_ucb_c(made, truth, SIGMA, HORIZON)  # noqa: E731
        found[name] = best_seconds(work, 2 if repeats > 3 else 1) / HORIZON
    listed = ", ".join(f"{name} {seconds * 1e6:.0f} µs" for name, seconds in found.items())
    dense, best = found["dense"], min(found.values())
    yield Row(
        "UCB-C, K = 18, |Θ| = 10,000: best NumPy ÷ ours",
        "≥ 10,000",
        f"{best / ours:,.0f}; as the paper writes it {dense / ours:,.0f} "
        f"({listed}; ours {ours * 1e9:.1f} ns)",
        best / ours >= 10_000,
    )


def interactive(repeats: int) -> Iterator[Row]:
    """`ts-c` one call at a time from Python."""
    structure = smooth_structure(18, 10_000)
    truth = structure.means_at(true_parameter(structure))
    rounds = 5000
    noise = np.random.default_rng(0).standard_normal(rounds).tolist()
    rewards = dict(zip(structure.arms, truth.tolist(), strict=True))

    def loop() -> None:
        policy = sb.make_policy("ts-c", structure, seed=0)
        for z in noise:
            arm = policy.pull()
            policy.update(arm, rewards[arm] + SIGMA * z)

    seconds = best_seconds(loop, repeats) / rounds
    yield Row(
        "interactive ts-c, pull + update, K = 18, |Θ| = 10,000",
        "≤ 12 µs",
        f"{seconds * 1e6:.1f} µs",
        seconds <= 12e-6,
    )


def whole_processes(full: bool) -> Iterator[Row]:
    """Memory and start-up."""
    horizon = 1_000_000 if full else 50_000
    megabytes = processes.peak_megabytes(horizon=horizon)
    yield Row(
        f"memory of simulate, T = {horizon:,}, 100 runs, 5 policies",
        "≤ 600 MB",
        f"{megabytes:.0f} MB",
        megabytes <= 600,
    )
    seconds = processes.help_seconds()
    yield Row("structuredbandits --help", "≤ 0.6 s", f"{seconds:.2f} s", seconds <= 0.6)
    first, second, line = processes.first_seconds()
    yield Row("first simulate, 5 policies, empty compile cache", "≤ 40 s", f"{first:.1f} s, says "
              f"“{line}”", first <= 40)  # fmt: skip
    yield Row("the same in a second process, to the first round", "≤ 4 s", f"{second:.1f} s",
              second <= 4)  # fmt: skip


def all_rows(quick: bool) -> Iterator[Row]:
    """The whole table, row by row as it is measured."""
    repeats = 5 if quick else 60
    yield from cost_of_structure(repeats)
    yield from cost_of_rates(repeats)
    yield from beside_others(repeats)
    yield from interactive(max(3, repeats // 6))
    yield from whole_processes(full=not quick)
