"""The bandit as a Gymnasium environment: every episode has a new, hidden θ."""

import gymnasium

import structuredbandits as sb

problem = sb.load_problem("three-arms")
game = gymnasium.make(
    "structuredbandits.environments.gym:StructuredBandit-v0", source=problem, horizon=500
)
for name in ("ucb", "ucb-c"):
    regret = 0.0
    for episode in range(20):
        policy = sb.make_policy(name, problem.structure, seed=episode)
        game.reset(seed=episode)
        over = False
        while not over:
            arm = policy.pull()
            _, reward, ended, stopped, info = game.step(problem.structure.arm_index(arm))
            policy.update(arm, reward)
            regret += info["regret"]
            over = ended or stopped
    print(f"{name:6} {regret / 20:.0f} regret per episode of 500 rounds")
