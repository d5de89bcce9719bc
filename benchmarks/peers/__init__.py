"""Other libraries' policies on the same problems: how fast they are, and whether they are right."""
