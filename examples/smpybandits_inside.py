"""A policy of SMPyBandits inside Algorithm-C. SMPyBandits needs an old NumPy and a separate
environment; if it is not installed, a policy with the same methods replaces it."""

import math

import structuredbandits as sb
from structuredbandits.policies.adapters.smpybandits import SMPyBanditsPolicy

try:
    from SMPyBandits.Policies import UCBalpha
except ImportError:

    class UCBalpha:
        """SMPyBandits' protocol: startGame, getReward, and an index for each arm."""

        def __init__(self, n_arms: int, alpha: float) -> None:
            self.n_arms, self.alpha = n_arms, alpha

        def startGame(self) -> None:
            self.t, self.pulls, self.sums = 0, [0] * self.n_arms, [0.0] * self.n_arms

        def getReward(self, arm: int, reward: float) -> None:
            self.t, self.pulls[arm] = self.t + 1, self.pulls[arm] + 1
            self.sums[arm] += reward

        def computeIndex(self, arm: int) -> float:
            if not self.pulls[arm]:
                return math.inf
            radius = math.sqrt(self.alpha * math.log(self.t) / (2 * self.pulls[arm]))
            return self.sums[arm] / self.pulls[arm] + radius


problem = sb.load_problem("three-arms")
ucb = SMPyBanditsPolicy(problem.structure.arms, UCBalpha(3, alpha=16))
policy = sb.Competitive(ucb).start(problem.structure, seed=7)
rewards = problem.environment.rewards(0.5, seed=0)
for _ in range(500):
    arm = policy.pull()
    policy.update(arm, rewards.draw(arm))
print("pulls:", dict(zip(problem.structure.arms, policy.counts.tolist(), strict=True)))
print("competitive:", policy.competitive_arms)
