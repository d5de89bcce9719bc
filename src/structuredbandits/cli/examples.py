"""How a command's help ends: with commands that can be copied.

This module knows how Typer keeps lines apart. It must not know the commands.
"""

from __future__ import annotations


def examples(*commands: str) -> str:
    """An epilog for Typer with one command a line.

    Examples
    --------
    >>> examples("wash --warm", "dry").splitlines()[1:]
    ['Examples:', '  wash --warm', '  dry']
    """
    # A paragraph that begins with a backspace character is not wrapped.
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])
