"""Blocks of columns from parquet, Arrow and delimited text files, one block at a time."""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from glob import glob, has_magic
from itertools import takewhile
from os import PathLike
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from counterpane.boundary import check_kind
from counterpane.counts.engines.arrow_cells import Block, ColumnTypes, family, pyarrow_module
from counterpane.counts.engines.arrow_size import unpacked_size
from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.data.csv import FileOptions, check_delimiter, open_text
from counterpane.data.headers import split_best
from counterpane.data.parquet import MOST_SHARED, measured_pages, parquet_size
from counterpane.data.parquet_pages import PageSizes
from counterpane.data.remote import (
    FilePath,
    RemotePath,
    is_url,
    list_remote,
    no_remote_file,
    without_secrets,
)
from counterpane.disk import MAX_RATIO, as_path, check_unpacked, path_errors
from counterpane.errors import (
    CounterpaneError,
    DataError,
    FileFormatError,
    NoFileError,
    no_file,
)
from counterpane.memory import memory_errors

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, a pattern such as `"visits/*.parquet"`, or a list of these."""

DELTA_LOG = "_delta_log"  # the folder that makes a folder a Delta table
HEAD = 2**16  # bytes of a text file of a store that tell its delimiter
LARGE_FILE = 2**29  # bytes; larger files are read block by block
MAPPED = 2**26  # bytes; larger batches are memory-mapped
RUNS = 32  # cells that a byte of a parquet file stands for, if it has long runs of equal cells
_KINDS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".csv": "text", ".tsv": "text", ".tab": "text", ".txt": "text",
}  # fmt: skip


def find_files(paths: Paths) -> tuple[FilePath, ...]:
    """The files of paths: those of a folder or a pattern sorted by name, a list in its order."""
    return tuple(path for path, _ in _located(paths))


def _located(paths: Paths) -> list[tuple[FilePath, FilePath]]:
    """The files of paths, each with the root below which names of folders may be columns."""
    alone = isinstance(paths, str | PathLike)
    located: list[tuple[FilePath, FilePath]] = []
    if not alone:
        check_kind("paths", "Sequence", paths)
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
            fixed = takewhile(lambda part: not has_magic(part), path.parts)
            root = Path(*fixed)
            inside = [Path(p) for p in glob(str(path), recursive=True)]
        else:
            raise no_file(path)
        files = sorted(p for p in inside if p.is_file())
        if not files:
            raise NoFileError(f"{str(path)!r} holds no file of a known kind: {', '.join(_KINDS)}.")
        located += [(file, root) for file in files]
    if not located:
        raise NoFileError("the list of files is empty; at least one is needed.")
    return located


def _located_far(url: str) -> list[tuple[Any, Any]]:
    """The files that a URL names, as `_located` gives them."""
    paths, root = list_remote(url)
    if any(path.relative_to(root).parts[0] == DELTA_LOG for path in paths):
        raise _no_delta(root)
    if len(paths) > 1 or without_secrets(url) != str(paths[0] if paths else ""):
        paths = [p for p in paths if file_kind(p) and not _is_hidden(p.relative_to(root))]
    if not paths:
        raise NoFileError(f"{str(root)!r} holds no file of a known kind: {', '.join(_KINDS)}.")
    return [(path, root) for path in paths]


def _is_hidden(path: PurePath) -> bool:
    """Whether a name of a path begins as those of logs and temporary files do."""
    return any(part[0] in "._" and "=" not in part for part in path.parts)


def _no_delta(path: Any) -> DataError:
    return DataError(
        f"{str(path)!r} is a Delta table, whose folder may hold files that it no longer uses; "
        "pass it to counterpane.read, or as deltalake.DeltaTable(…)."
    )


def file_kind(path: Any) -> str | None:
    """The kind of a file by its suffix: "parquet", "arrow" or "text" (also .gz), else None."""
    full = PurePath(path.name)
    name = full.with_suffix("") if full.suffix.lower() == ".gz" else full
    kind = _KINDS.get(name.suffix.lower())
    return kind if name is full or kind == "text" else None


def is_large_file(path: FilePath) -> bool:
    """Whether one file is read block by block: its size, or what a few runs stand for, is large."""
    kind = file_kind(path)
    if kind == "arrow" or kind is None:
        return kind is not None
    return path.stat().st_size >= LARGE_FILE or (kind == "parquet" and _swells(path))


def _swells(path: FilePath) -> bool:
    """Whether a small parquet file makes a large table; False if that is refused, or no parquet."""
    try:
        with reading(path), opened(path) as file:
            _, unpacked, need = parquet_size(file)
    except CounterpaneError:  # whoever reads it says what is wrong
        return False
    size = path.stat().st_size
    return need >= LARGE_FILE and RUNS * size < unpacked <= MAX_RATIO * size


def open_files(paths: Paths, *, delimiter: str | None = None) -> FileReader:
    """The reader of files that are all of one kind."""
    located = _located(paths)
    files, folders = [path for path, _ in located], folder_columns(located)
    kinds = {file_kind(path): path for path in files}
    if None in kinds or len(kinds) > 1:
        raise FileFormatError(
            f"the files {', '.join(repr(str(p)) for p in kinds.values())} are not of one known "
            f"kind; all must end in one of {', '.join(_KINDS)}."
        )
    if "text" in kinds:
        return TextReader(files, delimiter, folders)
    return (ParquetReader if "parquet" in kinds else ArrowReader)(files, folders)


class BlockReader(ColumnTypes, ABC):
    """Columns that are read block by block; `folders` are those in the names of folders."""

    folders: Mapping[str, Values] = MappingProxyType({})

    def blocks(self, names: Sequence[str]) -> Generator[Block, None, None]:
        """The cells of some columns, in the order of the rows, block by block."""
        with closing(self._cells(names)) as blocks:
            for block in blocks:
                yield self._as_before(names, block)

    def _as_before(self, names: Sequence[str], block: Block) -> Block:
        """`block`, checked: its columns have the types that they had when the source was made."""
        for name, values in zip(names, block, strict=True):
            old, new = self.types[name], values.type
            if old != new and family(old) != family(new):
                raise DataError(
                    f"column {name!r} held {old} when the source was made, and holds {new} now; "
                    "make it again."
                )
        return block

    @abstractmethod
    def _cells(self, names: Sequence[str]) -> Generator[Block, None, None]: ...


class FileReader(BlockReader):
    """Files with the same columns, and columns in the names of `folders`; can be pickled.

    A type is that of the first file. Others may store the same kind of values in another width. A
    column that the files hold themselves is taken from there.
    """

    def __init__(
        self, paths: Sequence[FilePath], folders: Mapping[str, Values], *, texts: bool = False
    ) -> None:
        super().__init__({}, what="the files", texts=texts)
        self.paths = tuple(paths)
        self.mixed = False  # whether types differ in width
        for path in self.paths:
            with reading(path):
                schema = self._schema(path)
                names, types = schema.names, schema.types
            self._compare(path, dict(zip(names, types, strict=True)), names)
        self.folders = {name: v for name, v in folders.items() if name not in self.types}
        for name, values in self.folders.items():
            kind = "int64" if is_whole(values) and not self.texts else "string"
            self.types[name] = pyarrow_module("lib").type_for_alias(kind)

    def _compare(self, path: FilePath, types: dict[str, Any], names: list[str]) -> None:
        if len(types) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"file {str(path)!r}: the column name {twice!r} occurs twice.")
        first = self.types or types
        if types.keys() != first.keys():
            odd = sorted(types.keys() ^ first.keys())[0]
            present, absent = (path, self.paths[0]) if odd in types else (self.paths[0], path)
            raise DataError(
                f"column {odd!r} is in file {str(present)!r} and not in {str(absent)!r}; all files "
                "need the same columns."
            )
        for name, kind in types.items():
            if family(kind) != family(first[name]):
                raise DataError(
                    f"column {name!r} holds {first[name]} in file {str(self.paths[0])!r} and "
                    f"{kind} in {str(path)!r}; write it as one type."
                )
            self.mixed |= kind != first[name]
        self.types = first

    def _cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        for path in self.paths:
            yield from self.read(path, names)

    def read(
        self, path: FilePath, names: Sequence[str], groups: range | None = None
    ) -> Generator[Block, None, None]:
        """The cells of one file, or of some of its `groups` of rows."""
        stored = [name for name in names if name not in self.folders]
        columns = stored or [next(name for name in self.types if name not in self.folders)]
        with reading(path):
            for block in self._blocks(path, columns, groups):
                cells = dict(zip(stored, block, strict=False))
                yield [cells[name] if name in cells else
                       constant(self.folders[name][path.absolute()], len(block[0]),
                                self.types[name], texts=self.texts) for name in names]  # fmt: skip

    def groups(self, path: FilePath) -> list[int] | None:
        """The number of rows of each row group of a file; None if its kind has no row groups."""
        return None

    @abstractmethod
    def _schema(self, path: FilePath) -> Any: ...

    @abstractmethod
    def _blocks(
        self, path: FilePath, names: Sequence[str], groups: range | None
    ) -> Iterator[Block]: ...


def bytes_of(reader: Any) -> int | None:
    """The size of the files of a reader; None if it reads no files."""
    if not isinstance(reader, FileReader):
        return None
    return sum(path.stat().st_size for path in reader.paths)


class ParquetReader(FileReader):
    """Parquet by pyarrow, batch by batch; texts keep their stored dictionaries."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._sizes: dict[FilePath, PageSizes | None] = {}  # of the files that were read
        super().__init__(*arguments, **options)

    def _schema(self, path: FilePath) -> Any:
        with opened(path) as file:
            return pyarrow_module("parquet").read_schema(file)

    def groups(self, path: FilePath) -> list[int]:
        with reading(path):
            with opened(path) as file:
                stored = pyarrow_module("parquet").read_metadata(file)
            return [stored.row_group(i).num_rows for i in range(stored.num_row_groups)]

    def _blocks(
        self, path: FilePath, names: Sequence[str], groups: range | None
    ) -> Iterator[Block]:
        chosen = None if groups is None else list(groups)
        if path not in self._sizes:  # each page of a store would be a request
            self._sizes[path] = measured_pages(path) if isinstance(path, Path) else None
        sizes = self._sizes[path]
        plain = sizes.plain if sizes else ()
        rows = min(BLOCK_ROWS, max(1, MOST_SHARED // max(1, sizes.shared))) if sizes else BLOCK_ROWS
        texts = [n for n in names if family(self.types[n]) == "text" and n not in plain]
        parquet_file = pyarrow_module("parquet").ParquetFile
        with opened(path) as stored, parquet_file(stored, read_dictionary=texts) as file:
            for batch in file.iter_batches(rows, chosen, columns=names, use_threads=False):
                batch.validate(full=True)  # codes beyond their dictionary, for one
                yield [batch.column(name) for name in names]


class ArrowReader(FileReader):
    """Arrow and Feather files, taken batch by batch; large batches are mapped, not read."""

    def _schema(self, path: FilePath) -> Any:
        with opened(path) as stored, pyarrow_module("ipc").open_file(stored) as file:
            schema = file.schema
        # A batch is unpacked as a whole when it is asked for.
        with closing(path.open("rb") if isinstance(path, Path) else path.open()) as raw:
            advice = "write it again with compression='uncompressed'"
            check_unpacked(path, unpacked_size(raw), advice)
        return schema

    def _blocks(
        self, path: FilePath, names: Sequence[str], groups: range | None
    ) -> Iterator[Block]:
        ipc = pyarrow_module("ipc")
        fields = sorted(map(self._schema(path).names.index, names))
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        pa, size = importlib.import_module("pyarrow"), path.stat().st_size
        if isinstance(path, RemotePath):
            with opened(path) as stored:
                file = ipc.open_file(stored, options=options)
                for i in range(file.num_record_batches):
                    yield from _sliced(file.get_batch(i), names)
            return
        with ipc.open_file(path) as file:
            large = size > MAPPED * file.num_record_batches
        with (pa.memory_map if large else pa.OSFile)(str(path)) as stored:
            file = ipc.open_file(stored, options=options)
            for i in range(file.num_record_batches):
                _check_size(path, size)
                batch = file.get_batch(i)
                batch.validate(full=True)  # its places in memory are as the file says
                for start in range(0, batch.num_rows, BLOCK_ROWS):
                    _check_size(path, size)
                    part = batch.slice(start, BLOCK_ROWS)
                    yield [part.column(name) for name in names]


def _check_size(path: FilePath, size: int) -> None:
    """Raise if a file shrank: to read past the end of a mapped file kills the process."""
    if path.stat().st_size < size:
        raise FileFormatError(f"file {str(path)!r} was cut short while it was read.")


class TextReader(FileReader):
    """Delimited text with a header row; every cell is a text."""

    def __init__(
        self, paths: Sequence[FilePath], delimiter: str | None, folders: Mapping[str, Values]
    ) -> None:
        if delimiter is not None:
            check_delimiter(delimiter)
        self._delimiter = delimiter or _delimiter_of(paths[0])
        super().__init__(paths, folders, texts=True)

    def _schema(self, path: FilePath) -> Any:
        lines = self._open(path, None)
        pa = importlib.import_module("pyarrow")
        return pa.schema([(name, pa.string()) for name in lines.schema.names])

    def _blocks(
        self, path: FilePath, names: Sequence[str], groups: range | None
    ) -> Iterator[Block]:
        for batch in self._open(path, names):
            yield from _sliced(batch, names)

    def _open(self, path: FilePath, names: Sequence[str] | None) -> Any:
        pa_csv, text = pyarrow_module("csv"), importlib.import_module("pyarrow").string()
        return pa_csv.open_csv(
            _stream(path) if isinstance(path, RemotePath) else path,
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=2**22),
            parse_options=pa_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                include_columns=names,
                column_types=None if names is None else dict.fromkeys(names, text),
                strings_can_be_null=False,
            ),
        )


