"""Files in object stores and on web servers, named by URLs: listed, opened with retries, fetched.

pyarrow's file systems serve s3, gs and abfs; fsspec serves https and all other schemes. Keys and
tokens come from the environment or the URL, and are in no message.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from counterpane.errors import CounterpaneError, DataError, MissingExtraError, NoFileError

ATTEMPTS = 4  # of a read
PAUSE = 0.2  # seconds before the second attempt; each later one waits three times as long
PIECE = 2**20  # bytes fetched at a time
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_NATIVE = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "file")  # that pyarrow serves
_ABSENT = re.compile(r"NO_SUCH|NOT_FOUND|NoSuch|\b404\b|does not exist", re.I)
_DENIED = re.compile(r"ACCESS_DENIED|Forbidden|INVALID_ACCESS|SIGNATURE|InvalidAccess|Unauthorized"
                     r"|\b40[13]\b|credential", re.I)  # fmt: skip


def is_url(source: object) -> bool:
    """Whether `source` names a file in a store or on a server."""
    return isinstance(source, str) and _URL.match(source) is not None


def without_secrets(text: str) -> str:
    """A text whose URLs have neither user, password nor query.

    >>> without_secrets("no file s3://key:secret@visits/a.csv?token=x here")
    'no file s3://visits/a.csv here'
    """
    text = re.sub(r"(://)[^/@\s]*:[^/@\s]*@", r"\1", text)
    return re.sub(r"(://[^\s?'\"]+)\?[^\s'\")]*", r"\1", text)


@dataclass(frozen=True, order=True)
class RemotePath:
    """A file or folder of a store: what file readers use of a `Path`, and how to open it."""

    url: str  # without secrets
    key: str = field(compare=False, repr=False)  # its name in the file system
    files: Any = field(compare=False, repr=False)  # a file system of pyarrow
    size: int = field(compare=False, default=0)
    changed: Any = field(compare=False, default=None)  # when it was last changed

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(unquote(urlsplit(self.url).path)).name

    @property
    def suffix(self) -> str:
        """The last suffix of the name."""
        return PurePosixPath(self.name).suffix

    def absolute(self) -> RemotePath:
        """Itself."""
        return self

    def stat(self) -> Any:
        """Its size, as a `Path` tells it."""
        return SimpleNamespace(st_size=self.size)

    def relative_to(self, root: RemotePath) -> PurePosixPath:
        """The path below a folder."""
        return PurePosixPath(self.url).relative_to(PurePosixPath(root.url))

    def open(self, _mode: str = "rb") -> RetryingFile:
        """The file, open for reading; an error if it is another than when it was listed."""
        with remote_errors(self.url):
            now = self.files.get_file_info([self.key])[0]
        if now.type.name == "NotFound":
            raise no_remote_file(self.url)
        if (now.size, now.mtime) != (self.size, self.changed):
            raise DataError(
                f"file {self.url!r} changed after it was listed; make the source again."
            )
        return RetryingFile(self)


FilePath = Path | RemotePath
"""A file of this machine or of a store."""


class RetryingFile(io.RawIOBase):
    """A file in a store whose ranges are read again if a read fails for a moment."""

    def __init__(self, path: RemotePath) -> None:
        super().__init__()
        self._path, self._at = path, 0
        self._file: Any = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {0: 0, 1: self._at, 2: self._path.size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        left = max(self._path.size - self._at, 0)
        size = left if size is None or size < 0 else min(size, left)
        with remote_errors(self._path.url):
            data = with_retries(lambda: self._range(size), self._drop) if size else b""
        self._at += len(data)
        return data

    def _range(self, size: int) -> bytes:
        if self._file is None:
            self._file = self._path.files.open_input_file(self._path.key)
        self._file.seek(self._at)
        data = bytes(self._file.read(size))
        if len(data) < size:
            raise OSError(f"only {len(data)} of {size} bytes came")
        return data

    def _drop(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(Exception):  # the connection may be lost
                file.close()

    def close(self) -> None:
        self._drop()
        super().close()


def with_retries(read: Any, drop: Any) -> Any:
    """The result of `read`; a failure that may pass is followed by `drop` and another attempt."""
    for attempt in range(ATTEMPTS):
        try:
            return read()
        except Exception as error:  # stores share no base class of errors
            drop()
            lasting = _ABSENT.search(str(error)) or _DENIED.search(str(error))
            if attempt == ATTEMPTS - 1 or lasting or isinstance(error, FileNotFoundError):
                raise
            time.sleep(PAUSE * 3**attempt)
    raise AssertionError("unreachable")


@contextmanager
def remote_errors(url: str) -> Iterator[None]:
    """Turns what a store raises into one sentence without secrets."""
    try:
        yield
    except CounterpaneError:
        raise
    except FileNotFoundError:
        raise no_remote_file(url) from None
    except ImportError as error:
        raise MissingExtraError(
            f"{url!r} cannot be read: {error}; install counterpane[remote]."
        ) from None
    except Exception as error:
        words = without_secrets(" ".join(str(error).split()) or type(error).__name__)[:300]
        if _ABSENT.search(words):
            raise no_remote_file(url) from None
        if isinstance(error, PermissionError) or _DENIED.search(words):
            raise DataError(
                f"access to {url!r} is denied; check the keys in the environment, the region and "
                "the right to read it."
            ) from None
        raise DataError(
            f"{url!r} cannot be read: {words}; check the network and the address, then try again."
        ) from None


def no_remote_file(url: str) -> NoFileError:
    """The error of a URL that names nothing."""
    store = urlsplit(url).netloc
    return NoFileError(
        f"there is no file or folder {url!r}; check the name, and that {store!r} still exists."
    )


def open_store(url: str) -> tuple[RemotePath, str]:
    """The folder or file that a URL names, not yet looked at, and its pattern ("" if it has none).

    The pattern is relative to the folder.
    """
    shown = without_secrets(url)
    with remote_errors(shown):
        parts = urlsplit(url)
        if parts.scheme == "s3":
            files, key = _s3(url)
        elif parts.scheme in _NATIVE:
            files, key = importlib.import_module("pyarrow.fs").FileSystem.from_uri(url)
        else:
            fs = importlib.import_module("pyarrow.fs")
            core = importlib.import_module("fsspec.core")
            store, key = core.url_to_fs(url)
            files = fs.PyFileSystem(fs.FSSpecHandler(store))
    if parts.scheme.startswith("http") or not re.search(r"[*\[]", shown):
        return RemotePath(shown.rstrip("/"), key.rstrip("/"), files), ""
    fixed = re.split(r"/[^/]*[*\[]", shown, maxsplit=1)[0]
    pattern = shown[len(fixed) + 1 :]
    return RemotePath(fixed, key[: len(key) - len(pattern) - 1], files), pattern


def _s3(url: str) -> tuple[Any, str]:
    """The file system and key of an S3 URL; region and server by the URL or the environment."""
    fs = importlib.import_module("pyarrow.fs")
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    server = query.get("endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3") or (
        os.environ.get("AWS_ENDPOINT_URL", "")
    )  # fmt: skip
    region = query.get("region") or os.environ.get("AWS_REGION") or (
        os.environ.get("AWS_DEFAULT_REGION")
    )  # fmt: skip
    if not region and not server:
        return fs.FileSystem.from_uri(url)  # type: ignore[no-any-return]  # finds the region
    scheme, _, host = server.rpartition("://")
    options = {"region": region or "us-east-1"}
    if server:
        options |= {"endpoint_override": host, "scheme": query.get("scheme", scheme or "https")}
    if parts.username:
        options["access_key"] = unquote(parts.username)
        options["secret_key"] = unquote(parts.password or "")
    if query.get("anonymous", "").lower() == "true":
        options = {**options, "anonymous": True}  # type: ignore[dict-item]
    return fs.S3FileSystem(**options), parts.netloc.rpartition("@")[2] + unquote(parts.path)


def list_remote(url: str) -> tuple[list[RemotePath], RemotePath]:
    """All files that a URL of a file, folder or pattern names, sorted, and their folder."""
    root, pattern = open_store(url)
    fs = importlib.import_module("pyarrow.fs")
    with remote_errors(root.url):
        info = root.files.get_file_info([root.key])[0]
        if info.type.name == "File":
            above = RemotePath(root.url.rpartition("/")[0], "", root.files)
            return [_listed(root.url, info, root.files)], above
        if info.type.name == "NotFound":
            raise no_remote_file(root.url)
        inside = root.files.get_file_info(fs.FileSelector(root.key, recursive=True))
    names = _translated(pattern) if pattern else re.compile(".*")
    paths = []
    for info in inside:
        below = info.path[len(root.key) :].lstrip("/")
        if info.type.name == "File" and names.fullmatch(below):
            paths.append(_listed(f"{root.url}/{below}", info, root.files))
    return sorted(paths), root


def _listed(url: str, info: Any, files: Any) -> RemotePath:
    return RemotePath(url, info.path, files, int(info.size or 0), info.mtime)


def _translated(pattern: str) -> re.Pattern[str]:
    """A pattern of paths as a regular expression: `*` stays within a folder, `**` does not."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|\*\*|\*|\[[^\]]*\])", pattern)
    return re.compile("".join(
        signs.get(p) or (p if p.startswith("[") else re.escape(p)) for p in parts))  # fmt: skip


@contextmanager
def fetched(path: RemotePath) -> Iterator[Path]:
    """A copy of a file in a temporary folder; messages about the copy name the file itself."""
    with tempfile.TemporaryDirectory(prefix="counterpane-") as folder:
        copy = Path(folder, path.name)
        with closing(path.open()) as source, copy.open("wb") as target:
            while piece := source.read(PIECE):
                target.write(piece)
        try:
            yield copy
        except CounterpaneError as error:
            error.args = (str(error).replace(str(copy), path.url), *error.args[1:])
            error.parts = tuple(
                p.replace(str(copy), path.url) if isinstance(p, str) else p for p in error.parts
            )
            raise
