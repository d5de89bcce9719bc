"""The console and the lab for a browser: static files that use the service's HTTP API only."""
