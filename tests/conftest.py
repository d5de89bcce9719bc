"""Settings that all tests share."""

import os

from hypothesis import settings

# Before anything imports matplotlib: tests draw into files, never into a window.
os.environ["MPLBACKEND"] = "Agg"

# The same examples every time, so that a red test is red for everyone. No deadline: the first call
# of a compiled function takes seconds. HYPOTHESIS_PROFILE=search looks for new counterexamples.
settings.register_profile("same", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
