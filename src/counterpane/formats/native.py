"""The native model file `.cp`: a JSON header and raw arrays, checksummed, without pickle.

Layout, little-endian: magic (8 bytes), version (u32), header length (u32), file length (u64),
header (JSON), arrays in the header's order, SHA-256 of all before it (32 bytes).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.schema import Schema, Variable
from counterpane.disk import MAX_RATIO, shown_path, write_atomically
from counterpane.errors import (
    CounterpaneError,
    FileFormatError,
    ParameterError,
    VersionError,
    shown_type,
)
from counterpane.formats.files import Source
from counterpane.memory import need_memory
from counterpane.typing import Array

MAGIC = b"\x93CPMOD\r\n"  # not text, and a changed line end shows
VERSION = 2
PREFIX = struct.Struct("<8sIIQ")
DIGEST_BYTES = 32
DTYPES = ("<f8", "<i8")
MAX_SIZE = 2**36  # bytes of a file


class Content(NamedTuple):
    """What a native file holds: the model's kind, its schema and arrays, and a note as JSON.

    The note of a model is its `LearningRecord`, that of a checkpoint the state of the search.
    """

    kind: str
    schema: Schema
    arrays: dict[str, Array]
    note: dict[str, Any]


def write_native(path: str | os.PathLike[str], content: Content) -> None:
    """Write `content` to `path`, whole or not at all; its arrays are int64 and float64."""
    for name, array in content.arrays.items():
        if array.dtype.newbyteorder("<").str not in DTYPES:
            raise ParameterError(f"array {name!r} is {array.dtype}; int64 or float64 is needed.")
    arrays = [
        (name, np.ascontiguousarray(a, a.dtype.newbyteorder("<")))
        for name, a in content.arrays.items()
    ]
    header = {
        "kind": content.kind,
        "schema": [v.to_record() for v in content.schema],
        "arrays": [{"name": k, "dtype": a.dtype.str, "shape": a.shape} for k, a in arrays],
        "note": content.note,
    }
    try:
        text = json.dumps(header, separators=(",", ":"), default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"the model's states or record cannot be saved: {error}; use text, numbers, true, "
            "false, None, lists and dictionaries."
        ) from None
    size = PREFIX.size + len(text) + sum(a.nbytes for _, a in arrays) + DIGEST_BYTES
    chunks = [PREFIX.pack(MAGIC, VERSION, len(text), size), text]
    chunks += [a.tobytes() for _, a in arrays]
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    write_atomically(path, [*chunks, digest.digest()])


def read_native(path: str | os.PathLike[str]) -> Content:
    """The content of a native file; damaged, cut, foreign and newer files are refused."""
    where = shown_path(path)
    pieces = Source(path).pieces(MAX_SIZE)
    data = bytearray(next(pieces, b""))
    if not data.startswith(MAGIC):
        raise FileFormatError(f"{where} is not a Counterpane model file; its first bytes differ.")
    if len(data) < PREFIX.size + DIGEST_BYTES:
        raise FileFormatError(f"{where} is cut short: {len(data)} bytes cannot hold a model.")
    _, version, header_size, size = PREFIX.unpack_from(data)
    if version < VERSION:
        raise VersionError(
            f"{where} has format version {version}, which was written before the first release and "
            "is not read any more: learn the model again."
        )
    if version > VERSION:
        raise VersionError(
            f"{where} has format version {version}; this release reads up to {VERSION}: upgrade "
            "counterpane, or save the model again with the older release."
        )
    most = min(size, MAX_RATIO * os.stat(path).st_size)
    need_memory(2 * most, f"the model in {where}", "load it on a larger machine")
    for piece in pieces:
        data += piece
        if len(data) > size:
            break
    if size != len(data):
        more = "more than " if len(data) > size else ""
        raise FileFormatError(
            f"{where} is cut short or has grown: {more}{len(data)} bytes instead of {size}."
        )
    if hashlib.sha256(data[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise FileFormatError(f"{where} is damaged: its checksum does not match; restore a copy.")
    body = memoryview(data)[PREFIX.size : -DIGEST_BYTES]
    try:
        header = json.loads(bytes(body[:header_size]))
        if not isinstance(header["kind"], str):
            raise TypeError("its kind is no text")
        if not isinstance(header["note"], dict):
            raise TypeError("its record is no object")
        schema = Schema(Variable.from_record(record) for record in header["schema"])
        arrays = _read_arrays(body[header_size:], header["arrays"])
        return Content(header["kind"], schema, arrays, header["note"])
    except (CounterpaneError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{where} has a header that makes no sense: {error!r}.") from None


def is_native(path: str | os.PathLike[str]) -> bool:
    """Whether the file, unzipped if need be, starts as a native one does."""
    return next(Source(path).pieces(), b"").startswith(MAGIC)


def _read_arrays(payload: memoryview, manifest: list[dict[str, Any]]) -> dict[str, Array]:
    """The arrays listed, which must fill the payload exactly; checked before any is allocated."""
    arrays: dict[str, Array] = {}
    start = 0
    for entry in manifest:
        shape = entry["shape"]
        if not isinstance(entry["name"], str) or entry["name"] in arrays:
            raise ValueError(f"{entry['name']!r} names no array, or two")
        if entry["dtype"] not in DTYPES or not all(type(k) is int and k >= 0 for k in shape):
            raise ValueError(f"array {entry['name']!r} has type {entry['dtype']}, shape {shape}")
        stop = start + math.prod(shape) * 8
        if stop > len(payload):
            raise ValueError(f"array {entry['name']!r} ends at byte {stop} of {len(payload)}")
        values = np.frombuffer(payload[start:stop], dtype=entry["dtype"])
        arrays[entry["name"]] = values.reshape(shape).astype(values.dtype.newbyteorder("="))
        start = stop
    if start != len(payload):
        raise ValueError(f"{len(payload) - start} bytes belong to no array")
    return arrays


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is {shown_type(value)}")
