"""Rewards that arrive late, in any order, or never; and past data for a warm start.

A dose is chosen for every new patient; the outcome is known some days later.
"""

import random

import structuredbandits as sb

problem = sb.load_problem("dose")
sensitivity = 1.5
past = [("20 mg", 88.0), ("20 mg", 95.0), ("80 mg", 41.0)]
policy = sb.Competitive(sb.ThompsonSampling()).start(problem.structure, seed=3, history=past)
print("possible after three past patients:", ", ".join(policy.competitive_arms))

outcomes = problem.environment.rewards(sensitivity, seed=3, run=0)
shuffle = random.Random(3)
waiting: list[tuple[str, float]] = []
for _ in range(200):
    dose = policy.pull()
    waiting.append((dose, outcomes.draw(dose)))
    while len(waiting) > 5:
        policy.update(*waiting.pop(shuffle.randrange(len(waiting))))

print("possible at the end:", ", ".join(policy.competitive_arms))
print("probabilities of the next dose:")
for dose, probability in policy.probabilities().items():
    if probability > 0.01:
        print(f"  {dose:6} {probability:.2f}")
print("truly best:", problem.structure.optimal_arm(sensitivity))
