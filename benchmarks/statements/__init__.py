"""Measure what the statistical statements of the library promise; see docs/statements.md."""
