"""Files: what is saved comes back, equal structures give equal bytes, and no damage gets in."""

import contextlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from structuredbandits.errors import DamagedFile, FileError, WrongVersion
from structuredbandits.structure import (
    Box,
    Finite,
    Interval,
    PiecewiseLinear,
    Structure,
    read_structure,
)
from tests.structure.curves import functions

finite_floats = st.floats(-1e9, 1e9)


@st.composite
def structures(draw: st.DrawFn) -> Structure:
    number, arms = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    shape = (number, arms)
    lower = draw(hnp.arrays(float, shape, elements=finite_floats))
    width = draw(hnp.arrays(float, shape, elements=st.floats(0, 10)))
    words = st.text(
        st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=8
    ).filter(str.strip)
    some = st.booleans()
    options: dict[str, Any] = {
        "minimize": draw(some),
        "name": draw(st.none() | words),
        "sigma": draw(hnp.arrays(float, arms, elements=st.floats(1e-6, 1e6))),
        "arms": draw(st.lists(words, min_size=arms, max_size=arms, unique=True)),
    }
    if draw(some):
        options["prior"] = draw(hnp.arrays(float, number, elements=st.floats(0.01, 1)))
    if draw(some):
        options["counts"] = draw(hnp.arrays(float, shape, elements=st.integers(0, 1000)))
    if draw(some):
        options["standard_errors"] = draw(hnp.arrays(float, shape, elements=st.floats(0, 10)))
    members = st.one_of(
        st.lists(finite_floats, min_size=number, max_size=number, unique=True),
        st.lists(words, min_size=number, max_size=number, unique=True),
        st.lists(st.tuples(words, words), min_size=number, max_size=number, unique=True),
    )
    parameters = Finite(draw(members))
    if draw(some):
        return Structure.from_table(lower, parameters, **options)
    return Structure.from_bounds(lower, lower + width, parameters, **options)


def same(one: Structure, other: Structure) -> None:
    assert one == other
    assert one.digest == other.digest
    assert one.name == other.name
    assert one.exact == other.exact
    assert one.parameters == other.parameters
    assert one.pieces == other.pieces
    for name in ("means", "lower", "upper", "sigma", "prior", "counts", "standard_errors"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(structures())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, structure: Structure) -> None:
    path = tmp_path_factory.mktemp("round") / "a.structure"
    structure.save(path)
    again = read_structure(path)
    same(again, structure)
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first


@given(functions(), functions(), st.booleans(), st.floats(0, 6))
def test_round_trip_of_pieces(
    tmp_path_factory: pytest.TempPathFactory,
    f: PiecewiseLinear,
    g: PiecewiseLinear,
    sound: bool,
    theta: float,
) -> None:
    structure = Structure.from_breakpoints({"f": f, "g": g}, sigma=1, points=11, sound=sound)
    path = tmp_path_factory.mktemp("pieces") / "a.structure"
    structure.save(path)
    again = read_structure(path)
    same(again, structure)
    np.testing.assert_array_equal(again.means_at(theta), structure.means_at(theta))


@pytest.mark.parametrize("link", [None, "logistic"])
def test_round_trip_of_features(tmp_path: Path, link: str | None) -> None:
    box = Box([(-1, 1), (0, 2)], points=[3, 4])
    structure = Structure.linear([[1, 2], [0.1, 3]], box, sigma=1, link=link)
    structure.save(tmp_path / "a")
    again = read_structure(tmp_path / "a")
    same(again, structure)
    assert again.link == link
    np.testing.assert_array_equal(again.means_at((0.3, 0.7)), structure.means_at((0.3, 0.7)))


def test_functions_are_interpolated_after_loading(tmp_path: Path) -> None:
    functions = {"a": lambda t: t**2, "b": lambda t: 1 - t}
    structure = Structure.from_functions(functions, Interval(0, 1, points=3), sigma=1)
    structure.save(tmp_path / "a")
    again = read_structure(tmp_path / "a")
    assert again == structure
    assert structure.means_at(0.25).tolist() == [0.0625, 0.75]
    assert again.means_at(0.25).tolist() == [0.125, 0.75]


def example() -> Structure:
    labels = Finite([("18-24", "student"), ("25-34", "artist")], names=("a", "b"), aliases=[4, 5])
    return Structure.from_bounds(
        [[1, 2], [3, 4]],
        [[2, 3], [3, 5]],
        labels,
        ["Drama", "Ξ"],
        sigma=[1, 2],
        prior=[1, 2],
        counts=[[1, 2], [3, 4]],
        standard_errors=[[0.1, 0.2], [0.3, 0.4]],
        minimize=True,
        name="e",
    )


def test_everything_is_kept(tmp_path: Path) -> None:
    example().save(tmp_path / "a")
    again = read_structure(str(tmp_path / "a"))
    same(again, example())
    assert again.minimize
    assert again.arms == ("Drama", "Ξ")
    assert again.parameters.index(5) == 1


