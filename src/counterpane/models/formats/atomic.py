"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write `chunks` under a temporary name beside `path`, sync, and rename over it.

    They are gzipped where the name ends in `.gz`, the same chunks always to the same bytes. A
    failure at any point leaves an existing file as it was and no temporary file behind.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing to its file
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            for chunk in _gzipped(chunks) if Path(path).suffix.lower() == ".gz" else chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename is not None:
            error.filename = str(path)  # the name that the caller knows
        raise
    if os.name == "posix":  # the rename itself must reach the disk
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _gzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=31)  # the gzip container, without name and time
    for chunk in chunks:
        yield compressor.compress(chunk)
    yield compressor.flush()
