"""Output in encodings without some of our characters, such as cp1252 or ASCII."""

from __future__ import annotations

import codecs
import sys

SUBSTITUTES = {
    "—": "-", "–": "-", "−": "-", "─": "-", "━": "-", "│": "|", "┃": "|", "→": "->", "←": "<-",
    "↔": "<->", "…": "...", "≥": ">=", "≤": "<=", "±": "+-", "×": "x", "·": ".", "•": "*",
    "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "|", "▍": "|", "▎": "|", "▏": "|", "“": '"',
    "”": '"', "‘": "'", "’": "'", "²": "^2", "Σ": "sum",
}  # fmt: skip


def substitute(error: UnicodeError) -> tuple[str, int]:
    """Return a text in place of characters that an encoding lacks: an error handler of codecs.

    >>> codecs.register_error("counterpane", substitute)
    >>> "a → b, 3 × é".encode("ascii", "counterpane")
    b'a -> b, 3 x ?'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SUBSTITUTES.get(sign, "?") for sign in lacking), error.end


def use_substitutes() -> None:
    """Let standard output and standard error replace what they cannot encode."""
    codecs.register_error("counterpane", substitute)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="counterpane")
