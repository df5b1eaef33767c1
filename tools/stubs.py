"""Write the type stubs of the compiled core from the core itself.

`python tools/stubs.py [FOLDER]` writes one file per area into FOLDER (by default
src/counterpane/_core, where mypy finds them; Git ignores them). Each exported function and named
tuple states its types in its documentation, which the binding makes from the C++ declarations.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from types import BuiltinFunctionType, ModuleType

from counterpane import _core

ARRAYS = {
    "bool": "Bools",
    "int64": "Ints",
    "float64": "Floats",
    "uint8": "Codes",
    "uint16": "Codes",
    "uint32": "Codes",
    "uint64": "Words",
}
HEAD = """\
# Written by tools/stubs.py from the compiled core.
from collections.abc import Callable
from typing import NamedTuple
from counterpane.typing import Array, Bools, Codes, Floats, Ints, Words
"""
ROOT = """\
level: str
levels: str
checked: int
def watch(check: Callable[[], None] | None, /) -> Callable[[], None] | None: ...
"""


def python_type(kinds: list[str], area: str) -> str:
    """The annotation of what has one of several types of the core."""
    named = [kind for kind in kinds if "." in kind]  # its instances for other codes have no name
    names = []
    for kind in dict.fromkeys(named or kinds):
        if area == "text" and kind == "uint8[]":
            names += ["Codes", "bytes", "bytearray"]
            continue
        kind = re.sub(r"(\w+)\[\]", lambda m: ARRAYS.get(m[1], "Array"), kind)
        names.append(re.sub(rf"\b{area}\.", "", kind).replace(",", ", "))
    return " | ".join(dict.fromkeys(names))


def function_stub(name: str, function: BuiltinFunctionType, area: str) -> str:
    """A function; where it has several kernels, an argument takes the types of all."""
    _, *kernels = (function.__doc__ or "").splitlines()
    columns = list(zip(*(line.split(" ") for line in kernels), strict=True))
    *types, result = (python_type(list(column), area) for column in columns)
    names = inspect.signature(function).parameters
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    return f"def {name}({arguments}, /) -> {result}: ..."


def tuple_stub(name: str, kind: type, area: str) -> str:
    """A named tuple."""
    types = (kind.__doc__ or "").splitlines()[1].split()
    fields = zip(kind._fields, types, strict=True)  # type: ignore[attr-defined]
    return f"class {name}(NamedTuple):\n" + "\n".join(
        f"    {field}: {python_type([t], area)}" for field, t in fields
    )


def area_stub(module: ModuleType, area: str) -> str:
    """All that an area exports."""
    parts = []
    for name, value in vars(module).items():
        if isinstance(value, BuiltinFunctionType):
            parts.append(function_stub(name, value, area))
        elif isinstance(value, type):
            parts.append(tuple_stub(name, value, area))
        elif isinstance(value, int):
            parts.append(f"{name}: int")
    text = "\n".join(parts)
    others = sorted(set(re.findall(r"\b([a-z_]+)\.[A-Z]", text)))
    imports = f"from counterpane._core import {', '.join(others)}\n" if others else ""
    return f"{HEAD}{imports}{text}\n"


def main() -> None:
    folder = Path(__file__).parents[1] / "src" / "counterpane" / "_core"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else folder
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.pyi"):
        path.unlink()
    areas = {name: value for name, value in vars(_core).items() if inspect.ismodule(value)}
    (folder / "__init__.pyi").write_text(HEAD + ROOT)
    for area, module in areas.items():
        (folder / f"{area}.pyi").write_text(area_stub(module, area))


if __name__ == "__main__":
    main()
