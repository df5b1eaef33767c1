"""Files of one kind as one table: located, compared, and with the columns of their folders."""

from __future__ import annotations

import copy
import re
from abc import abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from itertools import takewhile
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Self
from urllib.parse import unquote

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers, n_rows
from counterpane.data.readers.blocks import Block, BlockReader
from counterpane.data.remote import (
    FilePath,
    is_url,
    list_remote,
    no_remote_file,
    without_secrets,
)
from counterpane.disk import as_path, path_errors
from counterpane.errors import (
    CounterpaneError,
    DataError,
    FileFormatError,
    NoFileError,
    ParameterError,
    no_file,
    short_words,
)
from counterpane.memory import memory_errors

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, a pattern such as `"visits/*.parquet"`, or a list of these."""

DELTA_LOG = "_delta_log"  # the folder that makes a folder a Delta table
NOTHING = "__HIVE_DEFAULT_PARTITION__"  # how Hive, Spark and others spell a missing cell
KINDS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".csv": "text", ".tsv": "text", ".tab": "text", ".txt": "text",
}  # fmt: skip
_INTEGER = re.compile(r"-?[0-9]{1,18}")

Values = Mapping[FilePath, int | str | None]
"""The value of one column in each file, by its absolute path."""


def file_kind(path: Any) -> str | None:
    """The kind of a file by its suffix: "parquet", "arrow" or "text" (also .gz), else None."""
    full = PurePath(path.name)
    name = full.with_suffix("") if full.suffix.lower() == ".gz" else full
    kind = KINDS.get(name.suffix.lower())
    return kind if name is full or kind == "text" else None


def locate_files(paths: Paths) -> list[tuple[FilePath, FilePath]]:
    """The files of paths, each with the root below which names of folders may be columns.

    Those of a folder or a pattern are sorted by name; a list keeps its order.
    """
    alone = isinstance(paths, str | PathLike)
    if not alone and (isinstance(paths, bytes) or not isinstance(paths, Sequence)):
        raise ParameterError(f"paths must be a path or a list of paths, got {paths!r}.")
    located: list[tuple[FilePath, FilePath]] = []
    for name in [paths] if isinstance(paths, str | PathLike) else paths:
        if is_url(name):
            located += _located_far(str(name))
            continue
        path = as_path(name)
        if path.is_file():
            located.append((path, path.parent if alone else Path(path.anchor)))
            continue
        if path.is_dir():
            root = path
            if (path / DELTA_LOG).is_dir():
                raise _no_delta(path)
            with path_errors(path, "read"):  # what is in it may vanish meanwhile
                inside = [p for p in path.rglob("*") if file_kind(p) and p.name[0] not in "._"]
        elif has_magic(str(path)):
            root = Path(*takewhile(lambda part: not has_magic(part), path.parts))
            inside = [Path(p) for p in glob(str(path), recursive=True)]
        else:
            raise no_file(path)
        files = sorted(p for p in inside if p.is_file())
        if not files:
            raise _no_known_file(path)
        located += [(file, root) for file in files]
    if not located:
        raise NoFileError("the list of files is empty; at least one is needed.")
    return located


def _located_far(url: str) -> list[tuple[Any, Any]]:
    """The files that a URL names, as `locate_files` gives them."""
    paths, root = list_remote(url)
    if any(path.relative_to(root).parts[0] == DELTA_LOG for path in paths):
        raise _no_delta(root)
    if len(paths) > 1 or without_secrets(url) != str(paths[0] if paths else ""):
        paths = [p for p in paths if file_kind(p) and not _is_hidden(p.relative_to(root))]
    if not paths:
        raise _no_known_file(root)
    return [(path, root) for path in paths]


def _is_hidden(path: PurePath) -> bool:
    """Whether a name of a path begins as those of logs and temporary files do."""
    return any(part[0] in "._" and "=" not in part for part in path.parts)


def _no_known_file(path: Any) -> NoFileError:
    return NoFileError(f"{str(path)!r} holds no file of a known kind: {', '.join(KINDS)}.")


def _no_delta(path: Any) -> DataError:
    return DataError(
        f"{str(path)!r} is a Delta table, whose folder may hold files that it no longer uses; "
        "pass it to counterpane.read, or as deltalake.DeltaTable(…)."
    )


class FileReader(BlockReader):
    """Files with the same columns, and columns in the names of their folders; can be pickled.

    A type is that of the first file. Others may store the same kind of values in another width. A
    column that the files hold themselves is taken from there.
    """

    what = "the files"

    def __init__(self, located: Sequence[tuple[FilePath, FilePath]]) -> None:
        self.paths = tuple(path for path, _ in located)
        first: dict[str, str] = {}
        for path in self.paths:
            with reading(path):
                kinds = self.kinds(path)
            first = first or kinds
            self._compare(path, kinds, first)
        self.folders = {n: v for n, v in folder_columns(located).items() if n not in first}
        self.names = (*first, *self.folders)

    def blocks(
        self, names: Sequence[str], as_text: Collection[str] = ()
    ) -> Generator[Block, None, None]:
        for path in self.paths:
            yield from self.read(path, names, as_text)

    def read(
        self,
        path: FilePath,
        names: Sequence[str],
        as_text: Collection[str] = (),
        groups: range | None = None,
    ) -> Generator[Block, None, None]:
        """The cells of one file, or of some of its `groups` of rows."""
        stored = [name for name in dict.fromkeys(names) if name not in self.folders]
        columns = stored or [next(name for name in self.names if name not in self.folders)]
        with reading(path):
            for block in self._blocks(path, columns, as_text, groups):
                found = dict(zip(columns, block, strict=True))
                for name in self.folders.keys() & set(names):
                    found[name] = folder_cells(name, self.folders[name], path, n_rows(block[0]))
                yield [found[name] for name in names]

    @property
    def n_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.paths)

    def groups(self, path: FilePath) -> list[int] | None:
        """The number of rows of each row group of a file; None if its kind has no row groups."""
        return None

    def only(self, paths: Collection[FilePath]) -> Self:
        """A reader that knows some files, by their absolute paths, so that it is small to send."""
        reader = copy.copy(self)
        reader.paths = tuple(paths)
        reader.folders = {name: {path: values[path] for path in paths}
                          for name, values in self.folders.items()}  # fmt: skip
        return reader

    def _compare(self, path: FilePath, kinds: dict[str, str], first: dict[str, str]) -> None:
        """Refuse a file with other columns than the first one."""
        if kinds.keys() != first.keys():
            odd = sorted(kinds.keys() ^ first.keys())[0]
            present, absent = (path, self.paths[0]) if odd in kinds else (self.paths[0], path)
            raise _lacking(odd, f"in file {str(present)!r} and not in {str(absent)!r}")
        for name, kind in kinds.items():
            if kind and first[name] and kind != first[name]:
                raise DataError(
                    f"column {name!r} holds {first[name]} in file {str(self.paths[0])!r} and "
                    f"{kind} in {str(path)!r}; write it as one type."
                )

    @abstractmethod
    def kinds(self, path: FilePath) -> dict[str, str]:
        """The kind of values of each column of a file, by name; "" if only the rows show it."""

    @abstractmethod
    def _blocks(
        self, path: FilePath, names: Sequence[str], as_text: Collection[str], groups: range | None
    ) -> Iterator[Block]: ...


@contextmanager
def reading(path: FilePath) -> Iterator[None]:
    """Turns what a library raises about a file into one sentence."""
    try:
        with memory_errors(f"file {str(path)!r}"):
            yield
    except CounterpaneError:
        raise
    except FileNotFoundError:
        raise (no_file(path) if isinstance(path, Path) else no_remote_file(path.url)) from None
    except (ValueError, OSError, LookupError, NotImplementedError) as error:  # Arrow's are these
        kind = file_kind(path)
        raise FileFormatError(
            f"file {str(path)!r} cannot be read as {kind}: {short_words(error)}"
        ) from None


# ---- columns in the names of folders -------------------------------------------------------------


def folder_columns(files: Sequence[tuple[Any, Any]]) -> dict[str, Values]:
    """The columns in the names of the folders between each file and its root, by name.

    They are integers if all values are, with leading zeros or not, as other readers have it; else
    texts. Percent signs are decoded.

    >>> root = Path("/visits")
    >>> folder_columns([(root / "month=01" / "a.csv", root), (root / "month=2" / "a.csv", root)])
    {'month': {PosixPath('/visits/month=01/a.csv'): 1, PosixPath('/visits/month=2/a.csv'): 2}}
    """
    spelled = {path.absolute(): _spelled(path.relative_to(root).parts[:-1]) for path, root in files}
    first, names = next(iter(spelled.items()))
    for path, values in spelled.items():
        for odd in sorted(values.keys() ^ names.keys()):
            present, absent = (path, first) if odd in values else (first, path)
            raise _lacking(
                odd, f"in the folders of file {str(present)!r} and not of {str(absent)!r}"
            )
    return {name: _typed({path: values[name] for path, values in spelled.items()})
            for name in names}  # fmt: skip


def folder_cells(name: str, values: Values, path: FilePath, rows: int) -> Column:
    """A column that repeats the value of a file in `rows` rows."""
    value = values[path.absolute()]
    if any(isinstance(each, str) for each in values.values()):
        states = () if value is None else (value,)
        return Labels(name, states, np.full(rows, len(states) - 1, dtype=np.int8))
    missing = np.full(rows, value is None)
    return Numbers(name, np.full(rows, 0 if value is None else value, dtype=np.int64), missing)


def _lacking(name: str, where: str) -> DataError:
    return DataError(f"column {name!r} is {where}; all files need the same columns.")


def _spelled(folders: Sequence[str]) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for folder in folders:
        name, sign, text = folder.partition("=")
        if name and sign:
            values[unquote(name)] = None if text == NOTHING else unquote(text)
    return values


def _typed(values: dict[FilePath, str | None]) -> Values:
    integers = all(value is None or _INTEGER.fullmatch(value) for value in values.values())
    return {path: int(value) if integers and value is not None else value
            for path, value in values.items()}  # fmt: skip
