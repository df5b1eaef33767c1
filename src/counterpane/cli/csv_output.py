"""CSV on standard output: as it is into a pipe, made visible on a terminal."""

from __future__ import annotations

import sys
from typing import Any

from counterpane.errors import visible
from counterpane.lazy import lazy

csv_text = lazy("counterpane.workflow.csv_text")


def print_csv(lines: Any) -> None:
    """Print a header and lines of cells as CSV."""
    for chunk in csv_text.csv_chunks(lines):
        text = chunk.decode()
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
