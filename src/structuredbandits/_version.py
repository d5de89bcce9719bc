"""The one place that states the version; it must not import anything."""

__version__ = "0.1.0"
