"""Subjects: their state, their history, and their deletion."""
