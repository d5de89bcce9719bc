"""Simulated surveys have the law that they say."""

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.errors import InvalidInput


def test_equal_seeds_give_equal_surveys() -> None:
    first, again = (sb.simulate_survey(rows=50, seed=3) for _ in range(2))
    assert first.equals(again)
    assert not first.equals(sb.simulate_survey(rows=50, seed=4))
    assert set(first["reward"]) <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_any_problem_can_be_surveyed() -> None:
    survey = sb.simulate_survey("dose", rows=20, seed=1)
    assert set(survey["arm"]) <= set(sb.load_structure("dose").arms)
    table = sb.Structure.from_table([[0.0, 10.0]], sigma=1.0)
    problem = sb.Problem("p", table, sb.Gaussian(table, sigma=0), (0,), 10, "d", "t")
    exact = sb.simulate_survey(problem, rows=100)
    assert (exact["reward"] == np.where(exact["arm"] == "1", 0.0, 10.0)).all()


@pytest.mark.parametrize("rows", [0, -1, 2.5, True])
def test_bad_numbers(rows: int) -> None:
    with pytest.raises(InvalidInput, match="is not a number of people"):
        sb.simulate_survey(rows=rows)
