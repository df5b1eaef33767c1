"""What the pages of a parquet file unpack to, by the headers of the pages.

The directory of the file has sizes too. Arrow allocates what the headers say, so that a forged
directory hides how much memory a file takes. Headers are written in Thrift's compact protocol.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

FIRST_READ, MOST_READ = 2**9, 2**24  # bytes of a header; Arrow reads no more than the second
PADDING = 100  # bytes that Arrow reads behind a column, as an old writer forgot those of a header
SMALLEST = 8  # bytes of a header: a file has no more pages than that allows
DEEPEST = 16  # structures within structures
DATA, DICTIONARY, DATA_V2 = 0, 2, 3  # kinds of pages
KIND, UNPACKED, PACKED = 1, 2, 3  # fields of a header
COUNTS = {DATA: 5, DICTIONARY: 7, DATA_V2: 8}  # the field with the counts of a page of each kind
DELTA_LENGTH, DELTA_TEXTS = 6, 7  # encodings of texts
BYTES_OF_LENGTHS = 8  # of a text in a page of these encodings, before it is unpacked itself
LONGS = (3, 4, 5, 6)  # Thrift's integers
DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 7, 8, 9, 10, 11, 12


class PageSizes(NamedTuple):
    """Bytes of all pages, those that are open at one time, and texts that share beginnings."""

    unpacked: int  # of all pages
    open: int  # the dictionary and the largest page of each column
    shared: int  # the largest page of texts that begin as the text before; 0 if there is none
    plain: frozenset[str]  # columns whose texts Arrow cannot read as codes


class _Page(NamedTuple):
    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    levels: int  # bytes before the values of a page of the second kind, which are not packed
    loose: bool  # whether the values of such a page are not packed either
    place: int  # of its bytes in the file


def page_sizes(file: IO[bytes], facts: Any, most: int) -> PageSizes:
    """The sizes of the pages of an open file whose directory is `facts`, pyarrow's `FileMetaData`.

    Raises a `ValueError` where a header cannot be read. Stops at a page of more than `most` bytes.
    """
    size = file.seek(0, 2)
    left = size // SMALLEST  # columns that share their pages could name them again and again
    unpacked = shared = 0
    largest: dict[tuple[str, bool], int] = {}
    plain = set()
    for group in range(facts.num_row_groups):
        stored = facts.row_group(group)
        for c in range(stored.num_columns):
            chunk, column = stored.column(c), facts.schema.column(c)
            for page in _pages(file, chunk, size):
                left -= 1
                if left < 0:
                    raise ValueError("its pages overlap")
                if page.unpacked > most:
                    return PageSizes(page.unpacked, page.unpacked, 0, frozenset())
                room = page.unpacked
                if page.encoding in (DELTA_LENGTH, DELTA_TEXTS):
                    plain.add(column.path)
                    room += BYTES_OF_LENGTHS * _count_texts(file, page, chunk, column)
                    shared = max(shared, page.unpacked if page.encoding == DELTA_TEXTS else 0)
                unpacked += room
                key = column.path, page.kind == DICTIONARY
                largest[key] = max(largest.get(key, 0), room)
    return PageSizes(unpacked, sum(largest.values()), shared, frozenset(plain))


def _pages(file: IO[bytes], chunk: Any, size: int) -> Iterator[_Page]:
    """The pages of a column in a group of rows, until they have as many values as it has."""
    place, left = chunk.data_page_offset, chunk.num_values
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < place:
        place = chunk.dictionary_page_offset
    end = place + chunk.total_compressed_size
    while left > 0 and 0 < place < min(size, end + PADDING):
        try:
            page = _page(*_header(file, place))
        except ValueError:
            if place >= end:
                return
            raise
        yield page
        place = page.place
        place += page.packed
        left -= page.values if page.kind != DICTIONARY else 0


def _page(header: dict[int, Any], place: int) -> _Page:
    kind = _number(header, KIND)
    fields = header.get(COUNTS.get(kind, -1))
    counts = fields if isinstance(fields, dict) else {}
    second = kind == DATA_V2
    levels = _number(counts, 5) + _number(counts, 6) if second else 0
    return _Page(
        kind, _number(header, UNPACKED), _number(header, PACKED), _number(counts, 1),
        _number(counts, 4 if second else 2), levels, second and counts.get(7) is False, place,
    )  # fmt: skip


def _number(fields: dict[int, Any], field: int) -> int:
    """A size or a kind; 0 where the field is missing, as Thrift has it."""
    number = fields.get(field, 0)
    if not isinstance(number, int) or number < 0:
        raise ValueError("the header of a page has a size that is no size")
    return number


def _header(file: IO[bytes], place: int) -> tuple[dict[int, Any], int]:
    """The header of a page as field → value, and where its bytes begin."""
    length = FIRST_READ
    while True:
        file.seek(place)
        data = file.read(length)
        try:
            header, end = _struct(data, 0, 0)
            return header, place + end
        except IndexError:  # it is longer, or the file ends
            if len(data) < length or length >= MOST_READ:
                raise ValueError("the header of a page has no end") from None
            length *= 8


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        if kind in (1, 2):  # a truth value is its type
            fields[number] = kind == 1
        else:
            fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > DEEPEST:
        raise ValueError("the header of a page is too deep")
    if kind in (1, 2, 3):  # in a list, or a byte
        return data[at], at + 1
    if kind in LONGS:
        return _integer(data, at)
    if kind == DOUBLE:
        return data[at + 7], at + 8
    if kind == BINARY:
        length, at = _natural(data, at)
        return None, at + length
    if kind in (LIST, SET):
        count, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _natural(data, at)
        for _ in range(count):
            _, at = _value(data, at, inner, depth + 1)
        return None, at
    if kind == MAP:
        count, at = _natural(data, at)
        kinds, at = (data[at], at + 1) if count else (0, at)
        for _ in range(count):
            _, at = _value(data, at, kinds >> 4, depth + 1)
            _, at = _value(data, at, kinds & 15, depth + 1)
        return None, at
    if kind == STRUCT:
        return _struct(data, at, depth + 1)
    raise ValueError("the header of a page has a field of no known type")


def _natural(data: bytes, at: int) -> tuple[int, int]:
    """A number of groups of seven bits, the lowest first."""
    number = shift = 0
    while data[at] & 128:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise ValueError("the header of a page has a number of more than 64 bits")
    return number | data[at] << shift, at + 1


def _integer(data: bytes, at: int) -> tuple[int, int]:
    number, at = _natural(data, at)
    return number >> 1 ^ -(number & 1), at


def _count_texts(file: IO[bytes], page: _Page, chunk: Any, column: Any) -> int:
    """The number of texts that a page says it has: Arrow makes room for their lengths."""
    data, at, most = _values(file, page, chunk, column), 0, 0
    try:
        for _ in range(1 if page.encoding == DELTA_LENGTH else 2):
            count, at = _delta_end(data, at)
            most = max(most, count)
    except IndexError:
        raise ValueError("a page ends before its texts") from None
    return most


def _values(file: IO[bytes], page: _Page, chunk: Any, column: Any) -> bytes:
    """The bytes of a page, unpacked, without its levels."""
    file.seek(page.place)
    data = file.read(page.packed)
    before, data = data[: page.levels], data[page.levels :]
    if chunk.compression != "UNCOMPRESSED" and not page.loose:
        name = "lz4_raw" if chunk.compression == "LZ4" else chunk.compression.lower()
        codec = importlib.import_module("pyarrow").Codec(name)
        data = codec.decompress(data, page.unpacked - len(before), asbytes=True)
    if page.kind == DATA:
        for most in (column.max_repetition_level, column.max_definition_level):
            if most:
                data = data[4 + int.from_bytes(data[:4], "little") :]
    return bytes(data)


def _delta_end(data: bytes, at: int) -> tuple[int, int]:
    """The number of delta-packed integers, and where they end; blocks share a width of bits."""
    block, at = _natural(data, at)
    parts, at = _natural(data, at)
    count, at = _natural(data, at)
    _, at = _natural(data, at)
    if not parts or not block or block % (8 * parts):
        raise ValueError("a page has blocks of no possible size")
    left = count - 1
    while left > 0:
        _, at = _natural(data, at)
        widths, at = data[at : at + parts], at + parts
        for width in widths:
            if left <= 0:
                break
            at += width * (block // parts) // 8
            left -= block // parts
        if at > len(data):
            raise IndexError
    return count, at
