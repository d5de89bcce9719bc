"""Refuses experiments whose decisions take too long, when they are created."""

from __future__ import annotations

from structuredbandits.service.errors import RequestError
from structuredbandits.service.experiments.stored_experiment import Version

# The cheapest last; all of them use the structure.
_CHEAPER = ("ts-c", "ucb-c", "ucb-s")


def require_affordable(version: Version, seconds: float) -> None:
    """Refuse a structure with a policy if one decision takes more CPU time than ``seconds``.

    Raises
    ------
    RequestError
        422 with the time of a decision and cheaper policies.
    """
    estimate = version.chooser.seconds
    if estimate <= seconds:
        return
    present = version.chooser.label
    cheaper = [name for name in _CHEAPER if not present.startswith(name)]
    raise RequestError(
        422,
        "too_costly",
        f"one decision of {present} on {version.structure.n_arms:,} arms and "
        f"{version.n_parameters:,} parameters takes about {estimate:.2g} s of CPU time, and this "
        f"service allows {seconds:g} s.",
        f"Use a cheaper policy ({', '.join(cheaper)}) or a smaller structure, or start the service "
        "with a larger --decision-seconds.",
    )
