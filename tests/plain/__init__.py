"""A plain twin of every policy: the paper's steps as loops over all arms and θ in every round.

The code is written from the formulas to be readable, not fast, and imports nothing of the library,
so that agreement to the last bit is evidence that both are right.
"""
