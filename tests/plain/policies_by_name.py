"""The plain twin of every named algorithm of the library, found by parsing its name."""

from __future__ import annotations

from collections.abc import Callable

from tests.plain import classical
from tests.plain.classical import Choose
from tests.plain.run import Informative, Rule

_CLASSICAL: dict[str, Callable[[float], Choose]] = {
    "ucb": lambda sign: classical.ucb(),
    "kl-ucb": lambda sign: classical.kl_ucb(),
    "kl-ucb-bernoulli": lambda sign: classical.kl_ucb_bernoulli(sign=sign),
    "ts": lambda sign: classical.thompson(),
    "ts-beta": lambda sign: classical.thompson_beta(sign=sign),
    "moss": lambda sign: classical.moss(),
    "imed": lambda sign: classical.imed(),
    "bayes-ucb": lambda sign: classical.bayes_ucb(),
    "ucb-tuned": lambda sign: classical.ucb_tuned(),
    "epsilon-greedy": lambda sign: classical.epsilon_greedy(),
    "uniform": lambda sign: classical.uniform(),
}
_METRICS = {
    "kl": "kl",
    "entropy": "entropy",
    "differential": "differential-entropy",
    "random": "random",
}
CLASSICAL = tuple(_CLASSICAL)
UNIT_REWARDS = ("kl-ucb-bernoulli", "ts-beta")
COMPETITIVE = tuple(f"{name}-c" for name in CLASSICAL)
INFORMATIVE = tuple(f"ucb-c-{suffix}" for suffix in _METRICS)
NAMES = (*CLASSICAL, *COMPETITIVE, *INFORMATIVE, "ucb-s", "mucb", "fp-ucb")


def needs_unit_rewards(name: str) -> bool:
    """Whether the policy's rewards must lie in [0, 1]."""
    return name.startswith(UNIT_REWARDS)


def plain_rule(name: str, sign: float = 1.0) -> Rule:
    """The rule of a name with default parameters; ``sign`` is -1 for costs."""
    whole = {"ucb-s": "s", "mucb": "m", "fp-ucb": "fp"}
    if name in whole:
        return Rule(whole[name], classical.ucb())
    if name in _CLASSICAL:
        return Rule("classical", _CLASSICAL[name](sign))
    base, _, suffix = name.partition("-c")
    step = Informative(_METRICS[suffix.removeprefix("-")]) if suffix else None
    return Rule("c", _CLASSICAL[base](sign), informative=step)
