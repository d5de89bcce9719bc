"""Fixed-width UCB: the mean plus a fixed number of standard errors.

A template: copy this file to ``src/structuredbandits/policies/classical/`` under the name of your
policy and change what is marked with "Yours". CONTRIBUTING.md has the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class FixedUCBAgent(NamedTuple):
    """Parameters of fixed-width UCB in compiled code."""

    width: float  # Yours: numbers and arrays, and nothing else.


# Yours: the line of the policy table, and the look in pictures. `registration.Description` says
# what each argument means.
@register(
    summary="The mean plus a fixed number of standard errors.",
    use="An example of a policy in one file.",
    needs=(),
    colour="teal",
)
@dataclass(frozen=True, repr=False)
class FixedUCB(IndexAlgorithm):
    """mu_hat_k + width sigma_k / sqrt(n_k).

    References
    ----------
    Yours: where the policy was published.

    Examples
    --------
    >>> FixedUCB(width=1.0).label
    'fixed-ucb(width=1)'
    """

    width: float = positive(2.0)
    name: ClassVar[str] = "fixed-ucb"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> FixedUCBAgent:
        return FixedUCBAgent(float(self.width))


@implements(index, FixedUCBAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    # Yours: the index; the arm with the largest one is pulled. `protocol.Arm` and `protocol.Moment`
    # list what there is.
    return arm.mean + agent.width * arm.scale
