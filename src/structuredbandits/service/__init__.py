"""Decisions over HTTP: experiments, subjects, decisions and rewards, stored durably."""
