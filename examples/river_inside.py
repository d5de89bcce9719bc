"""River's UCB alone, and the same policy inside Algorithm-C, which adds the structure."""

from river import bandit

import structuredbandits as sb

problem = sb.load_problem("three-arms")


def regret(policy: object, run: int) -> float:
    """Regret of 2,000 rounds at θ = 0.5, on rewards that depend only on the run."""
    rewards = problem.environment.rewards(0.5, seed=0, run=run)
    means = problem.environment.means_at(0.5)
    total = 0.0
    for _ in range(2000):
        arm = policy.pull(list(problem.structure.arms))
        policy.update(arm, rewards.draw(arm))
        total += means.max() - means[problem.structure.arm_index(arm)]
    return total


alone, inside = [], []
for run in range(10):
    alone.append(regret(bandit.UCB(delta=4, seed=run), run))
    ucb = bandit.UCB(delta=4, seed=run)
    inside.append(regret(sb.Competitive(ucb).start(problem.structure), run))
print(f"River's UCB alone: {sum(alone) / 10:.0f}")
print(f"inside Algorithm-C: {sum(inside) / 10:.0f}")
