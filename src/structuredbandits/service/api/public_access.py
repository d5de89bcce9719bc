"""What a request with a publishable key must satisfy: origin, rates and the subject's token."""

from __future__ import annotations

import math

from fastapi import Request

from structuredbandits.service.api.cors import READER
from structuredbandits.service.errors import RequestError
from structuredbandits.service.runtime import Service
from structuredbandits.service.security.api_keys import Grant
from structuredbandits.service.security.publishable_keys import (
    PREFIX,
    signed_subject,
    token_secret,
)
from structuredbandits.service.security.token_buckets import network_of


def note_origin(request: Request, key: str) -> None:
    """Let the page of a request with a publishable key read the answer, also if it is an error."""
    origin = request.headers.get("origin")
    if origin is not None and key.startswith(PREFIX):
        request.scope[READER] = origin.encode("latin-1")


def admit(request: Request, service: Service, grant: Grant) -> None:
    """Refuse a request with a publishable key from a foreign page, or too many of an address."""
    if grant.public is None:
        return
    origin = request.headers.get("origin")
    if origin is not None and not grant.public.allows_origin(origin):
        request.scope.pop(READER, None)
        raise RequestError(
            403,
            "foreign_origin",
            f"the publishable key is not for pages of {origin[:200]!r}.",
            "Create a key with this origin.",
        )
    address = "" if request.client is None else network_of(request.client.host)
    _take(service, (grant.id, "address", address), grant.public.per_address, "address")


def refuse_public(grant: Grant) -> None:
    """Refuse a publishable key on a route that does not accept one."""
    if grant.public is not None:
        raise RequestError(
            403,
            "publishable_key",
            "a publishable key can only decide for one subject and reward.",
            "Use a key that is kept on a server.",
        )


async def subject_of_token(request: Request, service: Service, grant: Grant) -> str | None:
    """Return the subject of the request's token; None if the key needs no tokens."""
    if grant.public is None or not grant.public.signed:
        return None
    assert grant.id is not None
    assert grant.experiment is not None
    experiment = await service.experiment(grant.experiment)
    token = request.headers.get("subject-token", "")
    subject = signed_subject(token_secret(experiment.seed, grant.id), token)
    if subject is None:
        raise RequestError(
            401,
            "subject_token",
            "the header Subject-Token is missing, not valid or expired.",
            "Sign the subject on your server, and send the token with each request.",
        )
    return subject


def check_subject(service: Service, grant: Grant, named: str | None, subject: str) -> None:
    """Refuse a decision for another subject than the token's, or too many for one subject."""
    if grant.public is None:
        return
    if named is not None and named != subject:
        raise RequestError(
            403,
            "foreign_subject",
            f"the subject token is not for {subject[:80]!r}.",
            "Ask for decisions of the subject that the token names.",
        )
    _take(service, (grant.id, "subject", subject), grant.public.per_subject, "subject")


def take_rewards(service: Service, grant: Grant, request: Request, count: int) -> None:
    """Count the further rewards of a batch as further requests of the address."""
    if grant.public is not None and count > 1:
        address = "" if request.client is None else network_of(request.client.host)
        who = (grant.id, "address", address)
        _take(service, who, grant.public.per_address, "address", count - 1)


def _take(service: Service, who: object, rate: int, kind: str, count: int = 1) -> None:
    wait = service.public_rates.take(who, rate, count)
    if wait > 0.0:
        seconds = math.ceil(wait)
        raise RequestError(
            429,
            "rate_limit",
            f"the publishable key allows {rate} requests per minute and {kind}.",
            f"Try again after {seconds} s.",
            retry_after=seconds,
        )
