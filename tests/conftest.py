"""Settings that all tests share."""

import os

from hypothesis import HealthCheck, settings

# Set before matplotlib is imported: tests draw to files, never to a window.
os.environ["MPLBACKEND"] = "Agg"

# The same examples every time, so that a failure is reproducible. There is no deadline: a function
# is compiled at its first call, which can take minutes on a busy machine.
# HYPOTHESIS_PROFILE=search looks for new counterexamples.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("same", unhurried, derandomize=True)
settings.register_profile("search", unhurried, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
