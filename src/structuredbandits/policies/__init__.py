"""Who chooses: classical algorithms, the paper's Algorithm-C around any of them, and its rivals.

A policy is described by a frozen `Algorithm`; a `Policy` is one run of it. This room must not know
where rewards come from nor how runs are averaged.
"""
