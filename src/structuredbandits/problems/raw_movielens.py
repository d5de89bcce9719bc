"""Compute the counts of ratings by segment and genre from the raw files of MovieLens 1M.

The data set may not be redistributed, so the library contains only these counts.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structuredbandits.errors import DamagedFile, FileError, InvalidInput

COLUMNS = ("age", "occupation", "genre", *(f"stars_{stars}" for stars in range(1, 6)))
AGES = (1, 18, 25, 35, 45, 50, 56)
_OCCUPATIONS = 21
_LEAST_RATINGS = 250


class Counted(NamedTuple):
    """The counts, and the size of the data."""

    users: int
    movies: int
    ratings: int
    segments: int
    rows: list[tuple[int | str, ...]]
    """age, occupation, genre and the five counts."""


def count_ratings(folder: str | PathLike[str], *, seed: int = 0) -> Counted:
    """Count the ratings per number of stars, age group, occupation and genre.

    Parameters
    ----------
    folder
        The folder with users.dat, movies.dat and ratings.dat.
    seed
        A movie of several genres counts under one of them, drawn per movie with this seed.

    Notes
    -----
    Segments with fewer than 250 ratings are left out: half are too few to compare 18 genres.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"seed = {seed!r} is not a whole number from 0; give one.")
    place = Path(folder)
    if not place.is_dir():
        raise FileError(f"there is no folder {str(place)!r}; give the folder with ratings.dat.")
    users = dict(_users(place / "users.dat"))
    genres = dict(_movies(place / "movies.dat", np.random.default_rng(seed)))
    counts: Counter[tuple[int, int, str, int]] = Counter()
    totals: Counter[tuple[int, int]] = Counter()
    number = 0
    for line, (user, movie, stars) in _ratings(place / "ratings.dat"):
        if user not in users:
            raise _broken(place / "ratings.dat", line, f"user {user} is not in users.dat")
        if movie not in genres:
            raise _broken(place / "ratings.dat", line, f"movie {movie} is not in movies.dat")
        counts[(*users[user], genres[movie], stars)] += 1
        totals[users[user]] += 1
        number += 1
    kept = sorted(segment for segment, total in totals.items() if total >= _LEAST_RATINGS)
    names = sorted(set(genres.values()))
    rows: list[tuple[int | str, ...]] = [
        (age, job, genre, *(counts[age, job, genre, stars] for stars in range(1, 6)))
        for age, job in kept
        for genre in names
    ]
    return Counted(len(users), len(genres), number, len(kept), rows)


def write_counts(counted: Counted, path: str | PathLike[str]) -> None:
    """Write counts as the CSV file that ``load_problem("movielens", counts=path)`` reads."""
    target = Path(path)
    try:
        with target.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(counted.rows)
    except OSError as error:
        raise FileError(
            f"{str(target)!r} cannot be written ({error.strerror or error})."
        ) from error


def _broken(path: Path, line: int, reason: str) -> DamagedFile:
    return DamagedFile(f"{path.name}, line {line}: {reason}; use the files of MovieLens 1M.")


def _lines(path: Path, fields: int) -> Iterator[tuple[int, list[str]]]:
    try:
        with path.open(encoding="latin-1") as stream:
            for number, text in enumerate(stream, start=1):
                parts = text.rstrip("\r\n").split("::")
                if len(parts) != fields:
                    reason = f"{len(parts)} fields between '::' instead of {fields}"
                    raise _broken(path, number, reason)
                yield number, parts
    except OSError as error:
        raise FileError(
            f"{str(path)!r} cannot be read ({error.strerror or error}); give a folder with "
            "users.dat, movies.dat and ratings.dat."
        ) from error


def _number(path: Path, line: int, name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _broken(path, line, f"the {name} is {text!r}, not a whole number") from None


def _users(path: Path) -> Iterator[tuple[int, tuple[int, int]]]:
    for line, (user, _gender, age, job, _zip) in _lines(path, 5):
        group = _number(path, line, "age", age)
        occupation = _number(path, line, "occupation", job)
        if group not in AGES:
            raise _broken(path, line, f"the age is {group}, not one of {AGES}")
        if not 0 <= occupation < _OCCUPATIONS:
            raise _broken(path, line, f"the occupation is {occupation}, not a code from 0 to 20")
        yield _number(path, line, "user", user), (group, occupation)


def _movies(path: Path, generator: np.random.Generator) -> Iterator[tuple[int, str]]:
    for line, (movie, _title, genres) in _lines(path, 3):
        names = [name for name in genres.split("|") if name]
        if not names:
            raise _broken(path, line, "the movie has no genre")
        yield _number(path, line, "movie", movie), names[int(generator.integers(len(names)))]


def _ratings(path: Path) -> Iterator[tuple[int, tuple[int, int, int]]]:
    for line, (user, movie, rating, _time) in _lines(path, 4):
        stars = _number(path, line, "rating", rating)
        if not 1 <= stars <= 5:
            raise _broken(path, line, f"the rating is {stars}, not 1 to 5 stars")
        yield line, (_number(path, line, "user", user), _number(path, line, "movie", movie), stars)
