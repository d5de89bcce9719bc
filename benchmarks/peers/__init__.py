"""Other libraries' policies on the same problems: their speed and their correctness."""
