"""Settings that all tests share."""

import os

from hypothesis import HealthCheck, settings

# Before anything imports matplotlib: tests draw into files, never into a window.
os.environ["MPLBACKEND"] = "Agg"

# The same examples every time, so that a red test is red for everyone. No limits of time: a
# function is compiled at its first call, which takes a busy machine minutes, perhaps while an
# example is made. HYPOTHESIS_PROFILE=search looks for new counterexamples.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("same", unhurried, derandomize=True)
settings.register_profile("search", unhurried, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
