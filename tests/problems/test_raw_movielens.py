"""Raw files become counts; errors in them are reported with file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.problems.raw_movielens import count_ratings, write_counts

GENRES = ("Action", "Comedy", "Drama")


def write_raw(folder: Path, ratings: list[tuple[int, int, int]] | None = None) -> Path:
    """Two segments, three movies of one genre and one of two; 300 and 20 ratings."""
    folder.mkdir(exist_ok=True)
    (folder / "users.dat").write_text("1::F::18::4::55455\n2::M::56::14::02460\n", "latin-1")
    (folder / "movies.dat").write_bytes(
        "1::Café (1999)::Action\n2::B (2000)::Comedy\n3::C (2001)::Drama\n"
        "4::D (2002)::Action|Drama\n".encode("latin-1")
    )
    if ratings is None:
        ratings = [(1, 1 + i % 4, 1 + i % 5) for i in range(300)]
        ratings += [(2, 1, 5)] * 20
    lines = [f"{user}::{movie}::{stars}::978300760" for user, movie, stars in ratings]
    (folder / "ratings.dat").write_text("\n".join(lines) + "\n", "latin-1")
    return folder


def test_ratings_are_counted_under_one_genre_a_movie(tmp_path: Path) -> None:
    counted = count_ratings(write_raw(tmp_path / "raw"))
    assert (counted.users, counted.movies, counted.ratings) == (2, 4, 320)
    assert counted.segments == 1  # the other has too few ratings
    assert [row[:3] for row in counted.rows] == [(18, 4, genre) for genre in GENRES]
    numbers = np.array([row[3:] for row in counted.rows])
    assert numbers.sum() == 300
    assert numbers[1].sum() == 75
    assert sorted(numbers.sum(axis=1).tolist()) == [75, 75, 150]


def test_the_seed_draws_the_genre(tmp_path: Path) -> None:
    folder = write_raw(tmp_path / "raw")
    drawn = {count_ratings(folder, seed=seed).rows[0][3:] for seed in range(12)}
    assert len(drawn) == 2
    assert count_ratings(folder, seed=3) == count_ratings(folder, seed=3)


def test_the_counts_make_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    write_counts(count_ratings(write_raw(tmp_path / "raw")), path)
    problem = sb.load_problem("movielens", counts=path)
    assert problem.structure.arms == GENRES
    assert problem.structure.n_parameters == 1
    results = sb.simulate(problem, "ucb-c", theta=25, horizon=20, runs=1)
    assert results.pulls.sum() == 20


def test_the_embedded_counts_have_the_same_form(tmp_path: Path) -> None:
    from structuredbandits.problems._movielens import _embedded

    path = tmp_path / "counts.csv"
    write_counts(count_ratings(write_raw(tmp_path / "raw")), path)
    assert path.read_text().splitlines()[0] == "age,occupation,genre," + ",".join(
        f"stars_{stars}" for stars in range(1, 6)
    )
    assert _embedded().counts.sum() == 999_207


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("ratings.dat", "1::1::5\n", "ratings.dat, line 1: 3 fields"),
        ("ratings.dat", "1::1::6::0\n", "line 1: the rating is 6"),
        ("ratings.dat", "1::1::five::0\n", "line 1: the rating is 'five'"),
        ("ratings.dat", "1::1::5::0\n9::1::5::0\n", "line 2: user 9 is not in users.dat"),
        ("ratings.dat", "1::9::5::0\n", "line 1: movie 9 is not in movies.dat"),
        ("users.dat", "1::F::19::4::0\n", "users.dat, line 1: the age is 19"),
        ("users.dat", "1::F::18::21::0\n", "line 1: the occupation is 21"),
        ("users.dat", "1,F,18,4,0\n", "line 1: 1 fields"),
        ("movies.dat", "1::A (1999)::\n", "movies.dat, line 1: the movie has no genre"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, name: str, text: str, reason: str) -> None:
    folder = write_raw(tmp_path / "raw")
    (folder / name).write_text(text, "latin-1")
    with pytest.raises(sb.DamagedFile, match=reason):
        count_ratings(folder)


@pytest.mark.parametrize("name", ["users.dat", "movies.dat", "ratings.dat"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = write_raw(tmp_path / "raw")
    (folder / name).unlink()
    with pytest.raises(sb.FileError, match=name):
        count_ratings(folder)


def test_counts_that_are_none_are_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "counts.csv"
    wrong.write_text("a,b\n1,2\n")
    with pytest.raises(sb.DamagedFile, match="holds no counts"):
        sb.load_problem("movielens", counts=wrong)
    with pytest.raises(sb.FileError, match="cannot be read"):
        sb.load_problem("movielens", counts=tmp_path / "none.csv")


def test_the_command_says_what_it_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_raw(tmp_path / "raw")
    target = tmp_path / "counts.csv"
    assert run(["movielens", str(folder), "-o", str(target)]) == 0
    assert "320 ratings of 4 movies by 2 users; 1 segments" in capsys.readouterr().out
    assert target.exists()
    assert run(["movielens", str(tmp_path / "nowhere")]) == 2
    assert "there is no folder" in capsys.readouterr().err
