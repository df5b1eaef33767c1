"""Pages of one model: a report, and the explorer, each a single HTML file for anyone to open."""

from counterpane.report.explore import explore_model
from counterpane.report.page import write_report

__all__ = ["explore_model", "write_report"]
