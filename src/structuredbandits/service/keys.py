"""API keys: made once, shown once, kept only as hashes, each with its scopes.

This module knows what a key opens. It must not know HTTP. A key has 256 random bits, so that a
plain hash keeps it: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from structuredbandits.errors import InvalidInput, suggestion
from structuredbandits.service.experiments import find_experiment, note, now
from structuredbandits.service.storage import tables

SCOPES = ("decide", "reward", "read", "admin")
_KEY = re.compile(r"sb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class Grant:
    """What a key opens."""

    id: str | None
    scopes: frozenset[str]
    experiment: str | None = None
    label: str = ""
    created: int = 0
    revoked: int | None = None

    def allows(self, scope: str, experiment: str | None = None) -> bool:
        """Whether it opens this, in this experiment.

        Examples
        --------
        >>> grant = Grant("1", frozenset({"decide"}), "shop")
        >>> grant.allows("decide", "shop"), grant.allows("decide", "news")
        (True, False)
        """
        fits = scope in self.scopes or "admin" in self.scopes
        return fits and (self.experiment is None or experiment == self.experiment)


EVERYTHING = Grant(None, frozenset(SCOPES), label="insecure")


def read_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Check the names of scopes."""
    chosen = frozenset(scope.strip().lower() for scope in scopes if scope.strip())
    for scope in sorted(chosen):
        if scope not in SCOPES:
            raise InvalidInput(f"there is no scope {scope!r}; {suggestion(scope, SCOPES)}.")
    if not chosen:
        raise InvalidInput(f"a key needs a scope; choose from {', '.join(SCOPES)}.")
    return chosen


def create_key(
    connection: Connection,
    scopes: Iterable[str],
    experiment: str | None = None,
    label: str = "",
) -> tuple[str, Grant]:
    """Make a key; its text is returned here and nowhere else again."""
    chosen = read_scopes(scopes)
    if len(label) > 200:
        raise InvalidInput(f"the label has {len(label)} characters; give at most 200.")
    if experiment is not None and find_experiment(connection, experiment) is None:
        raise InvalidInput(
            f"there is no experiment {experiment!r}; create it first, or leave it out."
        )
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    text = f"sb_{number}_{secret}"
    grant = Grant(number, chosen, experiment, label, now())
    connection.execute(
        insert(tables.keys),
        {
            "id": number,
            "hash": _hash(text),
            "scopes": ",".join(sorted(chosen)),
            "experiment": experiment,
            "label": label,
            "created": grant.created,
            "revoked": None,
        },
    )
    note(connection, "create key", {"id": number, "scopes": sorted(chosen)}, experiment=experiment)
    return text, grant


def key_id(text: str) -> str | None:
    """The public part of a key; None if the text is none."""
    found = _KEY.fullmatch(text)
    return None if found is None else found[1]


def find_key(connection: Connection, number: str) -> tuple[str, Grant] | None:
    """The hash of a key and what it opens."""
    row = connection.execute(select(tables.keys).where(tables.keys.c.id == number)).first()
    if row is None:
        return None
    scopes = frozenset(row.scopes.split(","))
    grant = Grant(row.id, scopes, row.experiment, row.label, row.created, row.revoked)
    return row.hash, grant


def fits(text: str, stored: str) -> bool:
    """Whether a key is the one that was hashed."""
    return hmac.compare_digest(_hash(text), stored)


def list_keys(connection: Connection) -> list[Grant]:
    """All keys, without what would open anything."""
    rows = connection.execute(select(tables.keys).order_by(tables.keys.c.created))
    return [
        Grant(r.id, frozenset(r.scopes.split(",")), r.experiment, r.label, r.created, r.revoked)
        for r in rows
    ]


def revoke_key(connection: Connection, number: str) -> Grant:
    """Let a key open nothing any more."""
    found = find_key(connection, number)
    if found is None:
        raise InvalidInput(f"there is no key {number!r}; list them to see their ids.")
    if found[1].revoked is None:
        moment = now()
        connection.execute(
            update(tables.keys).where(tables.keys.c.id == number).values(revoked=moment)
        )
        note(connection, "revoke key", {"id": number}, experiment=found[1].experiment)
    again = find_key(connection, number)
    assert again is not None
    return again[1]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
