"""The report: one self-contained HTML page about finished experiments."""

from structuredbandits.report._html_page import write_report

__all__ = ["write_report"]
