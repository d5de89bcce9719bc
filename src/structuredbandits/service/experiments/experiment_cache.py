"""The experiments that a running service keeps in memory, checked by their revision."""

from __future__ import annotations

import threading

from cachetools import LRUCache
from sqlalchemy import Connection

from structuredbandits.service.experiments.stored_experiment import (
    StoredExperiment,
    Version,
    find_experiment,
    load_version,
)

_VERSIONS_KEPT = 64


class ExperimentCache:
    """Experiments by name, and versions of their structures with compiled policies.

    Versions never change once stored, so they are kept; an experiment is kept until its revision
    in the database is another.
    """

    def __init__(self) -> None:
        self._experiments: dict[str, StoredExperiment] = {}
        self._versions: LRUCache[tuple[str, int], Version] = LRUCache(_VERSIONS_KEPT)
        self._lock = threading.Lock()

    def known(self, name: str) -> StoredExperiment | None:
        """The experiment as it was last seen, without asking the database."""
        return self._experiments.get(name)

    def learn(self, experiment: StoredExperiment) -> None:
        """An experiment was just changed, and is cached before the next request for it."""
        held = self._experiments.get(experiment.id)
        if held is None or held.revision < experiment.revision:
            self._experiments[experiment.id] = experiment

    def experiment(
        self, connection: Connection, name: str, revision: int | None = None
    ) -> StoredExperiment | None:
        """The experiment, read again unless it is held at this revision."""
        held = self._experiments.get(name)
        if held is not None and held.revision == revision:
            return held
        found = find_experiment(connection, name)
        if found is None:
            self._experiments.pop(name, None)
        else:
            self._experiments[name] = found
        return found

    def known_version(self, name: str, number: int) -> Version | None:
        """A version that is in memory."""
        with self._lock:  # reading moves an entry to the end
            return self._versions.get((name, number))

    def version(self, connection: Connection, experiment: StoredExperiment, number: int) -> Version:
        """A version of an experiment's structure."""
        held = self.known_version(experiment.id, number)
        if held is not None:
            return held
        loaded = load_version(connection, experiment, number)
        with self._lock:
            self._versions[experiment.id, number] = loaded
        return loaded
