"""A process that has imported the service and forks one server for each line that it reads.

Importing takes a second and forking a millisecond, so a test can kill a server fifty times. What is
forked is an ordinary `structuredbandits serve` from its command line on, with its own session.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import traceback


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def serve(arguments: list[str], log: str, files: int | None) -> None:
    """Become the server, which may open this many files; never returns."""
    os.setsid()
    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
    from structuredbandits.cli import main

    code: int | str | None = 1
    try:
        code = main(["serve", *arguments])
    except SystemExit as left:
        code = left.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def prepare() -> None:
    """Import and compile everything that a server needs, without a thread or a connection left."""
    for module in ("uvloop", "httptools", "structuredbandits.cli.serve"):
        importlib.import_module(module)
    from structuredbandits.problems import load_structure
    from structuredbandits.service import server
    from structuredbandits.service.decisions.chooser import Chooser
    from structuredbandits.service.storage import migrate
    from structuredbandits.service.storage.database import database_url

    assert server
    Chooser(load_structure("movielens"), "hierarchical", horizon=None, floor=0.0)
    Chooser(load_structure("three-arms"), "ts", horizon=None, floor=0.0)
    with tempfile.TemporaryDirectory() as folder:
        migrate(database_url(f"{folder}/empty.db"))


def run() -> None:
    """Read what to serve, answer with the process's number."""
    # Nobody waits for a killed server, so the kernel must not keep it.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    prepare()
    say("ready")
    for line in sys.stdin:
        wanted = json.loads(line)
        number = os.fork()
        if number == 0:
            serve(wanted["arguments"], wanted["log"], wanted["files"])
        say(str(number))


if __name__ == "__main__":
    run()
