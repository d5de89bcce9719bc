"""Reports over many decisions: the summary, aggregates, and the exported event log."""
