"""Our algorithms as River policies.

The other direction needs no adapter: River's policies have ``pull`` and ``update``, which is what
`Competitive` takes.
"""

from __future__ import annotations

from typing import Any

from river import bandit

from structuredbandits.policies.registry import make_algorithm
from structuredbandits.structure import Structure


class RiverPolicy(bandit.base.Policy):
    """An algorithm that River can run, for example with ``bandit.evaluate``.

    Arms are given by name or by position, as in the structure; what is pulled comes back in the
    form in which it was given.

    Parameters
    ----------
    algorithm
        A name such as "ucb-c", or an algorithm.
    structure
        What is known.
    seed
        Seed of the policy's own randomness.

    Examples
    --------
    >>> structure = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=0.1)
    >>> policy = RiverPolicy("ucb-c", structure, seed=7)
    >>> policy.update(1, 2.01)
    >>> policy.pull([0, 1]), policy.pull(["a", "b"])
    (1, 'b')
    """

    def __init__(self, algorithm: Any, structure: Structure, seed: int | None = None) -> None:
        super().__init__()
        self.algorithm = algorithm
        self.structure = structure
        self.seed = seed
        self._run = make_algorithm(algorithm).start(structure, seed=seed)

    def _pull(self, arm_ids: Any) -> Any:
        given = {self.structure.arm_index(arm): arm for arm in arm_ids}
        return given[self.structure.arm_index(self._run.pull(arms=given.values()))]

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Update with the reward of an arm."""
        reward = reward_args[0] if reward_args else next(iter(reward_kwargs.values()))
        self._run.update(arm_id, reward)
        # River keeps its own table of rewards, which `ranking` and the printed policy show.
        super().update(arm_id, *reward_args, **reward_kwargs)  # type: ignore[no-untyped-call]  # River's
