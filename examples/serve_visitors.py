"""Recommend a film genre to an anonymous visitor, one decision at a time.

A survey shows how 108 visitor types rate 18 genres. The type of the visitor is unknown.
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
        types, genres = len(policy.confidence_set), len(policy.competitive_arms)
        print(f"after {visit:4} visits: {types:3} visitor types possible, {genres} genres left")

# Between two visits the state is stored as JSON, from which another process can continue.
stored = json.dumps(policy.state_dict())
policy = sb.Policy.from_state(problem.structure, json.loads(stored))

print(f"the state is {len(stored):,} bytes of JSON")
print("next:", policy.pull())
print("if only two are available:", policy.pull(arms=["Comedy", "War"]))
