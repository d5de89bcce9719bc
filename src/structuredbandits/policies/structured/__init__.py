"""Algorithms that use the structure in their own way, one file each."""
