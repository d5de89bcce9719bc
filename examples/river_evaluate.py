"""Our policies in River's `bandit.evaluate`, on a Gymnasium environment with a hidden θ."""

import gymnasium
import pandas as pd
from river import bandit

import structuredbandits as sb
from structuredbandits.policies.adapters.river import RiverPolicy

problem = sb.load_problem("three-arms")
game = gymnasium.make(
    "structuredbandits.environments.gym:StructuredBandit-v0",
    source=problem,
    theta=0.5,
    max_episode_steps=1000,
)
names = ["ucb", "ucb-c"]
policies = [RiverPolicy(name, problem.structure, seed=7) for name in names]
steps = pd.DataFrame(bandit.evaluate(policies, game, n_episodes=5, seed=1))
for place, name in enumerate(names):
    reward = steps[steps.policy_idx == place].reward.mean()
    print(f"{name:6} {reward:.2f} per round")
