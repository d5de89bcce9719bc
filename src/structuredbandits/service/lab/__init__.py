"""The lab: short runs on a chosen or drawn structure, shown round by round.

It uses the same policies as the rest of the library and stores nothing.
"""
