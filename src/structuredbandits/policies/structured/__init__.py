"""Algorithms that use the structure, one file each."""
