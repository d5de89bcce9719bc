"""Which versions of structures a running service keeps in memory."""

from __future__ import annotations

from typing import Any

import pytest

from structuredbandits.service.experiments import experiment_cache
from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from tests.service.conftest import Api


def test_the_version_that_was_used_longest_ago_is_dropped_first(
    lite: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.create("shop")
    cache = ExperimentCache()
    with lite.service.database.read() as connection:
        shop = cache.experiment(connection, "shop")
        assert shop is not None
        first = cache.version(connection, shop, 1)

        def load(_connection: Any, _experiment: Any, _number: int) -> Any:
            return first

        monkeypatch.setattr(experiment_cache, "load_version", load)
        for number in range(2, experiment_cache._VERSIONS_KEPT + 1):
            cache.version(connection, shop, number)
        assert cache.version(connection, shop, 1) is first  # used again, so 2 is the oldest
        cache.version(connection, shop, experiment_cache._VERSIONS_KEPT + 1)
    assert cache.known_version("shop", 1) is first
    assert cache.known_version("shop", 2) is None
