"""Policies of other libraries inside Algorithm-C, and ours inside theirs, one file a library.

Each file imports its library, and nothing imports these files: who has no River needs none.
"""
