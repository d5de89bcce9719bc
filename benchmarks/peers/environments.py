"""Where each peer is installed: in this environment if possible, else in a separate one.

A peer that cannot be installed is reported in one line, and the others are measured.
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

from platformdirs import user_cache_path

ADAPTERS = Path(__file__).parent / "adapters"


class PeerUnavailable(Exception):
    """A peer that cannot be installed or does not run here."""


@dataclass(frozen=True)
class Peer:
    """Another library.

    Attributes
    ----------
    requirements
        What pip installs into a separate environment; empty if this environment has it.
    policies
        The policies of the adapter, by the names of this library.
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
    """Folder of the environments; BENCHMARK_ENVIRONMENTS overrides it."""
    chosen = os.environ.get("BENCHMARK_ENVIRONMENTS")
    return Path(chosen) if chosen else user_cache_path("structuredbandits-benchmarks", False)


def interpreter_of(peer: Peer) -> Path:
    """The Python that can import a peer; its environment is created on first use."""
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
    """Run jobs in a peer's interpreter, one JSON line each."""
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
