"""Arrays as text in a page: base64 of little-endian numbers, with the type of the numbers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

Spec = dict[str, Any]
TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "i2": "<i2", "u4": "<u4", "u2": "<u2", "u1": "u1"}


def packed(array: Any) -> Spec:
    """An array for `unpack` in `explorer/arrays.js`; whole numbers have 32 bits unless narrower.

    >>> packed([1, 2])
    {'t': 'i4', 'b': 'AQAAAAIAAAA='}
    """
    values = np.asarray(array)
    if values.dtype in (np.int64, np.uint64):
        values = values.astype(np.int32)
    code = f"{values.dtype.kind}{values.dtype.itemsize}"
    data = np.ascontiguousarray(values.astype(TYPES[code])).tobytes()
    return {"t": code, "b": base64.b64encode(data).decode()}
