"""A MABWiser policy inside Algorithm-C: it keeps its own statistics and gets competitive arms."""

from mabwiser.mab import LearningPolicy

import structuredbandits as sb
from structuredbandits.policies.adapters.mabwiser import MABWiserPolicy

problem = sb.load_problem("three-arms")
ucb = MABWiserPolicy(problem.structure.arms, LearningPolicy.UCB1(alpha=2), seed=7)
policy = sb.Competitive(ucb).start(problem.structure, seed=7)
rewards = problem.environment.rewards(0.5, seed=0)
for _ in range(500):
    arm = policy.pull()
    policy.update(arm, rewards.draw(arm))
print("pulls:", dict(zip(problem.structure.arms, policy.counts.tolist(), strict=True)))
print("competitive:", policy.competitive_arms)
