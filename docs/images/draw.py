"""Draw the picture of README.md: `python docs/images/draw.py`."""

import sys
from pathlib import Path

import structuredbandits as sb
from structuredbandits.experiments._first_interactions import LONG, SHORT, compare_visits
from structuredbandits.experiments.experiment import ExperimentRequest

HERE = Path(__file__).parent


def draw(folder: Path = HERE, runs: int = 2, longest: int = LONG) -> Path:
    """Draw what five policies lose per interaction in a short and in a long visit."""
    path = folder / "first-interactions.png"
    outcome = compare_visits(ExperimentRequest(runs, 0, -1, sb.simulate), (SHORT, longest))
    outcome.figure.savefig(path, dpi=130)
    return path


if __name__ == "__main__":
    print(draw(*map(Path, sys.argv[1:])))
