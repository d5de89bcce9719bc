"""A structure as one file: written whole or not at all, and read without trusting it.

The file is a zip archive, not compressed, of `structure.json` and one `.npy` file for each array;
nothing in it is ever executed. This module knows paths only, not the names of embedded problems.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structuredbandits.errors import DamagedFile, FileError, InvalidInput, WrongVersion
from structuredbandits.structure.contents import Contents, contents_of
from structuredbandits.structure.models import Linear, MeanModel, Pieces
from structuredbandits.structure.parameters import parameters_from
from structuredbandits.structure.piecewise import PiecewiseLinear
from structuredbandits.structure.structure import Structure
from structuredbandits.structure.theta import FloatArray, brief

FORMAT = "structuredbandits.structure"
VERSION = 1
_HEADER = "structure.json"
_ARRAYS = ("sigma", "lower", "upper", "prior", "counts", "standard_errors", "features")
# The earliest date that a zip archive can hold: a real one would make equal structures differ.
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
        "version": VERSION,
        "name": structure.name,
        "digest": structure.digest,
    }
    data = _archive(Contents(header, contents.arrays))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def read_structure(path: str | PathLike[str]) -> Structure:
    """Read a structure from a file that `Structure.save` wrote.

    Raises
    ------
    FileError
        If there is no such file or it cannot be read.
    DamagedFile
        If it is not a structure, or not all of it is there.
    WrongVersion
        If another version of the library wrote it in a way that this one does not read.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise FileError(f"{source} cannot be read: {error.strerror}.") from error
    try:
        members = _members(data)
        header = _header(members, source)
        structure = _structure(header, members)
    except FileError:
        raise
    # What can go wrong inside a damaged file cannot be listed; all of it means the same.
    except Exception as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise _damaged(source, why or type(error).__name__) from error
    if structure.digest != header.get("digest"):
        raise _damaged(source, "its digest does not fit its contents")
    return structure


def _target(path: object) -> Path:
    if not isinstance(path, str | PathLike) or "\0" in str(path) or not Path(path).name:
        raise InvalidInput(f"{brief(path)} is no name of a file; give one such as 'my.structure'.")
    return Path(path)


def _damaged(source: Path, why: str) -> DamagedFile:
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
        for entry in archive.infolist():
            # We never compress, so a small file cannot unpack into a huge one.
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(data):
                raise ValueError(f"{entry.filename} is compressed")
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def _header(members: Mapping[str, bytes], source: Path) -> dict[str, Any]:
    if _HEADER not in members:
        raise ValueError(f"{_HEADER} is missing")
    header = json.loads(members[_HEADER])
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"it does not say that it is a {FORMAT}")
    version = header.get("version")
    if type(version) is not int or version != VERSION:
        raise WrongVersion(
            f"{source} is of version {version!r} and this library reads version {VERSION}; "
            "install the version that wrote it, or save it again."
        )
    return header


def _array(members: Mapping[str, bytes], name: str) -> FloatArray | None:
    if f"{name}.npy" not in members:
        return None
    data = members[f"{name}.npy"]
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name}.npy is of another version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    # Compared before anything is allocated: the header may claim any size.
    wanted = int(np.prod([int(n) for n in shape], dtype=object)) * 8
    if fortran or dtype != np.dtype("<f8") or len(data) - stream.tell() != wanted:
        raise ValueError(f"{name}.npy does not hold what it says")
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
        )
    except InvalidInput as error:
        raise ValueError(str(error)) from error


def _claimed_points(description: Mapping[str, Any]) -> int:
    """Return the size of Θ before it is built, since a damaged number could be huge."""
    points = description.get("points", 0)
    return int(np.prod(points, dtype=object)) if isinstance(points, list) else int(points)


def _model(header: Mapping[str, Any], features: FloatArray | None) -> MeanModel | None:
    if header["pieces"] is not None:
        pieces = [PiecewiseLinear([(t, v) for t, v in piece]) for piece in header["pieces"]]
        return Pieces(pieces, header["arms"])
    return None if features is None else Linear(features, header["link"])
