"""Pairs of an algorithm of the library and its plain rule, with random parameters.

Parameters do not change the compiled code, so each kind is compiled only once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.classical.bayes_ucb import BayesUCB
from structuredbandits.policies.classical.epsilon_greedy import EpsilonGreedy
from structuredbandits.policies.classical.imed import IMED
from structuredbandits.policies.classical.kl_ucb import KLUCB, KLUCBBernoulli
from structuredbandits.policies.classical.moss import MOSS
from structuredbandits.policies.classical.thompson import ThompsonSampling
from structuredbandits.policies.classical.thompson_beta import ThompsonBeta
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.classical.ucb_tuned import UCBTuned
from structuredbandits.policies.classical.uniform import Uniform
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.exploration_floor import ExplorationFloor
from structuredbandits.policies.informative import Informative
from structuredbandits.policies.structured.fp_ucb import FPUCB
from structuredbandits.policies.structured.mucb import MUCB
from structuredbandits.policies.structured.ucb_s import UCBS
from tests.plain import classical, run
from tests.plain.classical import Choose
from tests.plain.run import Rule

Pair = tuple[Algorithm, Rule]

_WIDTHS = st.sampled_from([0.01, 0.3, 1.0, 2.0, 3.0, 7.5])
_SHARES = st.sampled_from([0.0, 0.1, 0.5, 1.0])

#: Kinds of algorithms; each kind has its own compiled code.
CLASSICAL = (
    "ucb",
    "kl-ucb",
    "kl-ucb-bernoulli",
    "ts",
    "ts-beta",
    "moss",
    "imed",
    "bayes-ucb",
    "ucb-tuned",
    "epsilon-greedy",
    "uniform",
)
METRICS = ("kl", "entropy", "differential-entropy", "random")
KINDS = (
    *CLASSICAL,
    *(f"{kind}-c" for kind in CLASSICAL),
    *(f"ucb-c-{metric}" for metric in METRICS),
    "ucb-s",
    "mucb",
    "fp-ucb",
    "floor ucb-s",
    "floor ts-c",
)


def needs_unit_rewards(kind: str) -> bool:
    """Whether rewards must lie in [0, 1]."""
    return kind.startswith(("kl-ucb-bernoulli", "ts-beta"))


@st.composite
def classical_pairs(draw: st.DrawFn, kind: str, sign: float) -> tuple[Algorithm, Choose]:
    """A classical algorithm and its plain choice."""
    width, share = draw(_WIDTHS), draw(_SHARES)
    decay = draw(st.sampled_from([None, 5.0]))
    made: dict[str, Callable[[], tuple[Algorithm, Choose]]] = {
        "ucb": lambda: (UCB(alpha=width), classical.ucb(width)),
        "kl-ucb": lambda: (KLUCB(c=share), classical.kl_ucb(share)),
        "kl-ucb-bernoulli": lambda: (
            KLUCBBernoulli(c=share),
            classical.kl_ucb_bernoulli(share, sign),
        ),
        "ts": lambda: (ThompsonSampling(beta=width), classical.thompson(width)),
        "ts-beta": lambda: (ThompsonBeta(), classical.thompson_beta(sign)),
        "moss": lambda: (MOSS(), classical.moss()),
        "imed": lambda: (IMED(), classical.imed()),
        "bayes-ucb": lambda: (BayesUCB(c=share), classical.bayes_ucb(share)),
        "ucb-tuned": lambda: (UCBTuned(), classical.ucb_tuned()),
        "epsilon-greedy": lambda: (
            EpsilonGreedy(epsilon=share, decay=decay),
            classical.epsilon_greedy(share, decay),
        ),
        "uniform": lambda: (Uniform(), classical.uniform()),
    }
    return made[kind]()


@st.composite
def pairs(draw: st.DrawFn, kind: str, sign: float) -> Pair:
    """An algorithm and its plain rule; ``sign`` is -1 for costs."""
    if kind.startswith("floor "):
        algorithm, rule = draw(pairs(kind.removeprefix("floor "), sign))
        floor = draw(st.sampled_from([0.05, 0.5, 1.0]))
        return ExplorationFloor(algorithm, floor=floor), replace(rule, floor=floor)
    alpha = draw(_WIDTHS)
    if kind == "ucb-s":
        return UCBS(alpha=alpha), Rule("s", classical.ucb(alpha), alpha)
    if kind == "mucb":
        delta = draw(st.sampled_from([None, 0.9, 0.01]))
        return MUCB(delta=delta), Rule("m", classical.ucb(), delta=delta)
    if kind == "fp-ucb":
        return FPUCB(alpha=alpha), Rule("fp", classical.ucb(alpha), alpha)
    if kind in CLASSICAL:
        algorithm, choose = draw(classical_pairs(kind, sign))
        return algorithm, Rule("classical", choose)
    base, metric = kind.removesuffix("-c"), None
    if kind not in {f"{name}-c" for name in CLASSICAL}:
        base, _, metric = kind.partition("-c-")
    inner, choose = draw(classical_pairs(base, sign))
    first = draw(st.booleans())
    step, plain_step = None, None
    if metric is not None:
        gamma, d = draw(st.sampled_from([0.5, 30.0])), draw(st.sampled_from([0.4, 1.1]))
        step, plain_step = Informative(metric, gamma, d), run.Informative(metric, gamma, d)
    return (
        Competitive(inner, alpha=alpha, informative=step, pull_each_arm_first=first),
        Rule("c", choose, alpha, plain_step, first),
    )
