"""API keys and how a running service looks them up."""
