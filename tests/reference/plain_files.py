"""Model files as other tools see them: without the comments that keep the original names."""

from __future__ import annotations

import re
from pathlib import Path

COMMENT = re.compile(rb"^(//|%|#|<!--) counterpane[:+][^\n]*\n", re.MULTILINE)


def uncommented(path: Path) -> Path:
    """The path of a file that was stripped of the comments, in place."""
    path.write_bytes(COMMENT.sub(b"", path.read_bytes()))
    return path
