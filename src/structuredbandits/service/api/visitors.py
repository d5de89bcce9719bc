"""Who asks a service that needs no keys: a program or a page of this machine, or somebody else's.

A browser on this machine can reach an address that only this machine can, and does so on behalf of
any page that it shows. This module knows the headers by which such requests are told apart. It must
not know what is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from structuredbandits.service.refusals import Refusal

_NAMES = ("127.0.0.1", "localhost", "[::1]")
_HARMLESS = ("GET", "HEAD", "OPTIONS")
_HTTP = 80


@lru_cache(maxsize=8)
def own_hosts(port: int) -> frozenset[bytes]:
    """What the header Host may be on a port of this machine.

    Examples
    --------
    >>> sorted(own_hosts(8000))
    [b'127.0.0.1:8000', b'[::1]:8000', b'localhost:8000']
    """
    hosts = {f"{name}:{port}".encode() for name in _NAMES}
    return frozenset(hosts | {name.encode() for name in _NAMES if port == _HTTP})


def refuse_foreign(method: str, headers: Mapping[bytes, bytes], port: int) -> Refusal | None:
    """Why a request is not to be answered, if it comes from somebody else's page.

    Parameters
    ----------
    method
        Of the request.
    headers
        With names in lower case.
    port
        Where the service listens.

    Examples
    --------
    >>> refuse_foreign("GET", {b"host": b"127.0.0.1:8000"}, 8000) is None
    True
    >>> refuse_foreign("GET", {b"host": b"elsewhere.example:8000"}, 8000).code
    'foreign_host'
    """
    host = headers.get(b"host", b"").lower()
    hosts = own_hosts(port)
    if host not in hosts:
        # A name of somebody else that leads here would make this service a part of his pages.
        return _refusal("foreign_host", f"the request is for {_shown(host)}, not for", port)
    site = headers.get(b"sec-fetch-site", b"none")
    # Following a link to a page here does no harm.
    follows = method in _HARMLESS and headers.get(b"sec-fetch-mode") == b"navigate"
    if site not in (b"none", b"same-origin") and not follows:
        return _refusal("foreign_page", "the request comes from another page than those of", port)
    origin = headers.get(b"origin")
    if origin is None or method in _HARMLESS or origin.lower() in {b"http://" + h for h in hosts}:
        return None
    return _refusal("foreign_page", f"the request comes from {_shown(origin)}, not from", port)


def _shown(value: bytes) -> str:
    return repr(value[:80].decode("latin-1"))


def _refusal(code: str, sentence: str, port: int) -> Refusal:
    return Refusal(
        403,
        code,
        f"{sentence} http://127.0.0.1:{port}.",
        "Use that address, or serve with API keys in place of --insecure.",
    )
