"""Time per round against K, |Θ|, runs and T: this library, its peers, NumPy and the floor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import structuredbandits as sb
from benchmarks import arrays
from benchmarks.core import task_of
from benchmarks.instances import SIGMA, smooth_structure, true_parameter
from benchmarks.peers.environments import PEERS, Peer, PeerUnavailable, ask
from benchmarks.peers.floor import floor
from benchmarks.timing import best_seconds

OURS = "structuredbandits"
ARMS = (2, 3, 10, 30, 100, 300, 1000)
PEER_ARMS = (2, 3, 10, 100, 1000)
PARAMETERS = (100, 1000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Point:
    """One measurement: seconds per round and run."""

    kind: str  # interactive or simulator
    who: str
    policy: str
    against: str  # K, parameters, runs or T
    at: int
    seconds: float


def interactive_rounds(n_arms: int) -> int:
    """Just enough rounds to pull every arm several times."""
    return max(2000, 4 * n_arms)


def ours_interactive(quick: bool) -> Iterator[Point]:
    """One pull and update at a time from Python."""
    for n_arms in ARMS[:: 3 if quick else 1]:
        structure = smooth_structure(n_arms, 1000)
        truth = structure.means_at(true_parameter(structure)).tolist()
        rounds = interactive_rounds(n_arms)
        noise = np.random.default_rng(0).standard_normal(rounds).tolist()
        rewards = dict(zip(structure.arms, truth, strict=True))
        for name in ("ucb", "ts", "ucb-c", "ts-c"):

            def loop(
                name: str = name,
                structure: sb.Structure = structure,
                noise: list[float] = noise,
                rewards: dict[str, float] = rewards,
            ) -> None:
                policy = sb.make_policy(name, structure, seed=0)
                for z in noise:
                    arm = policy.pull()
                    policy.update(arm, rewards[arm] + SIGMA * z)

            seconds = best_seconds(loop, 5) / rounds
            yield Point("interactive", OURS, name, "K", n_arms, seconds)


def ours_simulated(quick: bool) -> Iterator[Point]:
    """The compiled simulator against K, |Θ| and T, compared with the floor and NumPy."""
    repeats, rounds = (3, 5000) if quick else (9, 20_000)
    for n_arms in ARMS[:: 3 if quick else 1]:
        structure = smooth_structure(n_arms, 1000)
        for name in ("ucb", "ts", "ucb-c", "ts-c"):
            seconds = best_seconds(task_of(structure, name, rounds), repeats) / rounds
            yield Point("simulator", OURS, name, "K", n_arms, seconds)
        seconds = best_seconds(floor(n_arms, rounds), repeats) / rounds
        yield Point("simulator", "floor", "noise + argmax", "K", n_arms, seconds)
    for n_parameters in PARAMETERS[: 2 if quick else None]:
        structure = smooth_structure(18, n_parameters)
        seconds = best_seconds(task_of(structure, "ucb-c", rounds), repeats) / rounds
        yield Point("simulator", OURS, "ucb-c", "parameters", n_parameters, seconds)
        yield from _numpy_ucb_c(structure)
    structure = smooth_structure(18, 1000)
    for horizon in (1000, 10_000, 100_000, *(() if quick else (1_000_000,))):
        for name in ("ucb", "ucb-c"):
            seconds = best_seconds(task_of(structure, name, horizon), 3) / horizon
            yield Point("simulator", OURS, name, "T", horizon, seconds)


def _numpy_ucb_c(structure: sb.Structure) -> Iterator[Point]:
    truth = structure.means_at(true_parameter(structure))
    rounds = max(20, min(1000, 5_000_000 // structure.n_parameters))
    for name, layout in arrays.LAYOUTS.items():
        made = layout(structure.means)

        def work(made: Any = made) -> None:
            arrays.run_ucb_c(made, truth, SIGMA, rounds)

        seconds = best_seconds(work, 2) / rounds
        yield Point(
            "simulator", f"NumPy, {name}", "ucb-c", "parameters", structure.n_parameters, seconds
        )


def against_runs(quick: bool) -> Iterator[Point]:
    """NumPy needs many runs at once to be fast; a compiled loop does not."""
    structure = smooth_structure(3, 601)
    truth = structure.means_at(true_parameter(structure))
    for runs in (1, 10, 100, 1000, *(() if quick else (10_000,))):
        rounds = 200
        seconds = best_seconds(lambda n=runs: arrays.batched_ucb(truth, SIGMA, 200, n), 3)  # type: ignore[misc]
        yield Point("simulator", "NumPy, batched", "ucb", "runs", runs, seconds / rounds / runs)

        def ours(n: int = runs) -> object:
            return sb.simulate(
                structure, "ucb", true_parameter(structure), horizon=10_000, runs=n,
                checkpoints=1, progress="off",
            )  # fmt: skip

        if runs <= 1000:
            yield Point("simulator", OURS, "ucb", "runs", runs, best_seconds(ours, 2) / runs / 1e4)


def of_peer(peer: Peer, quick: bool) -> Iterator[Point]:
    """A peer's interactive loop against K, and its simulator if it has one."""
    sizes = PEER_ARMS[:: 2 if quick else 1]
    jobs: list[dict[str, Any]] = []
    points: list[tuple[str, str, int]] = []
    for policy in peer.policies:
        if policy == "kl-ucb-bernoulli":
            continue
        for n_arms in sizes:
            unit = policy == "ts-beta"
            jobs.append({
                "kind": "play", "policy": policy, "sigma": SIGMA, "seed": 0, "bernoulli": unit,
                "means": [0.3 + 0.4 * (k == 0) for k in range(n_arms)],
                "horizon": 300 if quick else 2000, "runs": 3, "budget": 0.3 if quick else 1.0,
            })  # fmt: skip
            points.append(("interactive", policy, n_arms))
    if peer.simulates:
        for n_arms in sizes:
            jobs.append({"kind": "simulator", "n_arms": n_arms, "horizon": 1000, "repeats": 2})
            points.append(("simulator", "ucb", n_arms))
    answers = ask(peer, jobs)
    for (kind, policy, n_arms), answer in zip(points, answers, strict=True):
        yield Point(kind, peer.name, policy, "K", n_arms, answer["seconds"])


def measure(quick: bool, say: Any = print) -> dict[str, Any]:
    """Everything, as plain data."""
    points: list[Point] = []
    versions: dict[str, str] = {OURS: sb.__version__, "NumPy": np.__version__}
    missing: list[str] = []
    for part in (ours_interactive, ours_simulated, against_runs):
        say(f"measuring: {part.__doc__}")
        points += part(quick)
    for peer in PEERS:
        say(f"measuring {peer.name}")
        try:
            versions[peer.name] = ask(peer, [{"kind": "version"}])[0]["version"]
            points += of_peer(peer, quick)
        except PeerUnavailable as reason:
            missing.append(str(reason))
            say(str(reason))
    return {"versions": versions, "missing": missing, "points": [asdict(p) for p in points]}