def _delimiter_of(path: FilePath) -> str:
    """The delimiter that gives the header the most columns."""
    if isinstance(path, RemotePath):
        lines = _stream(path).read(HEAD).decode("utf-8-sig", "replace").splitlines()
        header = next(filter(str.strip, lines), "")
    else:
        with open_text(path, FileOptions()) as file:
            header = next(filter(str.strip, file), "")
    return split_best(header)


def _sliced(batch: Any, names: Sequence[str]) -> Iterator[Block]:
    """The columns of a batch in blocks that are not too long."""
    for start in range(0, batch.num_rows, BLOCK_ROWS):
        part = batch.slice(start, BLOCK_ROWS)
        yield [part.column(name) for name in names]


@contextmanager
def opened(path: Any) -> Iterator[Any]:
    """What pyarrow reads a file from: the path, or an open file of a store."""
    if not isinstance(path, RemotePath):
        yield path
        return
    with closing(importlib.import_module("pyarrow").PythonFile(path.open(), "r")) as file:
        yield file


def _stream(path: RemotePath) -> Any:
    """A text file of a store, unpacked."""
    pa = importlib.import_module("pyarrow")
    file = pa.PythonFile(path.open(), "r")
    return pa.CompressedInputStream(file, "gzip") if path.suffix.lower() == ".gz" else file


