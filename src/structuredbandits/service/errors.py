"""Errors of requests: an HTTP status, a code for programs and a message for people."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from structuredbandits.errors import StructuredBanditsError


class RequestError(StructuredBanditsError):
    """A request that was rejected or failed.

    Examples
    --------
    >>> RequestError(404, "unknown_experiment", "there is no experiment 'x'.").body()
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


def unknown_experiment(name: str) -> RequestError:
    """No such experiment, or the key is for another one."""
    return RequestError(
        404,
        "unknown_experiment",
        f"there is no experiment {name!r} that this key can access.",
        "List the experiments with GET /v1/experiments.",
    )


def unknown_subject(name: str) -> RequestError:
    """No such subject in the experiment."""
    return RequestError(
        404,
        "unknown_subject",
        f"there is no subject {name!r} in this experiment.",
        "A subject exists from its first decision on, or after POST .../subjects.",
    )


def damaged_subject() -> RequestError:
    """The stored state of a subject cannot be read."""
    return RequestError(
        409,
        "subject_damaged",
        "the stored state of this subject cannot be read.",
        "Restore a backup, or delete the subject.",
    )


def unknown_decision(name: str) -> RequestError:
    """No such decision, or the key is for another experiment."""
    return RequestError(
        404,
        "unknown_decision",
        f"there is no decision {name!r} that this key can access.",
        "Use the ID from the response of the decision.",
    )


def overloaded(what: str = "the queue of writes is full", seconds: int = 1) -> RequestError:
    """Too much is waiting already."""
    return RequestError(
        429, "overloaded", f"{what}.", f"Try again after {seconds} s.", retry_after=seconds
    )


def unavailable(why: str) -> RequestError:
    """The database did not answer in time."""
    return RequestError(
        503,
        "unavailable",
        f"the database did not complete the request: {why}.",
        "Repeat the request with the same Idempotency-Key; a repeated request counts once.",
        retry_after=1,
    )


# -- exceptions in the service's log -------------------------------------------------------------

# A database quotes what was sent to it (subjects, keys): only the kind of an exception and its
# place in the code are logged.
_FRAMES = 8


def kind_of(error: BaseException) -> str:
    """Return the type of an exception, without its text.

    Examples
    --------
    >>> kind_of(ValueError("a subject's name"))
    'ValueError'
    """
    return type(getattr(error, "orig", None) or error).__name__


def database_code(error: BaseException) -> str | None:
    """The database's own code of an error: SQLite's name, or PostgreSQL's SQLSTATE.

    Examples
    --------
    >>> database_code(ValueError("not of a database")) is None
    True
    """
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return None if code is None else str(code)


def place_of(error: BaseException) -> dict[str, str]:
    """Where it was raised, as a field of a line of the log."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return {"at": " > ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)}
