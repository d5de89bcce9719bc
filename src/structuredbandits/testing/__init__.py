"""Contracts that check your own policies, environments and storages.

They use public interfaces only: what they check holds for every class of the library as well.
"""

from structuredbandits.testing._environment_contract import check_environment
from structuredbandits.testing._policy_contract import check_policy
from structuredbandits.testing._storage_contract import check_storage

__all__ = ["check_environment", "check_policy", "check_storage"]
