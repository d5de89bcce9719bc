"""A structured bandit as a Gymnasium environment, ``StructuredBandit-v0``.

Importing this module registers it: ``gymnasium.make("structuredbandits.environments.gym:
StructuredBandit-v0", source=...)``.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from structuredbandits.environments._gaussian import default_environment
from structuredbandits.errors import InvalidInput
from structuredbandits.structure import Structure

ID = "StructuredBandit-v0"


class StructuredBandit(gymnasium.Env[Any, Any]):
    """Each action pulls an arm; θ is hidden and stays the same for an episode.

    Only the reward is observed, so the observation is always 0. ``info["regret"]`` is the expected
    loss of the pull, for evaluation only. Costs are negated, since Gymnasium maximises rewards.

    Parameters
    ----------
    source
        A problem, an environment such as `Gaussian`, or a structure, whose rewards are then
        those of its own family.
    theta
        The hidden parameter; None draws one from the structure's prior at every reset.
    horizon
        Rounds per episode; None for episodes without end.

    Examples
    --------
    >>> structure = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=0.1)
    >>> game = StructuredBandit(structure, theta=1, horizon=100)
    >>> _ = game.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = game.step(0)
    >>> info["regret"]
    2.0
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # Gymnasium reads a plain attribute

    def __init__(self, source: Any, theta: Any = None, horizon: int | None = None) -> None:
        if horizon is not None and (isinstance(horizon, bool) or horizon < 1):
            raise InvalidInput(f"the horizon is {horizon!r}; give at least 1 round, or None.")
        if isinstance(source, Structure):
            source = default_environment(source)
        world = getattr(source, "environment", source)
        if not (hasattr(world, "rewards") and hasattr(world, "means_at")):
            raise InvalidInput(
                f"{source!r} gives no rewards; give a problem, an environment or a structure."
            )
        self._world = world
        structure = getattr(source, "structure", None)
        self._sign = 1.0 if structure is None else float(structure.sign)
        prior = None if structure is None else structure.prior
        same = prior is not None and len(prior) == len(world.parameters)
        self._weights: Any = prior if same else world.parameters.weights
        self._fixed = None if theta is None else (world.parameters.resolve(theta),)
        self._horizon = horizon
        self.action_space = gymnasium.spaces.Discrete(len(world.arms))
        self.observation_space = gymnasium.spaces.Discrete(1)
        self._rewards: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode, with new rewards and, unless it is fixed, a new θ."""
        super().reset(seed=seed)
        if self._fixed is not None:
            theta = self._fixed[0]
        else:
            drawn = self.np_random.choice(len(self._weights), p=self._weights)
            theta = self._world.parameters[int(drawn)]
        means = self._sign * np.asarray(self._world.means_at(theta))
        self._gaps = means.max() - means
        self._rewards = self._world.rewards(theta, seed=int(self.np_random.integers(2**62)))
        self._rounds = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Pull an arm, given by its position."""
        if self._rewards is None:
            raise InvalidInput("the environment was not reset; call reset() before step().")
        reward = self._sign * float(self._rewards.draw(int(action)))
        self._rounds += 1
        ended = self._horizon is not None and self._rounds >= self._horizon
        return 0, reward, False, ended, {"regret": float(self._gaps[int(action)])}


if ID not in gymnasium.registry:
    gymnasium.register(id=ID, entry_point=f"{__name__}:{StructuredBandit.__name__}")
