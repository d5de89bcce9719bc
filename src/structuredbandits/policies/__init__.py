"""Policies: classical algorithms, the paper's Algorithm-C around any of them, and its competitors.

A policy is described by a frozen `Algorithm`; a `Policy` is one run of it. The package does not
depend on where rewards come from nor on how runs are averaged.
"""
