"""What a service says no with: a code for programs, a sentence for people.

This module knows HTTP status numbers only as numbers. It must not know the web framework.
"""

from __future__ import annotations

from typing import Any

from structuredbandits.errors import StructuredBanditsError


class Refusal(StructuredBanditsError):
    """A request that is not done; nothing was changed unless it says so.

    Examples
    --------
    >>> Refusal(404, "unknown_experiment", "there is no experiment 'x'.").body()
    {'error': {'code': 'unknown_experiment', 'message': "there is no experiment 'x'."}}
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        remedy: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.remedy = remedy
        self.retry_after = retry_after

    def body(self, *, in_batch: bool = False) -> dict[str, Any]:
        """The answer's JSON; in a batch with the status, which the whole answer cannot have."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if in_batch:
            error["status"] = self.status
        if self.remedy is not None:
            error["remedy"] = self.remedy
        return {"error": error}


def unknown_experiment(name: str) -> Refusal:
    """No such experiment, or the key opens another one."""
    return Refusal(
        404,
        "unknown_experiment",
        f"there is no experiment {name!r} that this key opens.",
        "List the experiments with GET /v1/experiments.",
    )


def unknown_subject(name: str) -> Refusal:
    """No such subject in the experiment."""
    return Refusal(
        404,
        "unknown_subject",
        f"there is no subject {name!r} in this experiment.",
        "A subject exists from its first decision on, or after POST .../subjects.",
    )


def unknown_decision(name: str) -> Refusal:
    """No such decision, or the key opens another experiment."""
    return Refusal(
        404,
        "unknown_decision",
        f"there is no decision {name!r} that this key opens.",
        "Give the id that the decision was answered with.",
    )


def overloaded(what: str = "the queue of writes is full", seconds: int = 1) -> Refusal:
    """Too much is waiting already."""
    return Refusal(
        429, "overloaded", f"{what}.", f"Try again after {seconds} s.", retry_after=seconds
    )


def unavailable(why: str) -> Refusal:
    """The database did not answer in time."""
    return Refusal(
        503,
        "unavailable",
        f"the database did not do it: {why}.",
        "Repeat the request with the same Idempotency-Key; a repeated request counts once.",
        retry_after=1,
    )
