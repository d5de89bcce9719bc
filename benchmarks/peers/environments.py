"""Where each peer lives: beside us if it can, else in an environment of its own in a cache folder.

A peer that cannot be installed is one line in the report, and the others go on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADAPTERS = Path(__file__).parent / "adapters"


class PeerUnavailable(Exception):
    """A peer that cannot be installed or does not run here."""


@dataclass(frozen=True)
class Peer:
    """Another library.

    Attributes
    ----------
    requirements
        What pip installs into an environment of its own; empty if it lives beside us.
    policies
        The names, as ours, of the policies that the adapter makes.
    """

    name: str
    adapter: str
    policies: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    simulates: bool = False


PEERS = (
    Peer("River", "river_bandits", ("ucb", "ts", "ts-beta"), simulates=True),
    Peer("MABWiser", "mabwiser_bandits", ("ucb", "ts-beta"), simulates=True),
    Peer(
        "SMPyBandits",
        "smpybandits_bandits",
        ("ucb", "ts", "ts-beta", "kl-ucb-bernoulli"),
        ("SMPyBandits==0.9.7", "numpy<2", "scipy<1.12"),
        simulates=True,
    ),
    Peer("PyBandits", "pybandits_bandits", ("ts-beta",), ("pybandits==8.4.1",)),
    Peer("bayesianbandits", "bayesianbandits_bandits", ("ucb", "ts", "ts-beta"),
         ("bayesianbandits",)),
    Peer("Vowpal Wabbit", "vowpal_bandits", ("ucb", "ts"), ("vowpalwabbit", "numpy")),
)  # fmt: skip


def cache_root() -> Path:
    """Where environments are kept; BENCHMARK_ENVIRONMENTS is another place."""
    chosen = os.environ.get("BENCHMARK_ENVIRONMENTS")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(chosen) if chosen else Path(base) / "structuredbandits-benchmarks"


def interpreter_of(peer: Peer) -> Path:
    """The Python that can import a peer; its environment is made when it is first needed."""
    if not peer.requirements:
        return Path(sys.executable)
    folder = cache_root() / peer.adapter.removesuffix("_bandits")
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*command, *peer.requirements], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise PeerUnavailable(f"{peer.name} cannot be installed here: {reason[0]}")
        (folder / ".ready").touch()
    return python


def ask(peer: Peer, jobs: Iterable[dict[str, Any]], timeout: float = 900) -> list[dict[str, Any]]:
    """Have a peer's interpreter do some jobs, one JSON line each."""
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    done = subprocess.run(
        [str(interpreter_of(peer)), str(ADAPTERS / "loop.py"), peer.adapter],
        input=lines,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cache_root() if cache_root().is_dir() else None,
    )
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise PeerUnavailable(f"{peer.name} does not run here: {reason[0]}")
    prefix = "answer:"
    return [
        json.loads(line.removeprefix(prefix))
        for line in done.stdout.splitlines()
        if line.startswith(prefix)
    ]
