"""The migrations of the tables: one file per change, applied in order."""
