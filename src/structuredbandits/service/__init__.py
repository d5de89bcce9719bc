"""Decisions over HTTP: experiments, subjects, decisions and rewards, with nothing lost.

This room knows storage, transactions and HTTP. It must not know the command line.
"""
