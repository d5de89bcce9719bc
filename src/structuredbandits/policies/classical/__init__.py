"""Classical algorithms, one file each: they use arms and rewards, but no structure."""
