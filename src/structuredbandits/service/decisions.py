"""Doing orders: many in one transaction, or one by one where they cannot be done together.

This module knows when a transaction is tried again, and without whom. It must not know what an
order does, nor who gathers them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.catalogue import Catalogue
from structuredbandits.service.mishaps import kind_of, place_of
from structuredbandits.service.orders import Order, Task
from structuredbandits.service.refusals import unavailable
from structuredbandits.service.sitting import Sitting
from structuredbandits.service.storage import Database
from structuredbandits.service.storage.database import Stale, is_away, worth_repeating
from structuredbandits.service.storage.ledger import SubjectNumbers

_log = logging.getLogger(__name__)
# Two replicas may use one key at the same time; the second finds the first's row when it tries
# again.
_ATTEMPTS = 4


#: Asked with the places of orders that are about to be committed: says for which of them nobody
#: waits any more. If there are none, all of them will be waited for until the commit is done.
Seal = Callable[[Sequence[int]], Set[int]]


class GivenUp(Exception):
    """Somebody stopped waiting before the commit: the transaction is done again without."""

    def __init__(self, places: Set[int]) -> None:
        super().__init__(places)
        self.places = places


def everybody_waits(_places: Sequence[int]) -> Set[int]:
    """Nobody has given up."""
    return frozenset()


class Desk:
    """Does orders: reads what they need, computes, and writes it in one transaction.

    Parameters
    ----------
    database
        Where everything is kept.
    catalogue
        The experiments in memory.
    """

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self.database = database
        self.catalogue = catalogue
        self.numbers = SubjectNumbers()

    def commit(self, orders: Sequence[Order], seal: Seal = everybody_waits) -> list[Any]:
        """Do all orders in one transaction; the result of each is its answer or an exception.

        When this returns everything is durable. A decision's answer is (whether it is new, its
        content). ``seal`` is asked just before the commit whether somebody has stopped waiting:
        what nobody was told must not be stored. Orders that cannot be done together are done one
        by one, so that nobody suffers from another's.
        """
        places = range(len(orders))
        try:
            done = self._together(orders, places, seal)
        except Exception as error:
            if len(orders) == 1 or is_away(error):
                raise
            _log.warning("done one by one: %s", kind_of(error), extra=place_of(error))
            done = self._one_by_one(orders, seal)
        nobody = unavailable("nobody waits for it any more")
        return [done.get(place, nobody) for place in places]

    def _one_by_one(self, orders: Sequence[Order], seal: Seal) -> dict[int, Any]:
        done: dict[int, Any] = {}
        for place in range(len(orders)):
            try:
                done |= self._together(orders, [place], seal)
            except StructuredBanditsError as refusal:
                done[place] = refusal
            except Exception as error:
                failed = unavailable(kind_of(error))
                done[place] = failed
                if is_away(error):  # the others would only wait as long for the same
                    return done | dict.fromkeys(range(place, len(orders)), failed)
        return done

    def _together(
        self, orders: Sequence[Order], places: Sequence[int], seal: Seal
    ) -> dict[int, Any]:
        """Do some orders in one transaction: results by place, of those who still wait."""
        left, attempt = list(places), 0
        while left:
            try:
                results = self._try([orders[place] for place in left], left, seal)
            except GivenUp as given_up:
                left = [place for place in left if place not in given_up.places]
            except (Stale, SQLAlchemyError) as error:
                attempt += 1
                if attempt == _ATTEMPTS or not worth_repeating(error):
                    raise
            else:
                return dict(zip(left, results, strict=True))
        return {}

    def _try(self, orders: Sequence[Order], places: Sequence[int], seal: Seal) -> list[Any]:
        with self.database.write() as connection:
            if len(orders) == 1 and isinstance(orders[0], Task):
                results, sitting = [orders[0].work(connection)], None
            else:
                sitting = Sitting(self, connection, orders)
                results = sitting.hold()
            given_up = seal(places)
            if given_up:
                raise GivenUp(given_up)
        if sitting is not None:
            sitting.ledger.remember()
        return results
