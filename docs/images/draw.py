"""Draw the pictures of README.md: `python docs/images/draw.py`."""

import sys
from pathlib import Path

import structuredbandits as sb

HERE = Path(__file__).parent
POLICIES = ["ucb", "ucb-s", "ucb-c", "ts", "ts-c"]


def draw(folder: Path = HERE, runs: int = 100) -> Path:
    """Draw the regret of five policies for four visitor types."""
    path = folder / "movielens.png"
    sb.simulate("movielens", POLICIES, runs=runs, seed=0).plot(path)
    return path


if __name__ == "__main__":
    print(draw(*map(Path, sys.argv[1:])))
