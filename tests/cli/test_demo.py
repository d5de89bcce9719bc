"""The job of `make demo`, small: the embedded ratings, five policies, a table and a picture."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

import structuredbandits as sb
from tests.cli.conftest import Ended

POLICIES = ("ucb", "ucb-s", "ucb-c", "ts", "ts-c")


def test_the_demo_simulates_draws_and_says_where(
    call: Callable[..., Ended], tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    options = ("--policies", ",".join(POLICIES), "--runs", "2", "--horizon", "200")
    ended = call("simulate", "movielens", *options, "--out", str(folder))
    assert ended.code == 0
    for policy in POLICIES:
        assert re.search(rf"^\s*{policy}\s+[\d.,]+ ± [\d.,]+", ended.out, flags=re.MULTILINE)
    assert f"Figure: {folder / 'regret.png'}" in ended.out
    assert (folder / "regret.png").read_bytes().startswith(b"\x89PNG")
    problem = sb.load_problem("movielens")
    results = sb.load_results(folder / "results.parquet")
    assert (results.problem, results.policies) == ("movielens", POLICIES)
    assert results.thetas == tuple(problem.resolve(theta) for theta in problem.thetas)
    assert (results.pulls.sum(axis=-1) == 200).all()
    assert len(pd.read_csv(folder / "summary.csv")) == len(POLICIES) * len(problem.thetas)
