"""Benchmarks: how fast the library is beside the alternatives, as ratios within one run."""
