"""What an error says is wrong, by its attributes instead of its words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def raises(kind: Any, **attributes: Any) -> Iterator[Any]:
    """Expect an error of a class with these attributes, such as parameter="alpha"."""
    assert attributes, "pytest.raises checks the class alone"
    with pytest.raises(kind) as caught:
        yield caught
    found = {name: getattr(caught.value, name) for name in attributes}
    assert found == attributes, f"{caught.value!s} has {found}"
