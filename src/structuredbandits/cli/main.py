"""The command `structuredbandits`: its subcommands, error messages and exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, TextIO

import typer

from structuredbandits._version import __version__
from structuredbandits.cli.analyze import ANALYZE_EXAMPLES, analyze
from structuredbandits.cli.audit import AUDIT_EXAMPLES, audit
from structuredbandits.cli.backup import BACKUP_EXAMPLES, RESTORE_EXAMPLES, backup, restore
from structuredbandits.cli.doctor import DOCTOR_EXAMPLES, doctor
from structuredbandits.cli.evaluate import EVALUATE_EXAMPLES, evaluate
from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.keys import keys
from structuredbandits.cli.learn import LEARN_EXAMPLES, learn
from structuredbandits.cli.lift import LIFT_EXAMPLES, lift
from structuredbandits.cli.movielens import MOVIELENS_EXAMPLES, movielens
from structuredbandits.cli.policies import policies
from structuredbandits.cli.problems import problems
from structuredbandits.cli.recommend import RECOMMEND_EXAMPLES, recommend
from structuredbandits.cli.reproduce import REPRODUCE_EXAMPLES, reproduce
from structuredbandits.cli.serve import SERVE_EXAMPLES, serve
from structuredbandits.cli.simulate import SIMULATE_EXAMPLES, simulate
from structuredbandits.cli.sweep import SWEEP_EXAMPLES, sweep
from structuredbandits.errors import Interrupted, StructuredBanditsError, StructureWarning

NAME = "structuredbandits"
# An error message is longer only if a file's content was given as a name.
_LONGEST_LINE = 800
_OK, _NO_READER, _BAD_INPUT, _INTERRUPTED = 0, 1, 2, 130
# Typer's base class of errors in options and arguments: its module depends on the release.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name=NAME,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        f"{NAME} problems",
        f"{NAME} simulate three-arms",
        f'{NAME} simulate movielens --theta "18-24 artist" --out results',
    ),
)
app.command(epilog=ANALYZE_EXAMPLES)(analyze)
app.command(epilog=SIMULATE_EXAMPLES)(simulate)
app.command(epilog=SWEEP_EXAMPLES)(sweep)
app.command(epilog=LEARN_EXAMPLES)(learn)
app.command(epilog=EVALUATE_EXAMPLES)(evaluate)
app.command(epilog=LIFT_EXAMPLES)(lift)
app.command(epilog=RECOMMEND_EXAMPLES)(recommend)
app.command(epilog=SERVE_EXAMPLES, context_settings={"auto_envvar_prefix": "STRUCTUREDBANDITS"})(
    serve
)
app.add_typer(keys)
app.command(epilog=AUDIT_EXAMPLES)(audit)
app.command(epilog=DOCTOR_EXAMPLES)(doctor)
app.command(epilog=BACKUP_EXAMPLES)(backup)
app.command(epilog=RESTORE_EXAMPLES)(restore)
app.command(epilog=REPRODUCE_EXAMPLES)(reproduce)
app.command(epilog=MOVIELENS_EXAMPLES)(movielens)
app.command()(problems)
app.command()(policies)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Structured bandits: choose among options whose rewards depend on one hidden visitor type.

    Simulate policies on an embedded problem or on your own structure, learn a structure from a log,
    and serve decisions over HTTP.
    """
    if version:
        print(f"{NAME} {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process.

    Exit codes: 0 success, 1 the output was closed, 2 bad input (one sentence on the error stream),
    130 interrupted.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without θ in its character set does not stop a simulation.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("always", StructureWarning)
            code = typer.main.get_command(app).main(
                args=list(arguments), prog_name=NAME, standalone_mode=False
            )
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed our output, as in `... | head`. Python writes the rest of its buffer
        # when it closes the stream, so the stream is redirected.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NO_READER
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        return _complain(sentence)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    return _interrupted() if code == _INTERRUPTED else int(code or _OK)


def _sentence(error: Exception) -> str | None:
    """The message for an error of the user or the machine; None for a bug of the library."""
    if isinstance(error, Interrupted | typer.Abort):
        return ""
    if isinstance(error, StructuredBanditsError):
        return str(error)
    if isinstance(error, _UsageError):
        return _usage(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory; give fewer --runs or a shorter --horizon."
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}."
    return None


def _usage(error: Any) -> str:
    path = getattr(error.ctx, "command_path", NAME)
    return f"{error.format_message().rstrip('.')} (see '{path} --help')."


def _complain(sentence: str) -> int:
    if not sentence:
        return _interrupted()
    # The rest of a partly printed table is shown before the message, not after it.
    _try_to_flush(sys.stdout)
    line = " ".join(sentence.split())
    if len(line) > _LONGEST_LINE:
        half = _LONGEST_LINE // 2
        line = f"{line[:half]} ... {line[-half:]}"
    print(f"error: {line}", file=sys.stderr)
    return _BAD_INPUT


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return _INTERRUPTED


def _try_to_flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _show_warning(message: Warning | str, *_details: Any, **_more: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)
