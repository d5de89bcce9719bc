"""The reports: self-contained HTML pages about finished experiments, and about a lift."""

from structuredbandits.report._html_page import write_report
from structuredbandits.report._lift_page import lift_page, write_lift_page

__all__ = ["lift_page", "write_lift_page", "write_report"]
