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
MAGIC, END = b"PAR1", 8  # the last bytes, behind the length of the directory
OPTIONAL, REPEATED = 1, 2  # kinds of columns
CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4_raw", 6: "zstd", 7: "lz4_raw"}
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


class _Leaf(NamedTuple):
    """A column of the schema: its path, and whether its pages begin with levels of two kinds."""

    path: str
    repeated: bool
    optional: bool


class _Chunk(NamedTuple):
    """A column in a group of rows."""

    codec: int
    values: int
    size: int
    place: int


class _Page(NamedTuple):
    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    levels: int  # bytes before the values of a page of the second kind, which are not packed
    loose: bool  # whether the values of such a page are not packed either
    place: int  # of its bytes in the file


def page_sizes(file: IO[bytes], most: int) -> PageSizes:
    """The sizes of the pages of an open file.

    Raises a `ValueError` where a header cannot be read. Stops at a page of more than `most` bytes.
    The directory is read here too: pyarrow ends the process at some damaged columns of it.
    """
    size = file.seek(0, 2)
    left = size // SMALLEST  # columns that share their pages could name them again and again
    unpacked = shared = 0
    largest: dict[tuple[str, bool], int] = {}
    plain = set()
    for leaf, chunk in _chunks(_directory(file, size)):
        for page in _pages(file, chunk, size):
            left -= 1
            if left < 0:
                raise ValueError("its pages overlap")
            if page.unpacked > most:
                return PageSizes(page.unpacked, page.unpacked, 0, frozenset())
            room = page.unpacked
            if page.encoding in (DELTA_LENGTH, DELTA_TEXTS):
                plain.add(leaf.path)
                room += BYTES_OF_LENGTHS * _count_texts(file, page, chunk, leaf)
                shared = max(shared, page.unpacked if page.encoding == DELTA_TEXTS else 0)
            unpacked += room
            key = leaf.path, page.kind == DICTIONARY
            largest[key] = max(largest.get(key, 0), room)
    return PageSizes(unpacked, sum(largest.values()), shared, frozenset(plain))


def _directory(file: IO[bytes], size: int) -> dict[int, Any]:
    """The fields of the directory, which ends the file."""
    file.seek(max(0, size - END))
    tail = file.read(END)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - END:
        raise ValueError("it has no directory")
    file.seek(size - END - length)
    try:
        return _struct(file.read(length), 0, 0)[0]
    except IndexError:
        raise ValueError("its directory is cut short") from None


def _chunks(directory: dict[int, Any]) -> Iterator[tuple[_Leaf, _Chunk]]:
    """Each column in each group of rows."""
    leaves = list(_leaves(iter(_structs(directory, 2))))
    for group in _structs(directory, 4):
        for leaf, column in zip(leaves, _structs(group, 1), strict=True):
            facts = column.get(3)
            if not isinstance(facts, dict):
                raise ValueError("a column of its directory has no facts")
            place, texts = _number(facts, 9), _number(facts, 11)
            start = texts if 0 < texts < place else place
            yield leaf, _Chunk(_number(facts, 4), _number(facts, 5), _number(facts, 7), start)


def _structs(fields: dict[int, Any], field: int) -> list[dict[int, Any]]:
    listed = fields.get(field, [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise ValueError("its directory holds no list where one is needed")
    return listed


def _leaves(elements: Iterator[dict[int, Any]]) -> Iterator[_Leaf]:
    """The columns of a schema, whose elements follow each other as in a walk of its tree."""
    above: list[list[Any]] = []  # path, children left, repeated, optional of each open element
    for element in elements:
        name = element.get(4, b"")
        how, children = _number(element, 3), _number(element, 5)
        inside: list[Any] = above[-1] if above else [(), 0, False, False]
        path = (*inside[0], name.decode("utf-8", "replace") if isinstance(name, bytes) else "")
        repeated, optional = inside[2] or how == REPEATED, inside[3] or how in (OPTIONAL, REPEATED)
        if above:
            inside[1] -= 1
        if children or not above:
            root = not above
            above.append([() if root else path, children, not root and repeated,
                          not root and optional])  # fmt: skip
        else:
            yield _Leaf(".".join(path), repeated, optional)
        while len(above) > 1 and not above[-1][1]:
            above.pop()
        if len(above) > DEEPEST:
            raise ValueError("its schema is too deep")


def _pages(file: IO[bytes], chunk: _Chunk, size: int) -> Iterator[_Page]:
    """The pages of a column in a group of rows, until they have as many values as it has."""
    place, left = chunk.place, chunk.values
    end = place + chunk.size
    while left > 0 and 0 < place < min(size, end + PADDING):
        try:
            page = _page(*_header(file, place))
        except ValueError:
            if place >= end:
                return
            raise
        yield page
        place = page.place + page.packed
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
        raise ValueError("a header has a size that is no size")
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
        if at + length > len(data):
            raise IndexError
        return data[at : at + length], at + length
    if kind in (LIST, SET):
        count, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _natural(data, at)
        entries = []
        for _ in range(count):
            entry, at = _value(data, at, inner, depth + 1)
            entries.append(entry)
        return entries, at
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


def _count_texts(file: IO[bytes], page: _Page, chunk: _Chunk, leaf: _Leaf) -> int:
    """The number of texts that a page says it has: Arrow makes room for their lengths."""
    data, at, most = _values(file, page, chunk, leaf), 0, 0
    try:
        for _ in range(1 if page.encoding == DELTA_LENGTH else 2):
            count, at = _delta_end(data, at)
            most = max(most, count)
    except IndexError:
        raise ValueError("a page ends before its texts") from None
    return most


def _values(file: IO[bytes], page: _Page, chunk: _Chunk, leaf: _Leaf) -> bytes:
    """The bytes of a page, unpacked, without its levels."""
    file.seek(page.place)
    data = file.read(page.packed)
    before, data = data[: page.levels], data[page.levels :]
    if chunk.codec and not page.loose:
        if chunk.codec not in CODECS:
            raise ValueError("a column of texts is packed in a way that is not known")
        codec = importlib.import_module("pyarrow").Codec(CODECS[chunk.codec])
        data = codec.decompress(data, page.unpacked - len(before), asbytes=True)
    if page.kind == DATA:
        for leveled in (leaf.repeated, leaf.optional):
            if leveled:
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
