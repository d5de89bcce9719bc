"""Telling how far long work is: a bar on a terminal, plain lines elsewhere, or nothing."""

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
    """What long work tells."""

    def advance(self, steps: int = 1) -> None:
        """So many steps more are done."""

    def note(self, text: str) -> None:
        """Something worth a line."""


class Silence:
    """Tells nothing."""

    def advance(self, steps: int = 1) -> None:
        """Nothing to tell."""

    def note(self, text: str) -> None:
        """Nothing to tell."""


class Lines:
    """A plain line now and then, for logs."""

    def __init__(self, title: str, total: int, stream: TextIO) -> None:
        self._title, self._total, self._stream = title, total, stream
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        """So many steps more are done."""
        self._done += steps
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES and self._done < self._total:
            self._last = now
            left = (now - self._start) / self._done * (self._total - self._done)
            share = 100.0 * self._done / self._total
            self.note(f"{self._title}: {share:.0f} %, about {left:.0f} s left")

    def note(self, text: str) -> None:
        """Something worth a line."""
        self._stream.write(text + "\n")
        self._stream.flush()


class Bar:
    """A rich bar with the time left; it appears when work takes longer than two seconds."""

    def __init__(self, title: str, total: int, stream: TextIO) -> None:
        self._title, self._total, self._stream = title, total, stream
        self._done = 0
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def advance(self, steps: int = 1) -> None:
        """So many steps more are done."""
        self._done += steps
        if self._bar is None and time.monotonic() - self._start > _PATIENCE_SECONDS:
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def note(self, text: str) -> None:
        """Something worth a line."""
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
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def reporting(mode: Mode, title: str, total: int) -> Iterator[Reporter]:
    """A reporter for some work of ``total`` steps.

    ``auto`` shows a bar if the error stream is a terminal and nothing otherwise; ``lines`` shows a
    bar on a terminal and plain lines elsewhere.
    """
    stream = sys.stderr
    if mode == "off" or (mode == "auto" and not stream.isatty()):
        yield Silence()
    elif stream.isatty():
        bar = Bar(title, total, stream)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield Lines(title, total, stream)


@contextmanager
def announcing_compilation(reporter: Reporter) -> Iterator[None]:
    """Tell once when machine code has to be made, which takes seconds and happens once."""
    from numba.core import event

    class Announcer(event.Listener):  # type: ignore[misc]  # Numba is untyped
        told = False

        def on_start(self, _event: Any) -> None:
            if not self.told:
                self.told = True
                reporter.note("compiling policies for this machine (once; a few seconds each) ...")

        def on_end(self, _event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Announcer()):
        yield
