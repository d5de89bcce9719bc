"""What compiled code calls stays alive as long as anybody has the table."""

from __future__ import annotations

import gc
import weakref

import numpy as np

import structuredbandits as sb
from structuredbandits._compiled import kernel
from structuredbandits._compiled.lazy_rows import LazyTable, fill_row


@kernel
def ask(address: int, row: int) -> None:
    """Call the function at an address, as policies do."""
    fill_row(address, row)


def test_the_table_keeps_what_is_called_and_nothing_else_does() -> None:
    def compute(row: int) -> np.ndarray:
        return np.array([row, 2.0 * row])

    watched, rows = weakref.ref(compute), LazyTable(3, 2, compute).rows
    del compute
    gc.collect()
    assert watched() is not None
    ask(rows.address, 2)
    assert rows.values.tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 4.0]]
    assert rows.filled.tolist() == [False, False, True]
    del rows
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
