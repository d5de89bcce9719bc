"""API keys: created, shown once, stored as hashes only, each with its scopes.

A key has 256 random bits, so a plain hash is enough: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from structuredbandits.errors import InvalidInput, suggestion
from structuredbandits.service.audit import write_audit
from structuredbandits.service.experiments.stored_experiment import (
    find_experiment,
    require_experiment,
)
from structuredbandits.service.security.publishable_keys import (
    PREFIX,
    PublicTerms,
    token_secret,
)
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import now

_PUBLIC_SCOPES = frozenset({"decide", "reward"})
SCOPES = ("decide", "reward", "read", "admin")
_DAY = 86_400 * 1_000_000
_MOST_DAYS = 36_500.0
_MOST_PER_MINUTE = 1_000_000
_KEY = re.compile(r"sbp?_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class Grant:
    """What a key allows."""

    id: str | None
    scopes: frozenset[str]
    experiment: str | None = None
    label: str = ""
    created: int = 0
    revoked: int | None = None
    public: PublicTerms | None = None  # of a publishable key
    expires: int | None = None
    per_minute: int | None = None  # requests, each item of a batch counts
    used: int | None = None  # last, to about a minute

    def allows(self, scope: str, experiment: str | None = None) -> bool:
        """Whether it allows a scope, in an experiment.

        Examples
        --------
        >>> grant = Grant("1", frozenset({"decide"}), "shop")
        >>> grant.allows("decide", "shop"), grant.allows("decide", "news")
        (True, False)
        """
        fits = scope in self.scopes or "admin" in self.scopes
        return fits and (self.experiment is None or experiment == self.experiment)


@dataclass(frozen=True)
class KeyTerms:
    """For how long and how often a key may be used.

    Parameters
    ----------
    days
        After which it expires; None if it does not.
    per_minute
        Requests, where each item of a batch counts; None if there is no limit.

    Examples
    --------
    >>> KeyTerms(days=0)
    Traceback (most recent call last):
    structuredbandits.errors.InvalidInput: a key expires after 0 days; give above 0, at most 36,500.
    """

    days: float | None = None
    per_minute: int | None = None

    def __post_init__(self) -> None:
        if self.days is not None and not 0.0 < self.days <= _MOST_DAYS:
            raise InvalidInput(
                f"a key expires after {self.days:g} days; give above 0, at most {_MOST_DAYS:,.0f}."
            )
        if self.per_minute is not None and not 1 <= self.per_minute <= _MOST_PER_MINUTE:
            raise InvalidInput(
                f"a key allows {self.per_minute} requests per minute; give 1 to "
                f"{_MOST_PER_MINUTE:,}."
            )


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
    public: PublicTerms | None = None,
    terms: KeyTerms | None = None,
    key: str | None = None,
) -> tuple[str, Grant]:
    """Create a key; its text is returned only here.

    ``key`` is the ID of the key that creates it; None on the command line.
    """
    text, grant = _insert_key(connection, scopes, experiment, label, public, terms or KeyTerms())
    detail = {"id": grant.id, "scopes": sorted(grant.scopes)}
    write_audit(connection, "create key", detail, experiment=experiment, key=key)
    return text, grant


def _insert_key(
    connection: Connection,
    scopes: Iterable[str],
    experiment: str | None,
    label: str,
    public: PublicTerms | None,
    terms: KeyTerms,
) -> tuple[str, Grant]:
    chosen = read_scopes(scopes)
    if public is not None and (experiment is None or not chosen <= _PUBLIC_SCOPES):
        raise InvalidInput(
            "a publishable key is for one experiment and the scopes decide and reward; name the "
            "experiment, and leave other scopes out."
        )
    if len(label) > 200:
        raise InvalidInput(f"the label has {len(label)} characters; give at most 200.")
    if experiment is not None and find_experiment(connection, experiment) is None:
        raise InvalidInput(
            f"there is no experiment {experiment!r}; create it first, or leave it out."
        )
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    text = f"{'sb_' if public is None else PREFIX}{number}_{secret}"
    moment = now()
    expires = None if terms.days is None else moment + round(terms.days * _DAY)
    grant = Grant(
        number,
        chosen,
        experiment,
        label,
        moment,
        public=public,
        expires=expires,
        per_minute=terms.per_minute,
    )
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
            "public_terms": None if public is None else public.to_json(),
            "expires": expires,
            "per_minute": terms.per_minute,
        },
    )
    return text, grant


def subject_secret(connection: Connection, grant: Grant) -> str | None:
    """Return the secret that signs subjects, if a publishable key needs their tokens."""
    if grant.public is None or not grant.public.signed:
        return None
    assert grant.id is not None
    assert grant.experiment is not None
    return token_secret(require_experiment(connection, grant.experiment).seed, grant.id)


def key_id(text: str) -> str | None:
    """The public part of a key; None if the text is not a key."""
    found = _KEY.fullmatch(text)
    return None if found is None else found[1]


def find_key(connection: Connection, number: str) -> tuple[str, Grant] | None:
    """Return the hash of a key and its grant."""
    row = connection.execute(select(tables.keys).where(tables.keys.c.id == number)).first()
    if row is None:
        return None
    return row.hash, _grant(row)


def find_keys(connection: Connection, numbers: Sequence[str]) -> dict[str, tuple[str, Grant]]:
    """Return the hashes of keys and their grants, by ID."""
    rows = connection.execute(select(tables.keys).where(tables.keys.c.id.in_(numbers)))
    return {row.id: (row.hash, _grant(row)) for row in rows}


def _grant(row: Row[Any]) -> Grant:
    scopes = frozenset(row.scopes.split(","))
    public = None if row.public_terms is None else PublicTerms.from_json(row.public_terms)
    return Grant(
        row.id,
        scopes,
        row.experiment,
        row.label,
        row.created,
        row.revoked,
        public,
        row.expires,
        row.per_minute,
        row.used,
    )


def fits(text: str, stored: str) -> bool:
    """Whether a key is the one that was hashed."""
    return hmac.compare_digest(_hash(text), stored)


def list_keys(connection: Connection) -> list[Grant]:
    """Return the grants of all keys."""
    rows = connection.execute(select(tables.keys).order_by(tables.keys.c.created))
    return [_grant(row) for row in rows]


def _require_key(connection: Connection, number: str) -> Grant:
    found = find_key(connection, number)
    if found is None:
        raise InvalidInput(f"there is no key {number!r}; list them to see their ids.")
    return found[1]


def rotate_key(
    connection: Connection, number: str, hours: float, key: str | None = None
) -> tuple[str, Grant]:
    """Create a successor of a key, which itself expires after some hours.

    Parameters
    ----------
    connection
        A writing transaction.
    number
        The key's ID.
    hours
        In which both keys work.
    key
        The ID of the key that does it; None on the command line.

    Returns
    -------
    tuple
        The text of the successor, which is returned only here, and its grant: the same scopes,
        experiment, label, terms and time to live.
    """
    if not 0.0 <= hours <= 24.0 * _MOST_DAYS:
        raise InvalidInput(f"the overlap is {hours:g} hours; give 0 or more.")
    present, moment = _require_key(connection, number), now()
    is_over = present.expires is not None and present.expires <= moment
    if present.revoked is not None or is_over:
        raise InvalidInput(
            f"the key {number!r} is revoked or has expired; create a new one instead."
        )
    days = None if present.expires is None else (present.expires - present.created) / _DAY
    terms = KeyTerms(days, present.per_minute)
    text, successor = _insert_key(
        connection, present.scopes, present.experiment, present.label, present.public, terms
    )
    last = moment + round(hours * _DAY / 24.0)
    connection.execute(
        update(tables.keys)
        .where(tables.keys.c.id == number)
        .values(expires=last if present.expires is None else min(last, present.expires))
    )
    detail = {"id": number, "successor": successor.id, "overlap_hours": hours}
    write_audit(connection, "rotate key", detail, experiment=present.experiment, key=key)
    return text, successor


def revoke_key(connection: Connection, number: str, key: str | None = None) -> Grant:
    """Revoke a key; ``key`` is the ID of the one that does it."""
    found = _require_key(connection, number)
    if found.revoked is None:
        moment = now()
        connection.execute(
            update(tables.keys).where(tables.keys.c.id == number).values(revoked=moment)
        )
        detail = {"id": number}
        write_audit(connection, "revoke key", detail, experiment=found.experiment, key=key)
    return _require_key(connection, number)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
