"""Describe a structure, simulate policies on it, and save it to a file.

A shop chooses one of three prices. The earnings of a price depend on the demand, which is hidden.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import structuredbandits as sb

structure = sb.Structure.from_functions(
    {
        "low": lambda demand: 2.0 + 0.2 * demand,
        "middle": lambda demand: 0.9 * demand,
        "high": lambda demand: 0.4 * demand**1.6 - 1.5,
    },
    sb.Interval(0, 6, points=601),
    sigma=2.0,
    name="shop",
)
print(structure)
for demand in (1, 3.5, 6):
    print(f"demand {demand}: the best price is {structure.optimal_arm(demand)}")

results = sb.simulate(structure, ["ucb", "ucb-c"], theta=[1, 3.5, 6], horizon=5000, runs=50)
table = results.summary().pivot(index="theta", columns="policy", values="regret")
print(table.round(0).astype(int).to_string())

with TemporaryDirectory() as folder:
    path = Path(folder) / "shop.structure"
    structure.save(path)
    print(sb.load_structure(path))
    # structuredbandits simulate shop.structure --theta 3.5
