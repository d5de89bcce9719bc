"""Which arm is the best? Pull until that is certain enough, and not longer.

This room knows when to stop and where to look. It must not know services, plots or files.
"""

from structuredbandits.identification.identify import Identification, identify

__all__ = ["Identification", "identify"]
