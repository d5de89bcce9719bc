"""The theory is fast enough to be asked about everything.

The limits are several times what it takes, in time of the processor: others may use it, too.
"""

from time import process_time

import numpy as np

from structuredbandits.structure import Interval, Structure
from structuredbandits.theory import analyze, lower_bound


def large(means: np.ndarray) -> Structure:
    # One arm that tells nothing, so that every θ at which it is the best has many rivals.
    means[:, 0] = 2.0
    return Structure.from_table(means, sigma=1.0)


def test_all_of_ten_thousand_theta_and_one_lower_bound() -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    structure = large(generator.normal(size=(10_000, 18)))
    start = process_time()
    table = analyze(structure)
    assert process_time() - start < 2.0
    i = int(np.flatnonzero(table.optimal[:, 0])[0])
    lower_bound(structure, i)  # imports the solver
    start = process_time()
    assert lower_bound(structure, i).value > 0
    assert process_time() - start < 0.5


def test_ten_thousand_theta_of_an_interval() -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    walks = generator.normal(size=(10_000, 18)).cumsum(axis=0) / 50
    structure = Structure.from_table(walks, Interval(0, 1, points=10_000), sigma=1.0)
    start = process_time()
    table = analyze(structure)
    assert process_time() - start < 2.0
    assert table.C.max() > 3
