"""What is done with models: links, explanations, filled gaps, odd rows, new rows, pictures."""

from counterpane.tools.explaining import explain_row
from counterpane.tools.imputing import impute_frame
from counterpane.tools.links import model_links, strengths_of
from counterpane.tools.odd_rows import odd_rows
from counterpane.tools.pictures import model_html, write_picture
from counterpane.tools.updating import updated_network

__all__ = [
    "explain_row",
    "impute_frame",
    "model_html",
    "model_links",
    "odd_rows",
    "strengths_of",
    "updated_network",
    "write_picture",
]
