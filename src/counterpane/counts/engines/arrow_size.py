"""What the packed buffers of an Arrow file unpack to, read from its directory alone.

Arrow unpacks a batch as soon as it is asked for, and says only then how large it is. The layout is
that of the format's FlatBuffers: a table begins with the way back to its list of fields.
"""

from __future__ import annotations

from struct import error, unpack_from
from typing import Any

MAGIC = b"ARROW1"
BLOCK, BUFFER = 24, 16  # bytes of an entry of the directory, and of one of a batch
DICTIONARIES, BATCHES = 2, 3  # fields of the directory
HEADER_KIND, HEADER = 1, 2  # fields of a message
DICTIONARY_KIND, DICTIONARY_BATCH = 2, 1
BUFFERS, COMPRESSION = 2, 3  # fields of a batch


def unpacked_size(file: Any) -> int:
    """The bytes that all packed buffers of an open file unpack to; 0 where nothing is packed.

    A directory that cannot be read counts nothing: Arrow refuses such a file.
    """
    try:
        return sum(_batch_size(file, *block) for block in _blocks(file))
    except (error, IndexError, ValueError, OSError):
        return 0


def _blocks(file: Any) -> list[tuple[int, int]]:
    """(place, bytes before the buffers) of each dictionary and batch."""
    end = file.seek(0, 2)
    length, magic = unpack_from("<i6s", _read(file, end - 10, 10))
    if magic != MAGIC:
        raise ValueError
    footer = _read(file, end - 10 - length, length)
    root = unpack_from("<I", footer)[0]
    blocks = []
    for field in (DICTIONARIES, BATCHES):
        start, count = _vector(footer, root, field, BLOCK)
        blocks += [unpack_from("<qi", footer, start + BLOCK * k) for k in range(count)]
    return blocks


def _batch_size(file: Any, place: int, before: int) -> int:
    message = _read(file, place, before)
    data = message[8:] if message[:4] == b"\xff\xff\xff\xff" else message[4:]
    root = unpack_from("<I", data)[0]
    batch = _table(data, root, HEADER)
    if data[_field(data, root, HEADER_KIND)] == DICTIONARY_KIND:
        batch = _table(data, batch, DICTIONARY_BATCH)
    if not _field(data, batch, COMPRESSION):
        return 0
    start, count = _vector(data, batch, BUFFERS, BUFFER)
    size = 0
    for k in range(count):
        offset, length = unpack_from("<qq", data, start + BUFFER * k)
        if length >= 8:  # a packed buffer begins with its size; -1 says that it is not packed
            size += max(0, unpack_from("<q", _read(file, place + before + offset, 8))[0])
    return size


def _read(file: Any, place: int, size: int) -> bytes:
    if place < 0 or size < 0:
        raise ValueError
    file.seek(place)
    return bytes(file.read(size))


def _field(data: bytes, table: int, field: int) -> int:
    """Where a field of a table is; 0 if the table lacks it."""
    fields = table - unpack_from("<i", data, table)[0]
    if 4 + 2 * field >= unpack_from("<H", data, fields)[0]:
        return 0
    offset = unpack_from("<H", data, fields + 4 + 2 * field)[0]
    return table + offset if offset else 0


def _table(data: bytes, table: int, field: int) -> int:
    place = _field(data, table, field)
    return place + int(unpack_from("<I", data, place)[0])


def _vector(data: bytes, table: int, field: int, size: int) -> tuple[int, int]:
    """The start and the number of the entries of a list of a table."""
    if not _field(data, table, field):
        return 0, 0
    start = _table(data, table, field)
    count = unpack_from("<I", data, start)[0]
    return start + 4, min(count, len(data) // size)
