"""Contracts that anybody can run on a policy of her own.

This room knows the public interface only: what it checks holds for every policy, ours and yours.
"""

from structuredbandits.testing.policies import check_policy

__all__ = ["check_policy"]
