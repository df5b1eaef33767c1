"""Parquet files of one column of texts, written here, so that sizes and counts can be lies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

STOP, I32, I64, BINARY, LIST, STRUCT = 0, 5, 6, 8, 9, 12  # types of Thrift's compact protocol
BYTE_ARRAY, REQUIRED, UTF8 = 6, 0, 0
PLAIN, RLE, DELTA_LENGTH, DELTA_TEXTS, DICTIONARY = 0, 3, 6, 7, 8
CODECS = {None: 0, "snappy": 1, "gzip": 2, "zstd": 6}
DATA_PAGE, DICTIONARY_PAGE = 0, 2


class Page(NamedTuple):
    """A page: its bytes before they are packed, its number of values, and what its header says."""

    data: bytes
    values: int
    encoding: int = PLAIN
    kind: int = DATA_PAGE
    size: int | None = None  # a lie about its unpacked bytes


def varint(number: int) -> bytes:
    """A number in groups of seven bits."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def struct(fields: dict[int, tuple[int, Any]]) -> bytes:
    """A structure of fields: number → (type, value)."""
    out, last = bytearray(), 0
    for number, (kind, value) in sorted(fields.items()):
        out.append((number - last) << 4 | kind)
        out += _value(kind, value)
        last = number
    return bytes((*out, STOP))


def _value(kind: int, value: Any) -> bytes:
    if kind in (I32, I64):
        return varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == LIST:
        of, items = value
        return bytes((len(items) << 4 | of,)) + b"".join(_value(of, item) for item in items)
    return struct(value)


def text(word: bytes) -> bytes:
    """A text as it is stored in a plain page."""
    return len(word).to_bytes(4, "little") + word


def lengths(count: int, first: int = 0, block: int = 128) -> bytes:
    """Delta-packed numbers that are all equal: `count` of them in a few bytes."""
    zigzag = varint(first << 1)
    blocks = min(-(-max(count - 1, 0) // block), 1000)  # a lie of millions stays short
    return varint(block) + varint(4) + varint(count) + zigzag + bytes(5) * blocks


def write(
    path: Path, pages: Sequence[Page], rows: int, *, codec: str | None = None, total: int = 100
) -> Path:
    """Write a file whose directory says that the pages hold `total` bytes and `rows` values."""
    out, start = bytearray(b"PAR1"), {}
    for page in pages:
        packed = pa.Codec(codec).compress(page.data, asbytes=True) if codec else page.data
        size = len(page.data) if page.size is None else page.size
        counted = {1: (I32, page.values), 2: (I32, page.encoding)}
        if page.kind == DATA_PAGE:
            counted |= {3: (I32, RLE), 4: (I32, RLE)}
        start.setdefault(page.kind, len(out))
        out += struct({
            1: (I32, page.kind), 2: (I32, size), 3: (I32, len(packed)),
            (5 if page.kind == DATA_PAGE else 7): (STRUCT, counted),
        }) + packed  # fmt: skip
    column = {
        1: (I32, BYTE_ARRAY), 2: (LIST, (I32, sorted({page.encoding for page in pages}))),
        3: (LIST, (BINARY, [b"a"])), 4: (I32, CODECS[codec]), 5: (I64, rows), 6: (I64, total),
        7: (I64, len(out) - 4), 9: (I64, start[DATA_PAGE]),
    }  # fmt: skip
    if DICTIONARY_PAGE in start:
        column[11] = (I64, start[DICTIONARY_PAGE])
    group = {1: (LIST, (STRUCT, [{2: (I64, 4), 3: (STRUCT, column)}])), 2: (I64, total),
             3: (I64, rows)}  # fmt: skip
    root = {4: (BINARY, b"schema"), 5: (I32, 1)}
    leaf = {1: (I32, BYTE_ARRAY), 3: (I32, REQUIRED), 4: (BINARY, b"a"), 6: (I32, UTF8)}
    footer = struct({1: (I32, 1), 2: (LIST, (STRUCT, [root, leaf])), 3: (I64, rows),
                     4: (LIST, (STRUCT, [group]))})  # fmt: skip
    path.write_bytes(bytes(out) + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return path


def forge(rng: np.random.Generator, path: Path) -> bytes:
    """A file of random pages; each number in it may be a lie."""
    odd = (0, 1, 3, 100, 2**16, 2**24, 2**30, 2**31 - 1)
    count = int(rng.choice([1, 2, 50, 5000]))
    word = b"x" * int(rng.choice([1, 30, 100_000]))

    def lie(truth: int) -> int:
        return int(rng.choice(odd)) if rng.random() < 0.15 else truth

    pages, how = [], int(rng.integers(4))
    if how == 0:
        pages = [Page(text(word) * min(count, 50), lie(count))]
    elif how == 1:
        pages = [
            Page(text(word) + text(b"y"), lie(2), PLAIN, DICTIONARY_PAGE),
            Page(b"\x01" + varint(lie(count) << 1) + b"\0", lie(count), DICTIONARY),
        ]
    elif how == 2:
        block = max(128, lie(128) // 128 * 128)
        pages = [Page(lengths(lie(count), lie(1), block) + bytes(count), lie(count), DELTA_LENGTH)]
    else:
        stored = lengths(lie(count), 0, 128) + lengths(lie(count), lie(1), 128) + bytes(count)
        pages = [Page(stored, lie(count), DELTA_TEXTS)]
    pages = [page._replace(size=lie(len(page.data))) for page in pages]
    codec = rng.choice(np.array([None, "zstd", "gzip"], dtype=object))
    return write(path, pages, lie(count), codec=codec, total=lie(100)).read_bytes()
