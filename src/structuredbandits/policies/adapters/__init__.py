"""Policies of other libraries inside Algorithm-C, and ours inside theirs, one file per library.

Each file imports its library, and the rest of the library does not import these files.
"""
