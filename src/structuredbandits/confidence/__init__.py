"""What has been seen, and which θ are still plausible after it.

This room knows structures and evidence; it must not know who chooses arms or where rewards come
from.
"""
