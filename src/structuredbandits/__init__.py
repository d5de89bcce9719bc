"""Structured bandits: choosing well among arms whose mean rewards depend on a hidden parameter.

>>> import structuredbandits as sb
>>> structure = sb.load_structure("three-arms")
>>> policy = sb.make_policy("ts-c", structure, seed=7)
>>> arm = policy.pull()
>>> policy.update(arm, 4.2)
"""

import lazy_loader

# The public names are listed in __init__.pyi. They are imported when they are first used, so that
# ``import structuredbandits`` and ``structuredbandits --help`` stay quick.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
