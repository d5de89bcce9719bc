"""Benchmarks of the library and of alternatives, as ratios within one run."""
