"""Whether the groups have the sizes that they should have, checked after every new subject."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

# The check fails if its p-value, which is valid at every time, is below this.
LIMIT = 0.01
# Strength of the prior of the true share, in subjects, around the planned share.
_STRENGTH = 100.0


class SampleRatio(NamedTuple):
    """The share of subjects in the holdout group, compared with the planned one."""

    holdout: int
    """Subjects in the holdout group."""
    policy: int
    """Subjects in the policy group."""
    planned: float | None
    """The planned share of the holdout group; None if it was not given."""
    p_value: float | None
    """Of the planned share, valid at every time; None if it was not given."""

    @property
    def share(self) -> float:
        """The observed share of the holdout group."""
        return self.holdout / (self.holdout + self.policy)

    @property
    def fits(self) -> bool | None:
        """Whether the observed share fits the planned one; None if it was not given."""
        return None if self.p_value is None else self.p_value >= LIMIT


def check_sample_ratio(in_holdout: np.ndarray, planned: float | None) -> SampleRatio:
    """Compare the groups of subjects, in the order of their arrival, with the planned share.

    The ratio of the likelihood averaged over a Beta prior to that of the planned share is a
    martingale. Its largest value after any subject exceeds 1/p with probability at most p.

    References
    ----------
    M. Lindon, A. Malek, "Anytime-valid inference for multinomial count data", NeurIPS 2022.

    Examples
    --------
    >>> check_sample_ratio(np.arange(1000) % 10 == 0, planned=0.1).fits
    True
    >>> check_sample_ratio(np.arange(1000) % 5 == 0, planned=0.1).fits
    False
    """
    number = len(in_holdout)
    held = int(in_holdout.sum())
    if planned is None:
        return SampleRatio(held, number - held, None, None)
    from scipy.special import betaln

    kept = np.cumsum(in_holdout)
    others = np.arange(1, number + 1) - kept
    a, b = _STRENGTH * planned, _STRENGTH * (1.0 - planned)
    logs = (
        betaln(a + kept, b + others)
        - float(betaln(a, b))
        - kept * math.log(planned)
        - others * math.log1p(-planned)
    )
    largest = max(float(logs.max()), 0.0)
    return SampleRatio(held, number - held, planned, math.exp(-largest))
