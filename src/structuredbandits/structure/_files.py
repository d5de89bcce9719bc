"""Structure files: written atomically, and read without trusting their contents.

A file is an uncompressed zip archive of `structure.json` and one `.npy` file per array; nothing in
it is ever executed.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structuredbandits._atomic_write import write_atomically
from structuredbandits.errors import (
    DamagedFile,
    FileError,
    InvalidInput,
    InvalidParameter,
    WrongVersion,
)
from structuredbandits.structure._digest import Contents, contents_of
from structuredbandits.structure._finite import Finite
from structuredbandits.structure._grids import Box, Interval
from structuredbandits.structure._mean_models import Linear, MeanModel, Pieces
from structuredbandits.structure._piecewise import PiecewiseLinear
from structuredbandits.structure.parameters import FloatArray, Parameters, brief
from structuredbandits.structure.reward_family import Rewards
from structuredbandits.structure.structure import Structure
from structuredbandits.structure.zip_entries import check_entries

FORMAT = "structuredbandits.structure"
VERSION = 2
# The version of files that need nothing newer, so that older libraries read them too.
_FIRST_VERSION = 1
_HEADER = "structure.json"
_ARRAYS = ("sigma", "lower", "upper", "prior", "counts", "standard_errors", "features", "noise")
# The earliest date that a zip archive can hold: a real date would make equal structures differ.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def write_structure(structure: Structure, path: str | PathLike[str]) -> None:
    """Write a structure to a file; equal structures give equal bytes.

    The file appears only when it is complete; an older one under the same name is replaced.
    """
    target = _target(path)
    contents = contents_of(structure)
    header = {
        **contents.header,
        "format": FORMAT,
        "version": VERSION if _needs_version_2(contents) else _FIRST_VERSION,
        "name": structure.name,
        "digest": structure.digest,
    }
    data = _archive(Contents(header, contents.arrays))
    try:
        write_atomically(target, data)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}.") from error


def _needs_version_2(contents: Contents) -> bool:
    return not {"rewards", "length"}.isdisjoint(contents.header) or "noise" in contents.arrays


def read_structure(path: str | PathLike[str]) -> Structure:
    """Read a structure from a file that `Structure.save` wrote.

    Raises
    ------
    FileError
        If there is no such file or it cannot be read.
    DamagedFile
        If it is not a structure file, or is incomplete.
    WrongVersion
        If it was written in the format of another version of the library.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise FileError(f"{source} cannot be read: {error.strerror}.") from error
    return structure_from_bytes(data, str(source))


def structure_from_bytes(data: bytes, source: str = "the file") -> Structure:
    """Read a structure from the contents of a file, which need not be trusted.

    Parameters
    ----------
    data
        The whole file.
    source
        What error messages call it.

    Raises
    ------
    DamagedFile, WrongVersion
        As `read_structure`.
    """
    try:
        members = _members(data)
        header = _header(members, source)
        structure = _structure(header, members)
    except FileError:
        raise
    # A damaged file can fail in countless ways; all of them mean the same.
    except Exception as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise _damaged(source, why or type(error).__name__) from error
    if structure.digest != header.get("digest"):
        raise _damaged(source, "its digest does not fit its contents")
    return structure


def _target(path: object) -> Path:
    if not isinstance(path, str | PathLike) or "\0" in str(path) or not Path(path).name:
        raise InvalidInput(f"{brief(path)} is not a file name; give one such as 'my.structure'.")
    return Path(path)


def _damaged(source: str, why: str) -> DamagedFile:
    reason = " ".join(why.split()).rstrip(".")
    return DamagedFile(f"{source} is not a complete structure file ({reason}); save it again.")


