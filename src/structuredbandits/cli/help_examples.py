"""The examples at the end of a command's help."""

from __future__ import annotations


def examples(*commands: str) -> str:
    """An epilog for Typer with one command per line.

    Examples
    --------
    >>> examples("wash --warm", "dry").splitlines()[1:]
    ['Examples:', '  wash --warm', '  dry']
    """
    # Typer does not wrap a paragraph that begins with a backspace character.
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])
