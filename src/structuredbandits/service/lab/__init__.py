"""The lab: short runs on a chosen or drawn structure, to be watched round by round.

It computes with the same policies as everything else, keeps nothing between requests, and must not
know experiments, subjects or databases.
"""
