"""A plain twin of every policy: the paper's steps as loops over arms and all θ, each round anew.

It is written from the formulas to be read, not to be fast, and it imports nothing of the library:
what agrees with it to the last bit is right for another reason than being the same code.
"""
