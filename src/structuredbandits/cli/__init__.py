"""The command line: one file a command, each a thin layer over the library.

This room reads what a user typed and shows what the library found. It must not compute anything
that a program could not get from the library itself.
"""

from structuredbandits.cli.app import main

__all__ = ["main"]
