"""Your own compiled policy in five lines, with and without the structure."""

import math

import structuredbandits as sb


@sb.index_policy
def bold(arm, moment):
    """The mean plus a bonus that shrinks with the number of pulls."""
    return arm.mean + arm.sigma * math.sqrt(moment.log_t / arm.pulls)


policies = [sb.UCB(), bold(), sb.Competitive(bold()), sb.Competitive(bold(), alpha=2)]
results = sb.simulate("three-arms", policies, theta=0.5, horizon=5000, runs=50)
for policy, regret in zip(results.policies, results.mean()[:, 0, -1], strict=True):
    print(f"{policy:18} {regret:6.0f}")
