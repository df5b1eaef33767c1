"""The skeletons that CONTRIBUTING prints, as modules; the contract suites test them as our own."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

DOCUMENT = Path(__file__).parents[2] / "CONTRIBUTING.md"


def has_document() -> bool:
    """Whether the document is beside the tests; it is not where these run on a wheel."""
    return DOCUMENT.exists()


def printed_module(path: str) -> ModuleType:
    """The module of the block that starts with the comment `# path`; its classes can be pickled."""
    name = "contributed_" + Path(path).stem
    if name not in sys.modules:
        text = DOCUMENT.read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)
        block = next(b for b in blocks if b.startswith(f"# {path}\n"))
        module = sys.modules[name] = ModuleType(name)
        exec(compile(block, path, "exec"), vars(module))
    return sys.modules[name]
