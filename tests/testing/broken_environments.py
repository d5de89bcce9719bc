"""Environments that each break one part of the contract, so that no check can become empty.

They are at the top of a module, since an environment has to be picklable to break anything else.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from structuredbandits.environments import Bernoulli, Gaussian, RewardStream
from structuredbandits.environments._reward_stream import NormalLaw, TableLaw
from structuredbandits.errors import InvalidParameter
from structuredbandits.structure import Structure

STRUCTURE = Structure.from_table([[0.2, 0.6], [0.5, 0.4], [0.9, 0.1]], arms=["a", "b"], sigma=0.5)


class NoMeans:
    """It draws rewards and does not report their means."""

    arms = ("a", "b")
    parameters = STRUCTURE.parameters

    def rewards(self, theta: Any, seed: int, run: int = 0) -> RewardStream:
        return Gaussian(STRUCTURE).rewards(theta, seed, run)


@dataclass(frozen=True)
class TwoArmsOneName(Gaussian):
    """Both arms have the same name."""

    @property
    def arms(self) -> tuple[str, ...]:
        return ("a", "a")


@dataclass(frozen=True)
class MeansOfOneArm(Gaussian):
    """It gives the mean of the first arm only."""

    def means_at(self, theta: object) -> Any:
        return super().means_at(theta)[:1]


@dataclass(frozen=True)
class Local(Gaussian):
    """It cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("not to be sent")


@dataclass(frozen=True)
class Incomparable(Gaussian):
    """Copies are not equal."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.structure)


@dataclass(frozen=True)
class Hashless(Gaussian):
    """Equal environments have different hashes."""

    def __hash__(self) -> int:
        return id(self)


class _Unseeded(RewardStream):
    def draw(self, arm: str | int) -> float:
        return super().draw(arm) + random.Random().random()


@dataclass(frozen=True)
class Unseeded(Gaussian):
    """Its rewards depend on more than seed and run, except for the first run."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = NormalLaw(self.location(theta), self.scale(theta))
        return (_Unseeded if run > 0 else RewardStream)(self.arms, law, seed, run)


@dataclass(frozen=True)
class OneRun(Gaussian):
    """All runs have the same rewards."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        return super().rewards(theta, seed, min(run, 0))


class _ByName(RewardStream):
    def draw(self, arm: str | int) -> float:
        return super().draw(0 if isinstance(arm, str) else arm)


@dataclass(frozen=True)
class WrongNames(Gaussian):
    """Names of arms mean other arms than their positions."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = NormalLaw(self.location(theta), self.scale(theta))
        return _ByName(self.arms, law, seed, run)


class _TwoNumbers(NormalLaw):
    def reward(self, arm: int, generator: np.random.Generator) -> float:
        if arm == 1:
            generator.standard_normal()
        return super().reward(arm, generator)


@dataclass(frozen=True)
class TwoNumbers(Gaussian):
    """Its second arm uses two random numbers per draw."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = _TwoNumbers(self.location(theta), self.scale(theta))
        return RewardStream(self.arms, law, seed, run)


@dataclass(frozen=True)
class Biased(Gaussian):
    """Its rewards are larger than their means say."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = NormalLaw(self.location(theta) + 0.1, self.scale(theta))
        return RewardStream(self.arms, law, seed, run)


@dataclass(frozen=True)
class ShiftedLocation(Gaussian):
    """Its location differs from its means, by less than draws can show."""

    def location(self, theta: object) -> Any:
        return self.means_at(theta) + 1e-4


@dataclass(frozen=True)
class NegativeScale(Gaussian):
    """Its standard deviations are negative."""

    def scale(self, theta: object) -> Any:
        return -super().scale(theta)


@dataclass(frozen=True)
class OpenTable(Bernoulli):
    """Its cumulative probabilities do not reach 1."""

    def quantile_table(self, theta: object) -> tuple[Any, Any]:
        cumulative, values = super().quantile_table(theta)
        return cumulative * (1 - 1e-9), values

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = TableLaw(*super().quantile_table(theta))
        return RewardStream(self.arms, law, seed, run)


@dataclass(frozen=True)
class NoDistribution:
    """It draws rewards and states no distribution."""

    inner: Gaussian

    @property
    def arms(self) -> tuple[str, ...]:
        return self.inner.arms

    @property
    def parameters(self) -> Any:
        return self.inner.parameters

    def means_at(self, theta: object) -> Any:
        return self.inner.means_at(theta)

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        return self.inner.rewards(theta, seed, run)


@dataclass(frozen=True)
class AnyTheta(Gaussian):
    """It takes every unknown θ for the first one."""

    def means_at(self, theta: object) -> Any:
        try:
            return super().means_at(theta)
        except InvalidParameter:
            return super().means_at(self.parameters[0])


class _LastArm(RewardStream):
    def draw(self, arm: str | int) -> float:
        return super().draw(1 if arm == -1 else arm)


@dataclass(frozen=True)
class PythonPositions(Gaussian):
    """It accepts -1 for the last arm."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = NormalLaw(self.location(theta), self.scale(theta))
        return _LastArm(self.arms, law, seed, run)


class _Wasteful(RewardStream):
    def draw(self, arm: str | int) -> float:
        try:
            return super().draw(arm)
        except Exception:
            super().draw(0)
            raise


@dataclass(frozen=True)
class Wasteful(Gaussian):
    """An unknown arm uses a random number."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = NormalLaw(self.location(theta), self.scale(theta))
        return _Wasteful(self.arms, law, seed, run)


@dataclass(frozen=True)
class OtherNoise(Gaussian):
    """Its rewards have half the standard deviation that it states."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        law = NormalLaw(self.location(theta), self.scale(theta) / 2)
        return RewardStream(self.arms, law, seed, run)
