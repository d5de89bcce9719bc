"""Figures of structures, analyses and simulation results.

The functions take plain results and return a figure; they compute nothing and open no window.
"""

import lazy_loader

# The public names are in __init__.pyi; they are imported when first used, since Matplotlib takes
# a while to load.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
