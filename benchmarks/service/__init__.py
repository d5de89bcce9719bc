"""Throughput and latency of the service, compared with a handler that does one durable insert."""
