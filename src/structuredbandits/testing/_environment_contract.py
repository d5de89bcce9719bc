"""The contract of an environment, as one function that raises if it is broken."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np

from structuredbandits.environments import Environment, NormalEnvironment, TableEnvironment
from structuredbandits.errors import InvalidInput, InvalidParameter, UnknownArm
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.simulation import simulate
from structuredbandits.simulation.seeds import policy_sequence
from structuredbandits.structure import Structure
from structuredbandits.structure.parameters import FloatArray, show_theta

_ROUNDS = 60
_DRAWS = 4_000
_SEED = 3
# Probability per arm and θ that the mean of correct rewards is outside the allowed distance.
_ERROR_RATE = 1e-9
# Means are sums of products of floats: two ways to compute them agree up to this relative error.
_ROUNDING = 1e-9

#: The parts of the contract, in the order in which they are checked.
ENVIRONMENT_CHECKS = (
    "interface",
    "description",
    "streams",
    "common_random_numbers",
    "means",
    "distribution",
    "bad_input",
    "simulator",
)


def check_environment(environment: Environment) -> None:
    """Check that an environment keeps the contract of the library; raise AssertionError if not.

    It has arms, parameters and finite means; it can be pickled and compared; equal seeds and runs
    give equal rewards; every draw uses one random number, whichever arm is pulled, so that all
    policies face identical simulated rewards; drawn rewards have the stated means; location and
    scale, or the quantile table, agree with the means; an unknown θ, arm or seed raises an error;
    the compiled simulator draws the same rewards as a loop in Python.

    Three θ of the environment are checked: the first, the middle and the last one. The mean of
    4,000 rewards per arm and θ is compared with the stated mean, with seed 3 and a probability
    below 10⁻⁹ that a correct mean is refused (Bernstein's inequality).

    Parameters
    ----------
    environment
        An object with the methods of `Environment`, and those of either `NormalEnvironment` or
        `TableEnvironment`.

    Examples
    --------
    >>> from structuredbandits.environments import Gaussian
    >>> from structuredbandits.structure import Structure
    >>> check_environment(Gaussian(Structure.from_table([[1, 2], [2, 1]], sigma=0.5)))
    """
    check = _EnvironmentCheck(environment)
    for part in ENVIRONMENT_CHECKS:
        getattr(check, part)()


class _EnvironmentCheck:
    """The checks of one environment."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    def say(self, condition: bool, broken: str) -> None:
        assert condition, f"{self.environment!r}: {broken}"

    @property
    def thetas(self) -> list[Any]:
        """The first, the middle and the last θ."""
        parameters = self.environment.parameters
        places = dict.fromkeys((0, len(parameters) // 2, len(parameters) - 1))
        return [parameters[place] for place in places]

    def draws(self, theta: Any, seed: int, run: int = 0, rounds: int = _ROUNDS) -> list[float]:
        """Rewards of all arms in turn."""
        stream = self.environment.rewards(theta, seed, run)
        return [stream.draw(number % len(self.environment.arms)) for number in range(rounds)]

    def interface(self) -> None:
        environment = self.environment
        self.say(
            isinstance(environment, Environment) and not isinstance(environment, type),
            "it lacks arms, parameters, means_at or rewards",
        )
        arms = environment.arms
        named = isinstance(arms, tuple) and all(isinstance(arm, str) for arm in arms)
        self.say(named and len(set(arms)) == len(arms) > 0, f"its arms {arms!r} are not names")
        for theta in self.thetas:
            means = np.asarray(environment.means_at(theta))
            self.say(
                means.shape == (len(arms),) and bool(np.isfinite(means).all()),
                f"its means at θ = {show_theta(theta)} are not one finite number per arm",
            )

    def description(self) -> None:
        try:
            twin = pickle.loads(pickle.dumps(self.environment))
        except Exception as error:  # what a class raises that cannot be pickled is not one family
            raise AssertionError(
                f"{self.environment!r}: it cannot be pickled ({error}); define its parts at the "
                "top of a module"
            ) from error
        for other, how in ((twin, "pickling"), (copy.deepcopy(self.environment), "copying")):
            self.say(other == self.environment, f"{how} changes it: define __eq__")
            self.say(hash(other) == hash(self.environment), f"{how} changes its hash")
        theta = self.thetas[0]
        self.say(
            _EnvironmentCheck(twin).draws(theta, _SEED) == self.draws(theta, _SEED),
            "pickling changes its rewards",
        )

    def streams(self) -> None:
        for theta in self.thetas:
            first = self.draws(theta, _SEED, 1)
            where = f"at θ = {show_theta(theta)}"
            self.say(
                all(isinstance(reward, float) and math.isfinite(reward) for reward in first),
                f"a reward {where} is not a finite float",
            )
            self.say(
                first == self.draws(theta, _SEED, 1),
                f"equal seeds and runs give different rewards {where}",
            )
            positions = self.environment.rewards(theta, _SEED, 1)
            names = self.environment.rewards(theta, _SEED, 1)
            for number, arm in enumerate(self.environment.arms):
                self.say(
                    positions.draw(number) == names.draw(arm),
                    f"arm {arm!r} {where} has different rewards by name and by position",
                )
            if self._varies(theta):
                self.say(first != self.draws(theta, _SEED, 2), f"all runs are equal {where}")
                self.say(first != self.draws(theta, _SEED + 1, 1), f"all seeds are equal {where}")

    def _varies(self, theta: Any) -> bool:
        """Whether some arm has random rewards, frequent enough to be seen in a few rounds."""
        many = [self.draws(theta, seed) for seed in range(10, 20)]
        return any(min(column) < max(column) for column in zip(*many, strict=True))

    def common_random_numbers(self) -> None:
        last = len(self.environment.arms) - 1
        for theta in self.thetas:
            one, other = (self.environment.rewards(theta, _SEED) for _ in range(2))
            for _ in range(10):
                one.draw(0)
                other.draw(last)
            same = all(one.draw(last) == other.draw(last) for _ in range(_ROUNDS))
            self.say(
                same,
                f"rewards at θ = {show_theta(theta)} depend on the arms that were pulled before: "
                "use exactly one random number per draw",
            )

    def means(self) -> None:
        for theta in self.thetas:
            means = np.asarray(self.environment.means_at(theta))
            for k, arm in enumerate(self.environment.arms):
                stream = self.environment.rewards(theta, _SEED, run=k)
                rewards = np.array([stream.draw(k) for _ in range(_DRAWS)])
                distance = abs(float(rewards.mean()) - float(means[k]))
                self.say(
                    distance <= self._allowed(theta, k, rewards),
                    f"arm {arm!r} at θ = {show_theta(theta)} has mean {means[k]:g}, but "
                    f"{_DRAWS:,} rewards have mean {rewards.mean():g}",
                )

    def _allowed(self, theta: Any, k: int, rewards: FloatArray) -> float:
        """The distance that a mean exceeds with the stated error rate, by Bernstein's inequality.

        Variance and range are those of the stated distribution; for Gaussian rewards the term with
        the range is 0.
        """
        environment, mean = self.environment, float(self.environment.means_at(theta)[k])
        variance, spread = float(rewards.var()), 0.0
        if isinstance(environment, NormalEnvironment):
            variance = float(environment.scale(theta)[k]) ** 2
        elif isinstance(environment, TableEnvironment):
            cumulative, values = environment.quantile_table(theta)
            shares = np.diff(cumulative[k], prepend=0.0)
            variance = float(shares @ (values - mean) ** 2)
            spread = float(np.abs(values - mean).max())
        effort = math.log(2 / _ERROR_RATE) / _DRAWS
        linear = spread * effort / 3
        rounding = _ROUNDING * max(1.0, abs(mean))
        return linear + math.sqrt(linear**2 + 2 * variance * effort) + rounding

    def distribution(self) -> None:
        environment = self.environment
        for theta in self.thetas:
            where = f"at θ = {show_theta(theta)}"
            means = np.asarray(environment.means_at(theta))
            if isinstance(environment, NormalEnvironment):
                scale = np.asarray(environment.scale(theta))
                self.say(
                    scale.shape == means.shape
                    and bool(np.isfinite(scale).all() and (scale >= 0).all()),
                    f"its scale {where} is not one number per arm, 0 or more",
                )
                self._agree(np.asarray(environment.location(theta)), means, f"location {where}")
            elif isinstance(environment, TableEnvironment):
                cumulative, values = environment.quantile_table(theta)
                self.say(
                    cumulative.shape == (len(means), len(values))
                    and bool((np.diff(values) > 0).all())
                    and bool((np.diff(cumulative, prepend=0.0) >= 0).all())
                    and bool((cumulative[:, -1] == 1.0).all()),
                    f"its quantile table {where} is not increasing to 1 over increasing values",
                )
                shares = np.diff(cumulative, prepend=0.0)
                self._agree(shares @ values, means, f"quantile table {where}")
            else:
                self.say(
                    False,
                    "it has neither location and scale nor a quantile_table, from which the "
                    "simulator draws",
                )

    def _agree(self, found: FloatArray, means: FloatArray, what: str) -> None:
        agree = found.shape == means.shape and np.allclose(
            found, means, rtol=_ROUNDING, atol=_ROUNDING
        )
        self.say(agree, f"the means of its {what} are not those of means_at")

    def bad_input(self) -> None:
        environment, theta = self.environment, self.thetas[0]
        stream = environment.rewards(theta, _SEED)
        attempts: list[tuple[str, Any, type[Exception]]] = [
            ("θ", lambda: environment.means_at("no such θ"), InvalidParameter),
            ("θ", lambda: environment.rewards("no such θ", 0), InvalidParameter),
            ("arm", lambda: stream.draw("no such arm"), UnknownArm),
            ("arm", lambda: stream.draw(len(environment.arms)), UnknownArm),
            ("arm", lambda: stream.draw(-1), UnknownArm),
            ("seed", lambda: environment.rewards(theta, -1), InvalidInput),
            ("run", lambda: environment.rewards(theta, 0, -1), InvalidInput),
        ]
        for what, attempt, error in attempts:
            try:
                attempt()
            except error:
                continue
            except Exception as other:
                raise AssertionError(
                    f"{environment!r}: an unknown {what} raises {type(other).__name__}, "
                    f"not {error.__name__}"
                ) from other
            self.say(False, f"an unknown {what} raises no {error.__name__}")
        self.say(
            stream.draw(0) == environment.rewards(theta, _SEED).draw(0),
            "a refused arm uses a random number",
        )

    def simulator(self) -> None:
        algorithm = make_algorithm("ucb")
        for theta in self.thetas:
            known = Structure.from_table(
                [self.environment.means_at(theta)], arms=list(self.environment.arms), sigma=1.0
            )
            results = simulate(
                known,
                algorithm,
                theta=[theta],
                horizon=_ROUNDS,
                runs=1,
                seed=_SEED,
                environment=self.environment,
                progress="off",
            )
            resolved = self.environment.parameters.resolve(theta)
            seed = policy_sequence(_SEED, 0, algorithm.label, resolved)
            policy = algorithm.start(known, seed=seed, horizon=_ROUNDS)
            stream = self.environment.rewards(theta, _SEED, 0)
            total = 0.0
            for _ in range(_ROUNDS):
                arm = policy.pull()
                reward = stream.draw(arm)
                policy.update(arm, reward)
                total += reward
            self.say(
                results.pulls[0, 0, 0].tolist() == policy.counts.tolist()
                and math.isclose(results.reward[0, 0, 0, -1], total, rel_tol=1e-9, abs_tol=1e-9),
                f"the simulator and a loop in Python draw different rewards at θ = "
                f"{show_theta(theta)}",
            )
