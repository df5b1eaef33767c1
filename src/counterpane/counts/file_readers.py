"""Blocks of columns from files: parquet, Arrow and delimited text, never more than a block held.

Parquet is read by pyarrow, or scanned and grouped by DuckDB. All hand over Arrow arrays.
"""

from __future__ import annotations

import csv
import importlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from typing import Any

from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.data.delimited import DELIMITERS
from counterpane.data.texts import open_text
from counterpane.errors import (
    CounterpaneError,
    DataError,
    FileFormatError,
    MissingExtraError,
    NoFileError,
    no_file,
    unknown_name,
)

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, a pattern such as `"visits/*.parquet"`, or a list of these."""

_KINDS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".csv": "text", ".tsv": "text", ".txt": "text",
}  # fmt: skip


def find_files(paths: Paths) -> tuple[Path, ...]:
    """The files that are meant: those of a folder or a pattern sorted by name, lists as given."""
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    found: list[Path] = []
    for path in map(Path, given):
        if path.is_file():
            found.append(path)
            continue
        if path.is_dir():
            inside = [p for p in path.rglob("*") if kind_of(p) and p.name[0] not in "._"]
        elif has_magic(str(path)):
            inside = [Path(p) for p in glob(str(path), recursive=True)]
        else:
            raise no_file(path)
        files = sorted(p for p in inside if p.is_file())
        if not files:
            raise NoFileError(f"{str(path)!r} holds no file of a known kind: {', '.join(_KINDS)}.")
        found += files
    if not found:
        raise NoFileError("the list of files is empty; at least one is needed.")
    return tuple(found)


def kind_of(path: Path) -> str | None:
    """What a file's suffix says: "parquet", "arrow" or "text" (also packed as .gz), else None."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    kind = _KINDS.get(name.suffix.lower())
    return kind if name is path or kind == "text" else None


def open_files(paths: Paths, *, delimiter: str | None = None) -> FileReader:
    """The reader of files that are all of one kind."""
    files = find_files(paths)
    kinds = {kind_of(path): path for path in files}
    if None in kinds or len(kinds) > 1:
        raise FileFormatError(
            f"the files {', '.join(repr(str(p)) for p in kinds.values())} are not of one known "
            f"kind; all must end in one of {', '.join(_KINDS)}."
        )
    if "text" in kinds:
        return TextReader(files, delimiter)
    return ParquetReader(files) if "parquet" in kinds else ArrowReader(files)


class FileReader(ABC):
    """Files with the same columns; `types` holds the Arrow type of each, `texts` cells of text.

    A type is that of the first file. Others may store the same kind of values in another width.
    """

    texts = False

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self.types: dict[str, Any] = {}
        self.mixed = False  # whether types differ in width
        for path in self.paths:
            with reading(path):
                schema = self._schema(path)
            self._compare(path, dict(zip(schema.names, schema.types, strict=True)), schema.names)

    def _compare(self, path: Path, types: dict[str, Any], names: list[str]) -> None:
        if len(types) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"file {str(path)!r}: the column name {twice!r} occurs twice.")
        first = self.types or types
        if types.keys() != first.keys():
            odd = sorted(types.keys() ^ first.keys())[0]
            here, there = (path, self.paths[0]) if odd in types else (self.paths[0], path)
            raise DataError(
                f"column {odd!r} is in file {str(here)!r} and not in {str(there)!r}; all files "
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

    def check(self, names: Sequence[str]) -> None:
        """Refuse columns that are not there, or whose type no state can have."""
        for name in names:
            if name not in self.types:
                raise unknown_name("the files' column", name, self.types)
            if family(self.types[name]) is None:
                raise DataError(
                    f"column {name!r} holds {self.types[name]}; texts, booleans, numbers or "
                    "categories are allowed: leave it out by columns=…, or convert it."
                )

    def blocks(self, names: Sequence[str]) -> Generator[list[Any], None, None]:
        """The cells of some columns, in the order of the rows, block by block."""
        for path in self.paths:
            with reading(path):
                yield from self._blocks(path, names)

    @abstractmethod
    def _schema(self, path: Path) -> Any: ...

    @abstractmethod
    def _blocks(self, path: Path, names: Sequence[str]) -> Iterator[list[Any]]: ...


class ParquetReader(FileReader):
    """Parquet by pyarrow, batch by batch; texts keep the dictionaries that they are stored by."""

    def _schema(self, path: Path) -> Any:
        return arrow("parquet").read_schema(path)

    def _blocks(self, path: Path, names: Sequence[str]) -> Iterator[list[Any]]:
        texts = [name for name in names if family(self.types[name]) == "text"]
        with arrow("parquet").ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(BLOCK_ROWS, columns=names, use_threads=False):
                yield [batch.column(name) for name in names]


class ArrowReader(FileReader):
    """Arrow and Feather files, mapped into memory and taken batch by batch."""

    def _schema(self, path: Path) -> Any:
        with arrow("ipc").open_file(path) as file:
            return file.schema

    def _blocks(self, path: Path, names: Sequence[str]) -> Iterator[list[Any]]:
        ipc = arrow("ipc")
        fields = sorted(map(self._schema(path).names.index, names))
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        with importlib.import_module("pyarrow").memory_map(str(path)) as mapped:
            file = ipc.open_file(mapped, options=options)
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                for start in range(0, batch.num_rows, BLOCK_ROWS):
                    part = batch.slice(start, BLOCK_ROWS)
                    yield [part.column(name) for name in names]


class TextReader(FileReader):
    """Delimited text with a header row; every cell comes as the text it is."""

    texts = True

    def __init__(self, paths: Sequence[Path], delimiter: str | None) -> None:
        self._delimiter = delimiter or _delimiter_of(paths[0])
        super().__init__(paths)

    def _schema(self, path: Path) -> Any:
        lines = self._open(path, None)
        pa = importlib.import_module("pyarrow")
        return pa.schema([(name, pa.string()) for name in lines.schema.names])

    def _blocks(self, path: Path, names: Sequence[str]) -> Iterator[list[Any]]:
        for batch in self._open(path, names):
            for start in range(0, batch.num_rows, BLOCK_ROWS):
                part = batch.slice(start, BLOCK_ROWS)
                yield [part.column(name) for name in names]

    def _open(self, path: Path, names: Sequence[str] | None) -> Any:
        pa_csv, text = arrow("csv"), importlib.import_module("pyarrow").string()
        return pa_csv.open_csv(
            path,
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=2**22),
            parse_options=pa_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                include_columns=names,
                column_types=None if names is None else dict.fromkeys(names, text),
                strings_can_be_null=False,
            ),
        )


def _delimiter_of(path: Path) -> str:
    """The mark that splits the header most."""
    with open_text(path, "utf-8-sig") as file:
        header = next(filter(str.strip, file), "")
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))


def family(kind: Any) -> str | None:
    """Which values an Arrow type holds: "text", "truth", "number", or None for all others."""
    types = arrow("types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_boolean(kind):
        return "truth"
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return "number" if number else None


def arrow(module: str) -> Any:
    """A module of pyarrow, imported when it is first needed."""
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise MissingExtraError(
            "files larger than memory are read by pyarrow, which is not installed; install "
            "counterpane[duckdb]."
        ) from None


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what pyarrow raises about a file into one sentence."""
    try:
        yield
    except CounterpaneError:
        raise
    except FileNotFoundError:
        raise no_file(path) from None
    except (ValueError, OSError, LookupError, NotImplementedError) as error:  # Arrow's derive
        words = " ".join(str(error).split())[:200]
        raise FileFormatError(f"file {str(path)!r} cannot be read: {words}") from error
