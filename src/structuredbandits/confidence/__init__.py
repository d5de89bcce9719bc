"""Evidence, and the θ that are still plausible given it.

This package does not depend on policies or environments.
"""
