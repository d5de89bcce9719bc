"""The experiments as a running service holds them in memory: read once, checked by revision.

This module knows when what is held is out of date. It must not know how decisions are stored.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from sqlalchemy import Connection

from structuredbandits.service.experiments import Experiment, Version, find_experiment, load_version

_VERSIONS_KEPT = 64


class Catalogue:
    """Experiments by name, and versions of their structures with compiled policies.

    Versions never change once stored, so they are kept; an experiment is kept until its revision
    in the database is another.
    """

    def __init__(self) -> None:
        self._experiments: dict[str, Experiment] = {}
        self._versions: OrderedDict[tuple[str, int], Version] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, name: str) -> Experiment | None:
        """The experiment as it was last seen, without asking the database."""
        return self._experiments.get(name)

    def learn(self, experiment: Experiment) -> None:
        """An experiment was just changed, and is known before anybody asks for it again."""
        held = self._experiments.get(experiment.id)
        if held is None or held.revision < experiment.revision:
            self._experiments[experiment.id] = experiment

    def experiment(
        self, connection: Connection, name: str, revision: int | None = None
    ) -> Experiment | None:
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
        return self._versions.get((name, number))

    def version(self, connection: Connection, experiment: Experiment, number: int) -> Version:
        """A version of an experiment's structure."""
        key = (experiment.id, number)
        held = self._versions.get(key)
        if held is not None:
            return held
        made = load_version(connection, experiment, number)
        with self._lock:
            self._versions[key] = made
            while len(self._versions) > _VERSIONS_KEPT:
                self._versions.popitem(last=False)
        return made
