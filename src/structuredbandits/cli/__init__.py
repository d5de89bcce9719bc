"""The command line: one file per command, each a thin layer over the library.

Everything that a command computes is available from Python as well.
"""

from structuredbandits.cli.main import main

__all__ = ["main"]
