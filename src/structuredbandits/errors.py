"""All exceptions and warnings of the library, in one tree.

All other modules may import this one, so it imports nothing of the library.

::

    StructuredBanditsError
    ├── InvalidInput (also a ValueError)
    │   ├── InvalidStructure      means, bounds, sigma, arms or prior that make no sense
    │   ├── InvalidParameter      a θ outside Θ, or a Θ that is none
    │   ├── InvalidPolicy         an unknown policy, or a setting that it cannot have
    │   ├── UnknownArm            an arm that the structure does not have
    │   └── InvalidReward         a reward that is not a finite number
    ├── FileError
    │   ├── DamagedFile           a file that is not what it says it is
    │   └── WrongVersion          a file written by another version of the format
    ├── Interrupted               long work that the user ended
    └── ServiceError              what a service answered instead of doing what it was asked
        ├── Unreachable           no answer at all, in time or ever
        ├── Unavailable           it runs, but cannot reach its database now (503)
        ├── Overloaded            it has more to do than it can (429)
        ├── NotAllowed            no key, a wrong one, or one for something else (401, 403)
        ├── NotFound              no such experiment, subject or decision (404)
        ├── Conflict              something else stands there already (409)
        │   └── Unusable          an experiment that this service's version cannot serve
        └── Refused               a request that it cannot use (all other 4xx)

    StructureWarning (a UserWarning)
"""

from __future__ import annotations

from collections.abc import Iterable


class StructuredBanditsError(Exception):
    """Base of all errors that this library raises on purpose."""


class InvalidInput(StructuredBanditsError, ValueError):
    """A value from the caller that cannot be used; nothing was changed."""


class InvalidStructure(InvalidInput):
    """Means, bounds, sigma, arms or a prior that do not describe a structure."""


class InvalidParameter(InvalidInput):
    """A hidden parameter θ outside its set Θ, or a Θ that cannot be built."""


class InvalidPolicy(InvalidInput):
    """An unknown policy, or a setting that the policy cannot have."""


class UnknownArm(InvalidInput):
    """An arm that the structure does not have."""


class InvalidReward(InvalidInput):
    """A reward that is not a finite number, or that the policy cannot use."""


class FileError(StructuredBanditsError):
    """A file that cannot be read or written."""


class DamagedFile(FileError):
    """A file that is not what its name or its header says it is."""


class WrongVersion(FileError):
    """A file written in a version of the format that this version does not read."""


class Interrupted(StructuredBanditsError):
    """Long work that was ended by the user before it was done."""


class ServiceError(StructuredBanditsError):
    """What a decision service answered instead of doing what it was asked.

    Parameters
    ----------
    message
        One sentence with the remedy.
    status
        The HTTP status, or None where there was no answer.
    code
        The service's short name for what went wrong.
    retry_after
        After how many seconds the service asks to be asked again, if it does.

    Examples
    --------
    >>> error = NotFound("There is no experiment 'x'.", status=404, code="not_found")
    >>> error.status, error.code, str(error)
    (404, 'not_found', "There is no experiment 'x'.")
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after = retry_after


class Unreachable(ServiceError):
    """The service gave no answer: nothing listens there, or it took too long."""


class Unavailable(ServiceError):
    """The service runs but cannot do its work now, since its database does not answer."""


class Overloaded(ServiceError):
    """The service has more to do than it can, and refused this before doing anything."""


class NotAllowed(ServiceError):
    """The key is missing or wrong, or opens something else."""


class NotFound(ServiceError):
    """There is no such experiment, subject or decision."""


class Conflict(ServiceError):
    """What was asked contradicts what is stored, such as a second, different reward."""


class Unusable(Conflict):
    """The service runs another version than the experiment was made with, and cannot serve it."""


class Refused(ServiceError):
    """The service cannot use the request as it is; it changed nothing."""


class StructureWarning(UserWarning):
    """A structure that can be used but may not do what its user expects."""


def suggestion(text: object, known: Iterable[object], limit: int = 5) -> str:
    """Say which known names are nearest to an unknown one.

    Parameters
    ----------
    text
        What the caller wrote.
    known
        The names that would have been right.
    limit
        How many names are listed at most.

    Returns
    -------
    str
        A clause that ends an error message, without its full stop.

    Examples
    --------
    >>> suggestion("tree-arms", ["three-arms", "two-arms", "movielens"])
    "did you mean 'three-arms' or 'two-arms'?"
    >>> suggestion("x", ["low", "high"])
    "choose one of 'low', 'high'"
    """
    # Made here and not above: only an error pays for it.
    from difflib import get_close_matches

    names = [str(name) for name in known]
    folded = {name.casefold(): name for name in reversed(names)}
    wanted = str(text).casefold()
    near = [folded[key] for key in get_close_matches(wanted, list(folded), n=3, cutoff=0.55)]
    if near:
        return "did you mean " + " or ".join(repr(name) for name in near) + "?"
    listed = ", ".join(repr(name) for name in names[:limit])
    rest = len(names) - limit
    return f"choose one of {listed}" + (f" and {rest} more" if rest > 0 else "")
