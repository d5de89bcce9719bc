"""Background jobs: reward deadlines, retention, and unfinished deletions."""
