"""Publishable keys: they may be part of a web page, and only decide and reward in one experiment.

The key itself is not a secret. What limits its use: the origins of the pages that may use it, a
rate per address and per subject, and, if wanted, tokens with which the shop's own server names the
subject of a visitor, so that nobody can decide or reward for another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import orjson

from structuredbandits.errors import InvalidInput

#: A publishable key begins with this; other keys with ``sb_``.
PREFIX = "sbp_"
_ORIGIN = re.compile(r"https?://(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?")
_MOST_ORIGINS = 100
_MOST_PER_MINUTE = 1_000_000


@dataclass(frozen=True)
class PublicTerms:
    """How a publishable key may be used.

    Parameters
    ----------
    origins
        Of the web pages that may use it, such as ``https://shop.example``; ``*`` for all.
    per_address, per_subject
        Requests per minute from one address, and decisions per minute for one subject.
    signed
        Whether requests need a subject token.

    Examples
    --------
    >>> PublicTerms(("https://shop.example",)).allows_origin("https://other.example")
    False
    """

    origins: tuple[str, ...]
    per_address: int = 600
    per_subject: int = 60
    signed: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.origins) <= _MOST_ORIGINS:
            raise InvalidInput(
                f"a publishable key has {len(self.origins)} origins; give 1 to {_MOST_ORIGINS}, "
                "such as https://shop.example."
            )
        for origin in self.origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise InvalidInput(
                    f"{origin[:80]!r} is not an origin; give a scheme and a host in lower case "
                    "without a path, such as https://shop.example."
                )
        for name in ("per_address", "per_subject"):
            value = getattr(self, name)
            if not 1 <= value <= _MOST_PER_MINUTE:
                raise InvalidInput(
                    f"{name} is {value}; give 1 to {_MOST_PER_MINUTE:,} requests per minute."
                )

    def allows_origin(self, origin: str) -> bool:
        """Whether a page of this origin may use the key."""
        return "*" in self.origins or origin in self.origins

    def to_json(self) -> str:
        """As stored with the key."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> PublicTerms:
        """Read what `to_json` wrote."""
        content = orjson.loads(text)
        return cls(**content | {"origins": tuple(content["origins"])})


def read_origins(origins: Iterable[str]) -> tuple[str, ...]:
    """Return origins as browsers send them: lower case, without a slash at the end.

    Examples
    --------
    >>> read_origins(["https://Shop.example/"])
    ('https://shop.example',)
    """
    return tuple(one.strip().lower().rstrip("/") for one in origins if one.strip())


# -- subject tokens --------------------------------------------------------------------------------


def token_secret(seed: bytes, key: str) -> str:
    """Return the secret with which subject tokens of a key are signed.

    It is derived from the experiment's secret seed, so it need not be stored.

    Parameters
    ----------
    seed
        Of the experiment.
    key
        The ID of the key.
    """
    digest = hashlib.blake2b(f"subject tokens:{key}".encode(), key=seed, digest_size=32)
    return digest.hexdigest()


def signed_subject(secret: str, token: str) -> str | None:
    """Return the subject that a token names; None if it is not valid or has expired.

    A token is ``expires.subject.signature``: seconds since 1970, the subject in base64url without
    padding, and the HMAC-SHA256 of ``expires.subject`` with the secret, in hexadecimal.

    Examples
    --------
    >>> from structuredbandits.client import sign_subject
    >>> token = sign_subject("secret", "visitor-7", seconds=60)
    >>> signed_subject("secret", token), signed_subject("another", token)
    ('visitor-7', None)
    """
    content, _, signature = token.rpartition(".")
    expected = hmac.new(secret.encode(), content.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return None
    expires, _, subject = content.partition(".")
    if not expires.isdigit() or len(expires) > 15 or int(expires) < time.time():
        return None
    try:
        padded = subject + "=" * (-len(subject) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return None
