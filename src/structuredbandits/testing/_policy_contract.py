"""The contract of a policy, as one function that raises if it is broken."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from structuredbandits.environments import Bernoulli, Environment, Gaussian
from structuredbandits.errors import InvalidPolicy, InvalidReward, UnknownArm
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.policy import Policy
from structuredbandits.policies.registry import algorithm_to_dict, make_algorithm
from structuredbandits.simulation import simulate
from structuredbandits.simulation.seeds import policy_sequence
from structuredbandits.structure import Structure

_ROUNDS = 60
_DRAWS = 4_000
# Each probability may differ from its frequency by this many standard errors: with at most some
# ten arms a check that should pass fails about once in 10^7.
_STANDARD_ERRORS = 6.0


#: The parts of the contract, in the order in which they are checked.
CHECKS = (
    "description",
    "determinism",
    "late_rewards",
    "allowed_arms",
    "stored_runs",
    "bad_input",
    "probabilities",
    "simulator",
)


def check_policy(
    algorithm: Algorithm | str,
    structure: Structure | None = None,
    environment: Environment | None = None,
) -> None:
    """Check that an algorithm keeps the contract of the library; raise AssertionError if not.

    Equal seeds give equal decisions; rewards may come late and in any order; only allowed arms are
    pulled; a stored run continues identically; copies are independent; probabilities are those of
    the pulls; bad input changes nothing; the simulator plays the same run as a loop in Python.
    What holds Python objects (a policy of another library, a metric of your own) need not be known
    by name nor be stored as JSON; all else is asked of it, too.

    Parameters
    ----------
    algorithm
        The algorithm, or its name; for an object with ``pull(arms)`` and ``update(arm, reward)``,
        the `Competitive` around it.
    structure, environment
        Where to try it; a small structure that every built-in algorithm understands if None.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> check_policy(UCB())
    """
    made = make_algorithm(algorithm)
    where = _small_structure(made) if structure is None else structure
    world: Environment
    if environment is not None:
        world = environment
    else:
        world = Bernoulli(where) if made.needs_unit_rewards else Gaussian(where)
    check = _PolicyCheck(made, where, world)
    for part in CHECKS:
        getattr(check, part)()


def _small_structure(algorithm: Algorithm) -> Structure:
    """Three invertible arms over seven θ, with errors and a prior; linear on demand."""
    theta = np.linspace(0.0, 1.0, 7)
    means = np.stack([0.2 + 0.6 * theta, 0.8 - 0.6 * theta, 0.35 + 0.3 * theta], axis=1)
    plain = Structure.from_table(
        means,
        arms=["a", "b", "c"],
        sigma=0.5,
        counts=np.full(means.shape, 20),
        standard_errors=np.full(means.shape, 0.1),
        prior=np.ones(7),
    )
    try:
        algorithm.check(plain)
    except InvalidPolicy:
        from structuredbandits.structure import Box

        return Structure.linear(
            {"a": [1.0, 0.2], "b": [0.3, 0.9], "c": [0.6, 0.6]},
            Box([(0.05, 0.45), (0.05, 0.45)], points=5),
            sigma=0.5,
        )
    return plain


def _is_plain(algorithm: Algorithm) -> bool:
    """Whether all its parts are numbers and names, so that text can say what it is."""
    try:
        algorithm_to_dict(algorithm)
    except InvalidPolicy:
        return False
    return True


def _numbers(policy: Policy) -> tuple[Any, ...]:
    """All that a run has, except for what an object of another library keeps to itself."""
    return (policy.run.state(), policy.run.block.tolist())


class _PolicyCheck:
    """One algorithm on one structure."""

    def __init__(self, algorithm: Algorithm, structure: Structure, environment: Environment):
        self.algorithm = algorithm
        self.structure = structure
        self.environment = environment
        self.theta = structure.parameters[structure.n_parameters // 2]
        self.arms = structure.arms
        self.external = algorithm.external is not None
        self.is_plain = _is_plain(algorithm)

    def start(self, seed: int = 7) -> Policy:
        return self.algorithm.start(self.structure, seed=seed)

    def say(self, condition: bool, broken: str) -> None:
        assert condition, f"{self.algorithm!r}: {broken}"

    def play(self, policy: Policy, rounds: int, run: int = 0) -> list[str]:
        rewards = self.environment.rewards(self.theta, 3, run)
        pulled = []
        for _ in range(rounds):
            arm = policy.pull()
            self.say(arm in self.arms, f"it pulled {arm!r}, which is none of the arms")
            policy.update(arm, rewards.draw(arm))
            pulled.append(arm)
        return pulled

    def description(self) -> None:
        twin = self._sent()
        self.say(twin.label == self.algorithm.label, "pickling changes its label")
        if not self.external:  # two equal objects of another library need not compare as equal
            self.say(twin == self.algorithm, "pickling changes it")
            again = copy.deepcopy(self.algorithm)
            self.say(hash(self.algorithm) == hash(again), "copies hash apart")
        if self.is_plain:
            named = make_algorithm(self.algorithm.label)
            self.say(named == self.algorithm, "its label is not its own")

    def _sent(self) -> Algorithm:
        """The algorithm as it arrives in another process."""
        try:
            sent: Algorithm = pickle.loads(pickle.dumps(self.algorithm))
        except Exception as error:  # what a class raises that cannot be pickled is not one family
            raise AssertionError(
                f"{self.algorithm!r}: it cannot be pickled ({error}); define its parts at the top "
                "of a module"
            ) from error
        return sent

    def determinism(self) -> None:
        first, second = self.play(self.start(), _ROUNDS), self.play(self.start(), _ROUNDS)
        self.say(first == second, "equal seeds and rewards give different decisions")

    def late_rewards(self) -> None:
        policy = self.start()
        rewards = self.environment.rewards(self.theta, 4)
        waiting = [(arm, rewards.draw(arm)) for arm in (policy.pull() for _ in range(12))]
        self.say(policy.received == 0, "a reward was counted before it came")
        for arm, reward in reversed(waiting):
            policy.update(arm, reward)
        due = [sum(name == arm for name, _ in waiting) for arm in self.arms]
        self.say(
            policy.counts.tolist() == due and policy.received == policy.decided == 12,
            "rewards that came late were not counted",
        )
        policy.pull()

    def allowed_arms(self) -> None:
        policy = self.start()
        rewards = self.environment.rewards(self.theta, 5)
        for number in range(_ROUNDS):
            arms = [arm for k, arm in enumerate(self.arms) if (number >> k) & 1] or [self.arms[0]]
            arm = policy.pull(arms)
            self.say(arm in arms, f"it pulled {arm!r} where only {arms!r} were allowed")
            policy.update(arm, rewards.draw(arm))

    def stored_runs(self) -> None:
        makers: dict[str, Callable[[Policy], Policy]] = {
            "pickled": lambda p: pickle.loads(pickle.dumps(p)),
            "copied": copy.copy,
        }
        if self.is_plain:
            makers["stored as JSON"] = lambda p: Policy.from_state(
                self.structure, json.loads(json.dumps(p.state_dict()))
            )
        for name, make in makers.items():
            policy = self.start()
            self.play(policy, _ROUNDS // 2)
            twin = make(policy)
            self.say(
                self.play(policy, _ROUNDS, run=1) == self.play(twin, _ROUNDS, run=1),
                f"a run that was {name} continues differently",
            )

    def bad_input(self) -> None:
        policy = self.start()
        self.play(policy, 5)
        before = _numbers(policy)
        attempts: list[tuple[Any, type[Exception]]] = [
            (lambda: policy.update(self.arms[0], math.nan), InvalidReward),
            (lambda: policy.update(self.arms[0], math.inf), InvalidReward),
            (lambda: policy.update("no such arm", 0.5), UnknownArm),
            (lambda: policy.pull(["no such arm"]), UnknownArm),
        ]
        for attempt, error in attempts:
            try:
                attempt()
            except error:
                pass
            else:
                self.say(False, f"bad input raised no {error.__name__}")
        self.say(_numbers(policy) == before, "refused input changed the run")

    def probabilities(self) -> None:
        policy = self.start()
        self.play(policy, _ROUNDS // 3)
        before = _numbers(policy)
        try:
            shares = policy.probabilities()
        except InvalidPolicy:
            return  # it does not report them
        self.say(_numbers(policy) == before, "reporting its probabilities changes the run")
        self.say(
            math.isclose(sum(shares.values()), 1.0, abs_tol=1e-9),
            "its probabilities do not add up to 1",
        )
        counts = dict.fromkeys(self.arms, 0)
        for seed in range(_DRAWS):
            again = copy.copy(policy)
            again.generator.bit_generator.state = np.random.PCG64(seed).state
            counts[again.pull()] += 1
        for arm, share in shares.items():
            error = math.sqrt(max(share * (1 - share), 1e-4) / _DRAWS)
            self.say(
                abs(counts[arm] / _DRAWS - share) <= _STANDARD_ERRORS * error,
                f"it reports {share:.3f} for {arm!r} but pulled it {counts[arm]} of {_DRAWS} times",
            )

    def simulator(self) -> None:
        results = simulate(
            self.structure,
            self.algorithm,
            theta=self.theta,
            horizon=_ROUNDS,
            runs=1,
            seed=3,
            environment=self.environment,
            progress="off",
        )
        resolved = self.environment.parameters.resolve(self.theta)
        seed = policy_sequence(3, 0, self.algorithm.label, resolved)
        policy = self.algorithm.start(self.structure, seed=seed, horizon=_ROUNDS)
        pulled = self.play(policy, _ROUNDS)
        counts = [pulled.count(arm) for arm in self.arms]
        self.say(
            results.pulls[0, 0, 0].tolist() == counts,
            "the simulator and a loop in Python give different runs for one seed",
        )
