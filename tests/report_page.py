"""What a written report holds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import counterpane as cp


def content(path: Path) -> dict[str, Any]:
    page = path.read_text(encoding="utf-8")
    found = re.search(r'<script id="content" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    value: dict[str, Any] = json.loads(found[1])
    return value


def report(tmp_path: Path, model: Any, data: Any = None, **options: Any) -> dict[str, Any]:
    return content(cp.write_report(model, data, tmp_path / "report.html", **options))


def columns_of(link: dict[str, Any]) -> list[int]:
    """The columns of an edge or interaction on a page, by position."""
    return list(link["columns"] if "columns" in link else (link["source"], link["target"]))
