"""A report of one model: a single HTML file that anyone can open, zoom, search and print."""

from counterpane.report.page import write_report

__all__ = ["write_report"]