def _archive(contents: Contents) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _NO_DATE), contents.header_bytes)
        for name in _ARRAYS:
            if name in contents.arrays:
                array = io.BytesIO()
                little = np.ascontiguousarray(contents.arrays[name], dtype="<f8")
                np.lib.format.write_array(array, little, version=(1, 0), allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy", _NO_DATE), array.getvalue())
    return buffer.getvalue()


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_entries(archive, len(data))
        for entry in archive.infolist():
            # Structure files are never compressed, so a small file cannot unpack into a huge one.
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise ValueError(f"{entry.filename[:80]} is compressed")
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def _header(members: Mapping[str, bytes], source: str) -> dict[str, Any]:
    if _HEADER not in members:
        raise ValueError(f"{_HEADER} is missing")
    header = json.loads(members[_HEADER])
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    version = header.get("version")
    if type(version) is not int or not _FIRST_VERSION <= version <= VERSION:
        raise WrongVersion(
            f"{source} has format version {version!r} but this library reads versions "
            f"{_FIRST_VERSION} to {VERSION}; "
            "install the library version that wrote it, or save it again."
        )
    return header


def _array(members: Mapping[str, bytes], name: str) -> FloatArray | None:
    if f"{name}.npy" not in members:
        return None
    data = members[f"{name}.npy"]
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name}.npy has another version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    # Compared before anything is allocated: the header may claim any size.
    wanted = int(np.prod([int(n) for n in shape], dtype=object)) * 8
    if fortran or dtype != np.dtype("<f8") or len(data) - stream.tell() != wanted:
        raise ValueError(f"{name}.npy does not match its header")
    return np.frombuffer(data, dtype="<f8", offset=stream.tell()).reshape(shape)


def _structure(header: Mapping[str, Any], members: Mapping[str, bytes]) -> Structure:
    arrays = {name: _array(members, name) for name in _ARRAYS}
    lower, sigma = arrays["lower"], arrays["sigma"]
    if lower is None or sigma is None:
        raise ValueError("an array is missing")
    if _claimed_points(header["parameters"]) > 2 * lower.size + 2:
        raise ValueError("Θ is larger than its means")
    try:
        return Structure(
            lower,
            lower if arrays["upper"] is None else arrays["upper"],
            parameters=parameters_from(header["parameters"]),
            arms=header["arms"],
            sigma=sigma,
            model=_model(header, arrays["features"]),
            minimize=header["minimize"],
            name=header["name"],
            prior=arrays["prior"],
            counts=arrays["counts"],
            standard_errors=arrays["standard_errors"],
            rewards=_rewards(header.get("rewards")),
            noise=arrays["noise"],
            length=header.get("length"),
        )
    except InvalidInput as error:
        raise ValueError(str(error)) from error


def _rewards(description: Mapping[str, Any] | None) -> Rewards:
    if description is None:
        return Rewards()
    low, high = zip(*description["limits"], strict=True)
    return Rewards(description["family"], tuple(map(float, low)), tuple(map(float, high)))


def _claimed_points(description: Mapping[str, Any]) -> int:
    """Return the size of Θ before it is built; in a damaged file it could be huge."""
    points = description.get("points", 0)
    return int(np.prod(points, dtype=object)) if isinstance(points, list) else int(points)


def _model(header: Mapping[str, Any], features: FloatArray | None) -> MeanModel | None:
    if header["pieces"] is not None:
        pieces = [PiecewiseLinear([(t, v) for t, v in piece]) for piece in header["pieces"]]
        return Pieces(pieces, header["arms"])
    return None if features is None else Linear(features, header["link"])


def parameters_from(description: Mapping[str, Any]) -> Parameters:
    """Make a set Θ from the result of its `describe`.

    Examples
    --------
    >>> parameters_from(Interval(0, 6, points=7).describe())
    Interval(0.0, 6.0, points=7)
    """
    kind = description.get("kind")
    if kind == "interval":
        low, high = description["ends"]
        return Interval(low, high, points=description["points"], include=description["include"])
    if kind == "box":
        return Box([tuple(side) for side in description["sides"]], points=description["points"])
    if kind == "finite":
        values = [tuple(v) if isinstance(v, list) else v for v in description["values"]]
        return Finite(values, names=description["names"], aliases=description["aliases"])
    raise InvalidParameter(
        f"kind = {kind!r} is not a kind of Θ; use 'finite', 'interval' or 'box'."
    )
