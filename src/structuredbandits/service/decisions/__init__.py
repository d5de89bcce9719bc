"""Decisions and rewards: commands, group commit, transactions, and the choice of an arm."""
