"""Experiments of the service: stored rows, cached objects, and pictures of their structures."""
