"""The report: one page that shows finished experiments and needs no other file.

This room must not know how experiments are run.
"""

from structuredbandits.report.page import write_report

__all__ = ["write_report"]
