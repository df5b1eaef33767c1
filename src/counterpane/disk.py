"""Files as users name them: checked paths, one kind of error, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from counterpane.errors import (
    CounterpaneError,
    FileFormatError,
    ParameterError,
    PathError,
    no_file,
)

PARTS_OF_SYSTEM = (("dev",), ("proc",))
SHARED_MEMORY = ("dev", "shm")  # its files are ordinary ones
NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF}  # what cannot be synced at all
MAX_RATIO = 200  # of an unpacked file to the packed one; tables of text reach 100
PIECE = 2**20  # bytes unpacked at a time
SAFE_BYTES = 2**24  # that any packed file may unpack to
MAX_SHOWN = 200  # letters of a path in a message


def as_path(path: object) -> Path:
    """A path that a file may have; anything else is refused in one sentence.

    >>> as_path("titanic.cp").name
    'titanic.cp'
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ParameterError(
            f"{type(path).__name__} is no path; name a file by a text or a pathlib.Path."
        )
    text = os.fspath(path)
    if not text:
        raise PathError(errno.ENOENT, text, "the path of a file is empty; name a file.")
    try:
        if b"\0" in os.fsencode(text):
            raise ValueError("it holds a null character")
        os.lstat(text)
    except ValueError as error:  # a lone surrogate is a UnicodeError, and that is one
        words = "it holds a lone surrogate" if isinstance(error, UnicodeError) else str(error)
        raise PathError(
            errno.EINVAL, text, f"{shown_path(text)} can name no file: {words}; name another."
        ) from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise path_error(error, text, "used") from None
    return Path(text)


def shown_path(path: object) -> str:
    """A path in quotes, as messages have it: its middle is left out where it is long."""
    text = str(path)
    if len(text) > MAX_SHOWN:
        text = f"{text[: MAX_SHOWN // 2]}…{text[-MAX_SHOWN // 3 :]}"
    return repr(text)


def path_error(error: OSError, path: object, what: str) -> PathError:
    """What the system said of a file, as an error that names it as the user did."""
    words = error.strerror or str(error) or type(error).__name__
    return PathError(
        error.errno,
        str(path),
        f"{shown_path(path)} cannot be {what}: {words}; check the path, the room on the disk and "
        "your rights, or name another file.",
    )


@contextmanager
def path_errors(path: object, what: str) -> Iterator[None]:
    """Turns what the system raises about `path` into a `PathError`; `what` is read or written."""
    try:
        yield
    except (CounterpaneError, gzip.BadGzipFile):
        raise
    except FileNotFoundError as error:
        if what == "read" and isinstance(path, Path):
            raise no_file(path) from None
        raise path_error(error, path, what) from error
    except OSError as error:
        raise path_error(error, path, what) from error


def open_bytes(path: str | os.PathLike[str], *, packed: bool) -> IO[bytes]:
    """A file open for reading its bytes; if `packed` it is gzipped, and may not swell too much.

    That is found out before anything of it is read: unpacking takes little of the time of reading.
    """
    if not packed:
        return open(path, "rb")
    limit, size = most_unpacked(path), 0
    with gzip.open(path) as file, contextlib.suppress(EOFError, gzip.BadGzipFile, zlib.error):
        while size <= limit and (piece := file.read(PIECE)):
            size += len(piece)
    check_unpacked(path, size, "unpack it with gunzip and pass the result")
    return cast("IO[bytes]", gzip.open(path))


def most_unpacked(path: Any) -> int:
    """The bytes that a packed file, here or in a store, may unpack to."""
    stored = path.stat() if hasattr(path, "stat") else os.stat(path)
    return max(SAFE_BYTES, MAX_RATIO * int(stored.st_size))


def check_unpacked(path: Any, size: int, advice: str) -> None:
    """Refuse a packed file of an unpacked `size` that no usual file has."""
    if size > most_unpacked(path):
        raise FileFormatError(
            f"{shown_path(path)} unpacks to more than {MAX_RATIO} times its size, as no usual file "
            f"does; if you trust it, {advice}."
        )


def is_special(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names a device or a pipe, which is written in place.

    So are files below /dev and /proc: /dev/stdout may lead to a regular file. Files below /dev/shm
    are ordinary files in memory.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    parts = Path(os.path.abspath(path)).parts[1:3]
    of_system = parts[:1] in PARTS_OF_SYSTEM and parts != SHARED_MEMORY
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or of_system


def check_writable(path: object, *, special: bool = True) -> Path:
    """Refuse before the work a file that could not be written after it; nothing is left behind."""
    target = as_path(path)
    if target.is_dir():
        raise PathError(
            errno.EISDIR, str(path), f"{shown_path(path)} is a folder; name a file to write in it."
        )
    if is_special(target):
        if not special or stat.S_ISBLK(target.stat().st_mode):
            raise PathError(
                errno.EINVAL, str(path), f"{shown_path(path)} is a device or a pipe; name a file."
            )
        return target
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise PathError(
            errno.ENOENT,
            str(path),
            f"there is no folder {shown_path(target.parent)}; make it, or name another.",
        )
    with path_errors(path, "written"):
        name = _temporary(folder)
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        name.unlink()
    return target


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write `chunks` under a temporary name beside `path`, sync, and rename over it.

    They are gzipped if the name ends in `.gz`, the same chunks always to the same bytes. A failure
    at any point leaves an existing file as it was and no temporary file behind; a process that is
    killed may leave one. Of several writers of one path, the last one wins, with a whole file.
    Devices and pipes are written in place.
    """
    target = as_path(path)
    packed = _gzipped(chunks) if target.suffix.lower() == ".gz" else chunks
    if target.is_dir():
        check_writable(path)
    if is_special(target):
        _write_through(check_writable(path), packed)
        return
    real = Path(os.path.realpath(target))  # a link keeps pointing to its file
    with path_errors(path, "written"):
        if not real.parent.is_dir():
            check_writable(path)
        name = _temporary(real.parent)
        try:
            with open(name, "xb") as file:
                for chunk in packed:
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):  # there was none, or it is gone now
                shutil.copymode(real, name)
            os.replace(name, real)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                name.unlink()
            raise
        _sync_folder(real.parent)  # the rename itself must reach the disk


def _write_through(path: Path, chunks: Iterable[bytes]) -> None:
    with path_errors(path, "written"), open(path, "wb", buffering=0) as file:
        for chunk in chunks:
            view = memoryview(chunk)
            while view:
                view = view[file.write(view) or 0 :]


def _temporary(folder: Path) -> Path:
    return folder / f".counterpane-{secrets.token_hex(8)}.tmp"


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise
    finally:
        os.close(number)


def _gzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=31)  # the gzip container, without name and time
    for chunk in chunks:
        yield compressor.compress(chunk)
    yield compressor.flush()
