"""What compiled code calls stays alive as long as anybody has the table."""

from __future__ import annotations

import gc
import weakref

import numpy as np

import structuredbandits as sb
from structuredbandits.policies.structured.hand_back import RowsOnDemand


def test_the_table_keeps_its_owner_and_nothing_else_does() -> None:
    owner = RowsOnDemand(3, 2, lambda row: np.array([row, 2.0 * row]))
    watched, rows = weakref.ref(owner), owner.rows
    del owner
    gc.collect()
    kept = watched()
    assert kept is not None
    kept.fill(2)
    assert rows.values.tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 4.0]]
    assert rows.filled.tolist() == [False, False, True]
    del rows, kept
    gc.collect()
    assert watched() is None


def test_threads_that_ask_at_the_same_time_get_the_same_results() -> None:
    """Both ask for the program of the lower bound of a structure that is new to the process."""
    found = []
    for n_jobs in (1, 2):
        problem = sb.load_problem("three-arms", points=151)
        results = sb.simulate(
            problem, ["ossb"], theta=[0.5, 2.6], horizon=500, runs=8, n_jobs=n_jobs, progress="off"
        )
        found.append(results.regret)
    assert (found[0] == found[1]).all()