def test_the_date_is_not_in_the_file(tmp_path: Path) -> None:
    example().save(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_file_appears_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.structure"
    example().save(path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"a\.structure cannot be written: No space left"):
        example().with_(name="new").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_the_file_as_far_as_the_umask_allows(tmp_path: Path) -> None:
    example().save(tmp_path / "a")
    (tmp_path / "b").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"]
    assert modes[0] == modes[1]


def test_places_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written: No such file or directory"):
        example().save(tmp_path / "missing" / "a")
    with pytest.raises(FileError, match="cannot be read: No such file or directory"):
        read_structure(tmp_path / "missing")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        read_structure(tmp_path)


def rewritten(
    tmp_path: Path,
    header: Callable[[dict[str, Any]], Any] = lambda header: header,
    members: Callable[[dict[str, bytes]], dict[str, bytes]] = lambda members: members,
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    """A file of the example with something changed in it, otherwise a faultless archive."""
    path = tmp_path / "a.structure"
    example().save(path)
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held["structure.json"] = json.dumps(header(json.loads(held["structure.json"]))).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members(held).items():
            archive.writestr(name, data)
    return path


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda held: {key: value for key, value in held.items() if key != name}


def test_an_archive_that_was_only_packed_anew_is_read(tmp_path: Path) -> None:
    same(read_structure(rewritten(tmp_path)), example())


@pytest.mark.parametrize("version", [0, 3, "1", None, 1.0, True])
def test_another_version(tmp_path: Path, version: Any) -> None:
    path = rewritten(tmp_path, header=lambda held: {**held, "version": version})
    with pytest.raises(
        WrongVersion, match=r"a\.structure has format version .* reads versions 1 to 2"
    ):
        read_structure(path)


HUGE = {"kind": "interval", "ends": [0, 1], "points": 99_999_999, "include": []}


@pytest.mark.parametrize(
    "change",
    [
        {"header": lambda held: [held]},
        {"header": lambda held: {**held, "format": "other"}},
        {"header": without("arms")},
        {"header": without("digest")},
        {"header": without("parameters")},
        {"header": lambda held: {**held, "digest": "0" * 16}},
        {"header": lambda held: {**held, "arms": ["Drama", "Drama"]}},
        {"header": lambda held: {**held, "arms": ["Drama", "Crime"]}},
        {"header": lambda held: {**held, "arms": 3}},
        {"header": lambda held: {**held, "minimize": False}},
        {"header": lambda held: {**held, "parameters": {"kind": "ball"}}},
        {"header": lambda held: {**held, "parameters": [1]}},
        {"header": lambda held: {**held, "parameters": HUGE}},
        {"header": lambda held: {**held, "pieces": [[[0, 1], [1, 2]]]}},
        {"members": without("structure.json")},
        {"members": without("lower.npy")},
        {"members": without("upper.npy")},
        {"members": without("sigma.npy")},
        {"members": without("prior.npy")},
        {"members": lambda held: {**held, "structure.json": b"{"}},
        {"members": lambda held: {**held, "structure.json": b"\xff\xfe"}},
        {"members": lambda held: {**held, "lower.npy": b""}},
        {"members": lambda held: {**held, "lower.npy": held["lower.npy"][:-1]}},
        {"members": lambda held: {**held, "lower.npy": held["lower.npy"] + b"x"}},
        {"members": lambda held: {**held, "lower.npy": npy(np.ones((2, 3)))}},
        {"members": lambda held: {**held, "lower.npy": npy(np.ones((2, 2), dtype="f4"))}},
        {"members": lambda held: {**held, "lower.npy": npy(np.asfortranarray(np.eye(2)))}},
        {"members": lambda held: {**held, "lower.npy": npy(np.full((2, 2), np.nan))}},
        {"members": lambda held: {**held, "lower.npy": npy(np.full((2, 2), 99.0))}},
        {"members": lambda held: {**held, "sigma.npy": npy(np.zeros(2))}},
        {"members": lambda held: {**held, "sigma.npy": npy(np.array([{}], object))}},
        {"members": lambda held: {**held, "prior.npy": npy(np.ones(3))}},
        {"compression": zipfile.ZIP_DEFLATED},
    ],
)
def test_damage_inside(tmp_path: Path, change: dict[str, Any]) -> None:
    path = rewritten(tmp_path, **change)
    with pytest.raises(DamagedFile, match=r"a\.structure is not a complete structure file") as info:
        read_structure(path)
    assert "\n" not in str(info.value)
    assert str(info.value).endswith("; save it again.")


def test_an_array_that_claims_to_be_huge_is_not_allocated(tmp_path: Path) -> None:
    data = npy(np.ones((2, 2)))
    claim = data.replace(b"(2, 2), }" + b" " * 12, b"(99999999999, 2), }  ")
    assert len(claim) == len(data)
    assert claim != data
    path = rewritten(tmp_path, members=lambda held: {**held, "lower.npy": claim})
    with pytest.raises(DamagedFile, match=r"lower\.npy does not match its header"):
        read_structure(path)


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip", b"\x80\x04K\x01.", bytes(1000)])
def test_other_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match="is not a complete structure file"):
        read_structure(path)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    example().save(path)
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(DamagedFile):
            read_structure(path)


@given(st.data())
def test_a_flipped_bit_never_changes_a_structure(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("flip") / "a"
    example().save(path)
    held = bytearray(path.read_bytes())
    where = data.draw(st.integers(0, len(held) - 1))
    held[where] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(held)
    # Some bits do not matter, such as those of a date; then the structure is the same.
    with contextlib.suppress(DamagedFile, WrongVersion):
        same(read_structure(path), example())
