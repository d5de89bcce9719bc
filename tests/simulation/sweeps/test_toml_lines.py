"""Every key and element of a TOML text is found on its line."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.simulation.sweeps._toml_lines import lines_of

TEXT = '''\
runs = 5 # with a "quote" and [brackets]
until = '2%'
note = """
several = "lines"
[not.a.table]
"""
a.b."c d" = 1
seed = [
  1, # one
  2,

  3,
]

[[grid]]
problem = { name = "x", points = [
  1, 2] }
[[grid]]
theta = [[0.1, 0.2],
         [0.3, 0.4]]
[grid.deep]
key = "a \\" b # c"
[last]
x = 1979-05-27T07:32:00Z
'''


def test_lines_of_a_text_with_everything() -> None:
    lines = lines_of(TEXT)
    assert lines[("runs",)] == 1
    assert lines[("until",)] == 2
    assert lines[("note",)] == 3
    assert lines[("a", "b", "c d")] == 7
    assert [lines[("seed", place)] for place in range(3)] == [9, 10, 12]
    assert lines[("grid", 0)] == 15
    assert lines[("grid", 0, "problem", "name")] == 16
    assert lines[("grid", 0, "problem", "points", 1)] == 17
    assert lines[("grid", 1)] == 18
    assert lines[("grid", 1, "theta", 1, 0)] == 20
    assert lines[("grid", 1, "deep", "key")] == 22
    assert lines[("last", "x")] == 24
    assert ("several",) not in lines


def paths(value: Any, base: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found = {base} if base else set()
    for key, part in inner:
        found |= paths(part, (*base, key))
    return found


def test_every_path_of_the_text_has_a_line() -> None:
    assert paths(tomllib.loads(TEXT)) == set(lines_of(TEXT))


keys = st.text("abcXYZ_-019", min_size=1, max_size=6)
strings = st.text("ab#[]{},=.'\n\t é", max_size=8)
scalars = st.integers(-9, 9) | st.booleans() | strings | st.floats(-5, 5, allow_nan=False)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


def written(value: Any) -> str:
    """A value as TOML; JSON's strings and numbers are TOML's, too."""
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {written(part)}" for key, part in value.items())
        return "{" + inside + "}"
    if isinstance(value, list):
        return "[\n" + "".join(f"  {written(part)}, # ]\n" for part in value) + "]"
    return json.dumps(value)


@given(
    st.dictionaries(keys, values, max_size=5), st.lists(st.dictionaries(keys, values), max_size=3)
)
def test_any_document_has_a_line_for_every_path(
    top: dict[str, Any], tables: list[dict[str, Any]]
) -> None:
    top.pop("grid", None)
    text = "".join(f"\n# {key}\n{key} = {written(value)}\n" for key, value in top.items())
    for table in tables:
        text += "[[ grid ]] # a table\n"
        text += "".join(f"{key} = {written(value)}\n" for key, value in table.items())
    lines = lines_of(text)
    assert paths(tomllib.loads(text)) == set(lines)
    rows = text.split("\n")
    for key in top:
        assert rows[lines[(key,)] - 1].startswith(f"{key} = ")
