"""Progress of long work: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TextIO

Mode = Literal["auto", "lines", "off"]
_PATIENCE_SECONDS = 2.0
_SECONDS_BETWEEN_LINES = 10.0


class Reporter(Protocol):
    """Receives the progress of long work."""

    def advance(self, steps: int = 1) -> None:
        """Record this many further steps."""

    def note(self, text: str) -> None:
        """Show a line of text."""


class Silence:
    """Shows nothing."""

    def advance(self, steps: int = 1) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


class PlainLines:
    """A plain line every ten seconds, for logs."""

    def __init__(self, title: str, total: int, stream: TextIO) -> None:
        self._title, self._total, self._stream = title, total, stream
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        """Record this many further steps."""
        self._done += steps
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES and self._done < self._total:
            self._last = now
            left = (now - self._start) / self._done * (self._total - self._done)
            share = 100.0 * self._done / self._total
            self.note(f"{self._title}: {share:.0f} %, about {left:.0f} s left")

    def note(self, text: str) -> None:
        """Show a line of text."""
        self._stream.write(text + "\n")
        self._stream.flush()


class ProgressBar:
    """A rich bar with the time left; it appears when work takes longer than two seconds."""

    def __init__(self, title: str, total: int, stream: TextIO) -> None:
        self._title, self._total, self._stream = title, total, stream
        self._done = 0
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def advance(self, steps: int = 1) -> None:
        """Record this many further steps."""
        self._done += steps
        if self._bar is None and time.monotonic() - self._start > _PATIENCE_SECONDS:
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def note(self, text: str) -> None:
        """Show a line of text."""
        if self._bar is None:
            self._open()
        self._bar.console.print(text, highlight=False)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
        )
        self._task = self._bar.add_task(self._title, total=self._total, completed=self._done)
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def reporting(mode: Mode, title: str, total: int) -> Iterator[Reporter]:
    """Yield a reporter for work of ``total`` steps.

    ``auto`` shows a bar if the error stream is a terminal and nothing otherwise; ``lines`` shows a
    bar on a terminal and plain lines elsewhere.
    """
    stream = sys.stderr
    if mode == "off" or (mode == "auto" and not stream.isatty()):
        yield Silence()
    elif stream.isatty():
        bar = ProgressBar(title, total, stream)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield PlainLines(title, total, stream)


@contextmanager
def announcing_compilation(reporter: Reporter) -> Iterator[None]:
    """Show one line when code has to be compiled, which takes seconds and is stored."""
    from numba.core import event

    class Announcer(event.Listener):  # type: ignore[misc]  # Numba is untyped
        announced = False

        def on_start(self, _event: Any) -> None:
            if not self.announced:
                self.announced = True
                reporter.note("compiling policies for this machine (once; a few seconds each) ...")

        def on_end(self, _event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Announcer()):
        yield
