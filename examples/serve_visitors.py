"""Recommend a film genre to an anonymous visitor, one decision at a time.

The survey knows how 108 kinds of people rate 18 genres. Which kind the visitor is, nobody knows.
"""

import json

import structuredbandits as sb

problem = sb.load_problem("movielens")
policy = sb.make_policy("ts-c", problem.structure, seed=1)
visitor = problem.environment.rewards("56+ sales/marketing", seed=1, run=0)

for visit in range(1, 1001):
    genre = policy.pull()
    policy.update(genre, visitor.draw(genre))
    if visit in (1, 10, 100, 1000):
        kinds, genres = len(policy.confidence_set), len(policy.competitive_arms)
        print(f"after {visit:4} visits: {kinds:3} kinds of people plausible, {genres} genres left")

# Between two visits the whole state is a little JSON; the next process goes on from it.
stored = json.dumps(policy.state_dict())
policy = sb.Policy.from_state(problem.structure, json.loads(stored))

print(f"the state is {len(stored):,} bytes of JSON")
print("next:", policy.pull())
print("if only two are on offer:", policy.pull(arms=["Comedy", "War"]))
