"""The statistical tests of the classical policies, applied to peers' policies.

Every policy runs on the same two problems; its mean regret is compared with that of the textbook
policy, from the independent implementation in `tests/statistical`. A difference is reported only if
it is significant (z test, error rate 1e-4) and larger than 10 %.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import structuredbandits as sb
from benchmarks.peers.environments import PEERS, Peer, PeerUnavailable, ask
from tests.statistical import independent_policies
from tests.statistical.agreement import bound_on_z, z_of

NORMAL: dict[str, Any] = {
    "means": [1.0, 0.8, 0.5], "sigma": 1.0, "horizon": 2000, "bernoulli": False,
}  # fmt: skip
UNIT: dict[str, Any] = {
    "means": [0.6, 0.5, 0.35], "sigma": 0.5, "horizon": 1000, "bernoulli": True,
}  # fmt: skip
TEXTBOOK = {
    "ucb": ("UCB, alpha = 1", NORMAL, independent_policies.ucb(1.0)),
    "ts": ("Gaussian Thompson", NORMAL, independent_policies.thompson()),
    "ts-beta": ("Beta Thompson", UNIT, independent_policies.thompson_beta),
    "kl-ucb-bernoulli": ("KL-UCB, Bernoulli", UNIT, independent_policies.kl_ucb_bernoulli),
}
#: Policies that differ from the textbook policy by design, so a difference is not an error.
OTHER_BY_DESIGN = {
    ("Vowpal Wabbit", "ucb"),
    ("Vowpal Wabbit", "ts"),
    ("bayesianbandits", "ucb"),  # a fixed quantile of the posterior, which does not grow with t
}
#: Slow peers get fewer runs.
RUNS = {"River": 400, "SMPyBandits": 1000, "MABWiser": 60, "PyBandits": 60, "bayesianbandits": 25}
#: Not the seed of the pilot runs by which the numbers of runs were chosen.
SEED = 100_000
_LEAST_DIFFERENCE = 0.1


@dataclass(frozen=True)
class Finding:
    """One policy of one library compared with the textbook policy."""

    library: str
    policy: str
    runs: int
    regret: float
    standard_error: float
    textbook: float
    z: float
    verdict: str


def textbook_regrets() -> dict[str, np.ndarray]:
    """Regrets of the independent implementation, 2,000 runs each (400 for the slow one)."""
    found = {}
    for name, (_, problem, rule) in TEXTBOOK.items():
        found[name] = independent_policies.regrets(
            rule, problem["means"], sigma=problem["sigma"], horizon=problem["horizon"],
            runs=400 if name == "kl-ucb-bernoulli" else 2000, seed=77,
            bernoulli=problem["bernoulli"],
        )  # fmt: skip
    return found


def our_regrets(policy: str) -> np.ndarray:
    """Regrets of this library on the same problem."""
    _, problem, _ = TEXTBOOK[policy]
    structure = sb.Structure.from_table([problem["means"]], sigma=problem["sigma"])
    results = sb.simulate(
        structure,
        "ucb(alpha=1)" if policy == "ucb" else policy,
        theta=0,
        horizon=problem["horizon"],
        runs=2000,
        seed=5,
        environment=sb.Bernoulli(structure) if problem["bernoulli"] else None,
        checkpoints=1,
        progress="off",
    )
    return results.regret[0, 0, :, -1]


def judge(library: str, policy: str, regrets: np.ndarray, textbook: np.ndarray) -> Finding:
    """Compare two samples of regrets."""
    z = z_of(regrets, textbook)
    apart = regrets.mean() / textbook.mean() - 1
    spread = regrets.var(ddof=1) / regrets.size + textbook.var(ddof=1) / textbook.size
    visible = bound_on_z() * float(np.sqrt(spread)) / textbook.mean()
    if (library, policy) in OTHER_BY_DESIGN:
        verdict = "another policy by design"
    elif abs(z) < bound_on_z():
        verdict = f"no difference seen (one of {visible:.0%} would show)"
    elif abs(apart) < _LEAST_DIFFERENCE:
        verdict = f"within 10 % ({apart:+.0%})"
    else:
        verdict = f"differs: {regrets.mean() / textbook.mean():.1f} times the textbook's regret"
    error = float(regrets.std(ddof=1) / np.sqrt(regrets.size))
    return Finding(
        library, TEXTBOOK[policy][0], regrets.size, float(regrets.mean()), error,
        float(textbook.mean()), z, verdict,
    )  # fmt: skip


def regrets_of(peer: Peer, policy: str, runs: int) -> np.ndarray:
    """A peer's regrets."""
    _, problem, _ = TEXTBOOK[policy]
    job = {"kind": "play", "policy": policy, "seed": SEED, "runs": runs, **problem}
    return np.array(ask(peer, [job], timeout=1800)[0]["regrets"])


def examine(quick: bool, say: Any = print) -> dict[str, Any]:
    """All findings, as plain data."""
    textbook = textbook_regrets()
    findings = [judge("structuredbandits", p, our_regrets(p), textbook[p]) for p in TEXTBOOK]
    missing, versions = [], {"structuredbandits": sb.__version__}
    for peer in PEERS:
        say(f"examining {peer.name}")
        runs = RUNS.get(peer.name, 60)
        try:
            versions[peer.name] = ask(peer, [{"kind": "version"}])[0]["version"]
            for policy in peer.policies:
                found = regrets_of(peer, policy, max(5, runs // 10) if quick else runs)
                findings.append(judge(peer.name, policy, found, textbook[policy]))
                say(f"  {findings[-1]}")
        except PeerUnavailable as reason:
            missing.append(str(reason))
            say(str(reason))
    return {"versions": versions, "missing": missing, "findings": [asdict(f) for f in findings]}
