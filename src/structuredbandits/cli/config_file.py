"""Reads the options of a command from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import typer


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Use the values of a file as defaults of a command's options.

    An option on the command line wins over an environment variable, which wins over the file.
    """
    if path is None:
        return None
    from structuredbandits.errors import FileError, InvalidInput, suggestion

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path} is not a TOML file: {error}.") from error
    known = [one.name for one in context.command.params if one.name not in (None, "config")]
    names = [str(name) for name in known]
    chosen: dict[str, object] = {}
    for given, value in content.items():
        name = given.replace("-", "_")
        if name not in names:
            raise InvalidInput(f"{path} has an option {given!r}; {suggestion(name, names)}.")
        if not isinstance(value, str | int | float):
            raise InvalidInput(f"{path}: {given} is {value!r}; give a text, a number or true.")
        chosen[name] = value if isinstance(value, bool) else str(value)
    context.default_map = {**(context.default_map or {}), **chosen}
    return path
