"""Every public name has a docstring; an override may inherit it."""

import inspect
from collections.abc import Iterator

import structuredbandits


def public_members() -> Iterator[tuple[str, object]]:
    for name in structuredbandits.__all__:
        if name.startswith("__"):
            continue
        member = getattr(structuredbandits, name)
        yield name, member
        if not inspect.isclass(member) or issubclass(member, BaseException):
            continue
        for attribute, value in inspect.getmembers(member):
            own = getattr(value, "__module__", None) or getattr(
                getattr(value, "fget", None), "__module__", ""
            )
            if not attribute.startswith("_") and str(own).startswith("structuredbandits"):
                yield f"{name}.{attribute}", value


def test_every_public_name_has_a_docstring() -> None:
    named = dict(public_members())
    assert [name for name, member in named.items() if not inspect.getdoc(member)] == []