@contextmanager
def reading(path: FilePath) -> Iterator[None]:
    """Turns what pyarrow raises about a file into one sentence."""
    try:
        with memory_errors(f"file {str(path)!r}"):
            yield
    except CounterpaneError:
        raise
    except FileNotFoundError:
        raise (no_file(path) if isinstance(path, Path) else no_remote_file(path.url)) from None
    except (
        ValueError,
        OSError,
        LookupError,
        NotImplementedError,
    ) as error:  # Arrow's errors derive from these
        words = " ".join(str(error).split())[:200]
        raise FileFormatError(f"file {str(path)!r} cannot be read: {words}") from error


NOTHING = "__HIVE_DEFAULT_PARTITION__"  # how Hive, Spark and others spell a missing cell
_WHOLE = re.compile(r"-?[0-9]{1,18}")

Values = Mapping[FilePath, int | str | None]
"""The value of one column in each file, by its absolute path."""


def folder_columns(files: Sequence[tuple[Any, Any]]) -> dict[str, Values]:
    """The columns in the names of the folders between each file and its root, by name.

    They are whole numbers if all values are, with leading zeros or not, as other readers have it;
    else texts. Percent signs are decoded.

    >>> root = Path("/visits")
    >>> folder_columns([(root / "month=01" / "a.csv", root), (root / "month=2" / "a.csv", root)])
    {'month': {PosixPath('/visits/month=01/a.csv'): 1, PosixPath('/visits/month=2/a.csv'): 2}}
    """
    spelled = {path.absolute(): _spelled(path.relative_to(root).parts[:-1]) for path, root in files}
    first, names = next(iter(spelled.items()))
    for path, values in spelled.items():
        for odd in sorted(values.keys() ^ names.keys()):
            present, absent = (path, first) if odd in values else (first, path)
            raise DataError(
                f"column {odd!r} is in the folders of file {str(present)!r} and not of "
                f"{str(absent)!r}; all files need the same columns."
            )
    return {name: _typed({path: values[name] for path, values in spelled.items()})
            for name in names}  # fmt: skip


def constant(value: int | str | None, rows: int, kind: Any, *, texts: bool) -> Any:
    """An Arrow array that repeats one value; with `texts` it is that of a text file."""
    pa = importlib.import_module("pyarrow")
    if texts:
        value = "" if value is None else str(value)
    if value is None:
        return pa.nulls(rows, kind)
    if isinstance(value, int):
        return pa.repeat(pa.scalar(value, kind), rows)
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), rows), [value])


def is_whole(values: Values) -> bool:
    """Whether a column holds whole numbers."""
    return not any(isinstance(value, str) for value in values.values())


def _spelled(folders: Sequence[str]) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for folder in folders:
        name, sign, text = folder.partition("=")
        if name and sign:
            values[unquote(name)] = None if text == NOTHING else unquote(text)
    return values


def _typed(values: dict[FilePath, str | None]) -> Values:
    integers = all(value is None or _WHOLE.fullmatch(value) for value in values.values())
    return {path: int(value) if integers and value is not None else value
            for path, value in values.items()}  # fmt: skip
