"""The plausible θ of a run, and the parameters that say which θ are plausible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from structuredbandits.structure import Parameters, Structure


@dataclass(frozen=True)
class ConfidenceParameters:
    """Which θ a run calls plausible.

    Attributes
    ----------
    alpha
        Width of the set.
    kind
        "box": a θ has to fit the rewards of every arm by itself. "joint": of all arms together.
    structure
        The structure whose means or bounds are compared with the rewards.
    """

    alpha: float
    kind: str
    structure: Structure


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceSet:
    """The θ of a set Θ that the evidence does not contradict.

    Attributes
    ----------
    parameters
        Θ.
    mask : (parameters,) bool array
        Which θ are plausible.
    """

    parameters: Parameters
    mask: np.ndarray

    def __len__(self) -> int:
        return int(self.mask.sum())

    def __iter__(self) -> Iterator[Any]:
        return (self.parameters[int(place)] for place in np.flatnonzero(self.mask))

    def __contains__(self, theta: object) -> bool:
        """Whether a θ, or the grid point nearest to it, is plausible."""
        return bool(self.mask[self.parameters.nearest(theta)])

    @property
    def share(self) -> float:
        """Share of Θ that is plausible, by the width of the cells."""
        return float(self.parameters.weights[self.mask].sum())

    def __repr__(self) -> str:
        return f"<ConfidenceSet: {len(self)} of {len(self.parameters)} θ plausible>"
