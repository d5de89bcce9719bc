"""The embedded problem "movielens": find the genre that an anonymous visitor likes.

Means are learned from one half of the real ratings, and rewards are drawn from the other half, so
the known means have sampling errors, as in practice.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structuredbandits.environments import Ratings
from structuredbandits.errors import DamagedFile, FileError, InvalidInput
from structuredbandits.problems._problem import Problem
from structuredbandits.structure import Finite, FloatArray, Structure

CITATION = (
    "F. M. Harper and J. A. Konstan. The MovieLens Datasets: History and Context. ACM "
    "Transactions on Interactive Intelligent Systems 5(4), Article 19, 2015. "
    "https://doi.org/10.1145/2827872"
)
_FILE = "movielens_1m_ratings_by_segment_and_genre.csv"
_STARS = np.arange(1.0, 6.0)
# The data set's codes of age groups, which are their lower ends.
_AGES = {
    1: "Under 18",
    18: "18-24",
    25: "25-34",
    35: "35-44",
    45: "45-49",
    50: "50-55",
    56: "56+",
}
_OCCUPATIONS = (
    "other",
    "academic/educator",
    "artist",
    "clerical/admin",
    "college/grad student",
    "customer service",
    "doctor/health care",
    "executive/managerial",
    "farmer",
    "homemaker",
    "K-12 student",
    "lawyer",
    "programmer",
    "retired",
    "sales/marketing",
    "scientist",
    "self-employed",
    "technician/engineer",
    "tradesman/craftsman",
    "unemployed",
    "writer",
)
# 35-44 student, 45-49 clerical, 18-24 student, 56+ sales: the segments of the published figure.
_THETAS = (67, 87, 25, 140)
# Rewards from 1 to 5 are sub-Gaussian with half their range (Hoeffding's lemma).
_SIGMA = 2.0


class _RatingCounts(NamedTuple):
    """All counts, before the split into halves."""

    segments: tuple[tuple[int, int], ...]
    """(age code, occupation code) of each row."""
    genres: tuple[str, ...]
    counts: NDArray[np.int64]
    """(segments, genres, stars)."""


def movielens(*, split_seed: int = 0, counts: str | PathLike[str] | None = None) -> Problem:
    """Return the problem with genres as arms and the visitor's age and occupation as θ.

    Parameters
    ----------
    split_seed
        Selects the random half of the ratings that is known; rewards come from the other half.
    counts
        A file of counts made by `structuredbandits movielens` from raw data; the embedded file if
        None.

    Notes
    -----
    A θ may be given as the pair of age group and occupation, as its printed label or a part of
    it that fits only one, or as the number 21 · (age group) + (occupation).
    """
    if isinstance(split_seed, bool) or not isinstance(split_seed, int) or split_seed < 0:
        raise InvalidInput(f"split_seed = {split_seed!r} is not a whole number from 0; give one.")
    table = _embedded() if counts is None else _read_file(Path(counts))
    known, other = _halves(table.counts, split_seed)
    # A segment without ratings of some genre, in either half, has no mean for it.
    complete = (known.sum(axis=2) > 0).all(axis=1) & (other.sum(axis=2) > 0).all(axis=1)
    kept = np.flatnonzero(complete).tolist()
    known, other = known[kept], other[kept]
    parameters = _parameters([table.segments[i] for i in kept])
    number = known.sum(axis=2)
    structure = Structure.from_table(
        known @ _STARS / number,
        parameters,
        table.genres,
        sigma=_SIGMA,
        name="movielens",
        counts=number,
        standard_errors=_standard_errors(known),
        prior=number.sum(axis=1),
    )
    return Problem(
        "movielens",
        structure,
        Ratings(other, _STARS, parameters, table.genres),
        tuple(theta for theta in _THETAS if parameters.contains(theta)),
        5_000,
        "Each arm is a genre of film, θ is the age group and occupation of an anonymous visitor, "
        "and a reward is the number of stars (1 to 5) that a visitor of that kind gave to a film "
        "of the genre. The means are learned from one half of the ratings; rewards are drawn, "
        "with replacement, from the other half.",
        "Recommend film genres to visitors of unknown age and occupation (MovieLens 1M)",
        CITATION,
    )


def _parameters(segments: list[tuple[int, int]]) -> Finite:
    order = {age: i for i, age in enumerate(_AGES)}
    return Finite(
        [(_AGES[age], _OCCUPATIONS[job]) for age, job in segments],
        names=("age", "occupation"),
        aliases=[21 * order[age] + job for age, job in segments],
    )


@cache
def _embedded() -> _RatingCounts:
    return _parse((files("structuredbandits.problems") / "data" / _FILE).read_text("utf-8"))


def _read_file(path: Path) -> _RatingCounts:
    try:
        return _parse(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be read ({error.strerror or error}).") from error
    except (KeyError, ValueError, TypeError):
        raise DamagedFile(
            f"{str(path)!r} holds no counts of ratings; make it with 'structuredbandits movielens'."
        ) from None


def _parse(text: str) -> _RatingCounts:
    rows = list(csv.DictReader(text.splitlines()))
    if not rows:
        raise ValueError("no rows")
    segments = sorted({(int(row["age"]), int(row["occupation"])) for row in rows})
    genres = sorted({row["genre"] for row in rows})
    counts = np.zeros((len(segments), len(genres), len(_STARS)), dtype=np.int64)
    positions = {segment: i for i, segment in enumerate(segments)}
    for row in rows:
        i = positions[int(row["age"]), int(row["occupation"])]
        stars = [int(row[f"stars_{star}"]) for star in range(1, 6)]
        counts[i, genres.index(row["genre"])] = stars
    counts.setflags(write=False)  # shared by all later calls
    return _RatingCounts(tuple(segments), tuple(genres), counts)


def _halves(counts: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split each segment's ratings at random into two halves, equal up to one rating.

    Drawing half of a segment's ratings without replacement, and then counting, is drawing the
    counts from a multivariate hypergeometric distribution.
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    first = np.empty_like(counts)
    for i, segment in enumerate(counts):
        flat = segment.ravel()
        drawn = generator.multivariate_hypergeometric(flat, int(flat.sum()) // 2)
        first[i] = drawn.reshape(segment.shape)
    return first, counts - first


def _standard_errors(counts: NDArray[np.int64]) -> FloatArray:
    """Return (segments, genres): the root of the pooled variance divided by the count.

    Many cells hold only a few ratings, too few for a variance of their own.
    """
    number = counts.sum(axis=2)
    means = counts @ _STARS / number
    squares = (counts * np.square(_STARS - means[:, :, np.newaxis])).sum()
    pooled = squares / (number.sum() - number.size)
    return np.asarray(np.sqrt(pooled / number))
