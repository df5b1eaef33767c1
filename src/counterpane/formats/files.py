"""Model files as bytes: read piece by piece, plain or gzipped."""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterator
from typing import NoReturn

from counterpane.disk import open_bytes, path_errors
from counterpane.errors import FileFormatError
from counterpane.features import MAX_CELLS

PIECE = 2**16  # bytes read at a time
MAX_BYTES = 2**30  # of text, after decompression
MAX_TOKEN = 2**20  # characters of one name, number, comment or tag


class Source:
    """The bytes of the file at `path`, and the complaints about them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        self.n_bytes = 0  # read so far, unpacked
        self._n_numbers = 0
        self.comments: list[tuple[str, int]] = []  # ours, and the line of each

    def comment(self, text: str, line: int) -> None:
        """Keep a comment if this package has written it."""
        text = text.strip("/%# \t\r\n")
        if text.startswith("counterpane"):
            self.comments.append((text, line))

    def pieces(self, limit: int | None = None) -> Iterator[bytes]:
        """The bytes in pieces, unzipped where the file starts as gzip does; at most `limit`."""
        limit = MAX_BYTES if limit is None else limit
        try:
            with path_errors(self.path, "read"):
                with open(self.path, "rb") as plain:
                    packed = plain.read(2) == b"\x1f\x8b"
                with open_bytes(self.path, packed=packed) as file:
                    while piece := file.read(PIECE):
                        self.n_bytes += len(piece)
                        if self.n_bytes > limit:
                            raise FileFormatError(f"{self.path!r} holds more than {limit:,} bytes.")
                        yield piece
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileFormatError(f"{self.path!r} is damaged or cut short: {error}.") from None

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise a `FileFormatError` for `line`; a message that quotes too much is cut."""
        message = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", message)
        if len(message) > 400:
            message = f"{message[:200]} … {message[-150:]}"
        stop = "" if message.endswith((".", "?")) else "."
        raise FileFormatError(f"{self.path!r}, line {line}: {message}{stop}")

    def probability(self, text: str, line: int, inside: str) -> float:
        """The number that `text` spells: finite, not negative."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf or "_" in text:
            self.fail(line, f"{text[:40]!r} stands in {inside} where a probability is needed")
        self._n_numbers += 1
        if self._n_numbers > MAX_CELLS:
            self.fail(line, f"the file holds more than {MAX_CELLS:,} numbers")
        return number
