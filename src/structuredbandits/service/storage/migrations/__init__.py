"""The history of the tables: one file a change, applied in order."""
