"""Identify the best arm with few rewards: a rule that uses the structure, and one that does not."""

import structuredbandits as sb

for rule in ("track", "lucb"):
    found = sb.identify("three-arms", theta=1.5, rule=rule, delta=0.05, runs=50, seed=1)
    print(f"{rule:8} finds arm {found.answer} after {found.stopping_time:6.0f} rewards")
