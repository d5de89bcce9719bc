"""Classical algorithms, one file each: they know arms and rewards, and no structure."""
