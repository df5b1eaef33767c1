"""README and the pages of the papers state measured numbers only as the committed files hold them.

`docs/readme_numbers.json` names the source of each number in README outside code. `measured` is a
value of a file in `docs/_figures`: a figure by `what` (with `of` the total of its unit), a detail
by `learner` and `column`, a cell of a paper's table by `table`, `row` and `column`, or how many
rows of such a table differ from the print by an amount within `between`. `target` is the limit
beside a figure. `cited` is printed elsewhere; `constants` were not measured. A number without an
entry is an error.

On a page of a paper, numbers with decimals, numbers above 999 and counts ("9 of 17") must be in
a file whose table the page includes; parameters are written as code. `docs/paper_numbers.json` has
exact sources for pages, in the same form; a page with sources there has one for each such number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FIGURES = DOCS / "_figures"
SOURCES = DOCS / "readme_numbers.json"
PAGE_SOURCES = DOCS / "paper_numbers.json"
PAPERS = [path for path in sorted((DOCS / "papers").glob("*.md")) if path.stem != "index"]
NUMBER = re.compile(r"(?<![\w.])[−-]?(?:\d[\d,]*\d|\d)?(?:\.\d+)?(?<=\d)(?![\w²])")
NOT_TEXT = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", flags=re.M | re.S)
YEAR = re.compile(r"(?:19|20)\d\d")
pytestmark = pytest.mark.skipif(not SOURCES.exists(), reason="no documents beside the tests")


def plain(text: str) -> str:
    """The text with code, links and comments blanked, every character in its place."""
    return NOT_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def same(shown: str, value: float) -> bool:
    """Whether the value, rounded as shown, is what is shown."""
    digits = len(shown.partition(".")[2])
    return f"{value:.{digits}f}" == f"{number(shown):.{digits}f}"


def record_of(entry: dict[str, Any]) -> dict[str, Any]:
    return json.loads((FIGURES / entry["file"]).read_text(encoding="utf-8"))


def figure_of(entry: dict[str, Any]) -> dict[str, Any]:
    (row,) = [r for r in record_of(entry)["figures"] if r["what"] == entry["what"]]
    return row


def value_of(entry: dict[str, Any]) -> float:
    """The value that an entry of `measured` names."""
    if "what" in entry:
        row = figure_of(entry)
        return float(row["unit"].split()[1] if entry.get("of") else row["value"])
    if "learner" in entry:
        (row,) = [r for r in record_of(entry)["details"] if r["learner"] == entry["learner"]]
        return float(row[entry["column"]])
    (table,) = [t for t in record_of(entry)["tables"] if t["title"] == entry["table"]]
    column = table["columns"].index(entry["column"])
    if "between" in entry:
        printed = table["columns"].index(f"{entry['column']}, printed")
        low, high = entry["between"]
        pairs = [(r[column], r[printed]) for r in table["rows"] if r[printed] is not None]
        return float(sum(low < round(ours - theirs, 9) <= high for ours, theirs in pairs))
    keys = entry["row"] if isinstance(entry["row"], list) else [entry["row"]]
    (row,) = [r for r in table["rows"] if keys in (r[: len(keys)], r[1 : 1 + len(keys)])]
    return float(row[column])


def places(text: str, entry: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """Where the text has the number of an entry: once within each `text` of it."""
    part, shown = entry["text"], entry["shown"]
    inside = [m.span() for m in NUMBER.finditer(part) if m.group() == shown]
    assert len(inside) == 1, f"{shown} must be one number of the text {part!r}"
    (start, end) = inside[0]
    for match in re.finditer(re.escape(part), text):
        yield match.start() + start, match.start() + end


def readme_problems(readme: str, sources: dict[str, Any]) -> list[str]:
    """Numbers of README that differ from their source or have none, and sources without place."""
    wrong, known = [], set()
    for entry in [*sources["measured"], *sources["target"], *sources["cited"]]:
        spans = list(places(readme, entry))
        known.update(spans)
        wrong += [] if spans else [f"README does not say {entry['text']!r}"]
    for entry in sources["measured"]:
        if not same(entry["shown"], value_of(entry)):
            wrong.append(f"{entry['text']!r}: {entry['shown']}, measured {value_of(entry)}")
    for entry in sources["target"]:
        if not same(entry["shown"], float(figure_of(entry)["asked"].split()[1])):
            wrong.append(f"{entry['text']!r}: {entry['shown']}, {figure_of(entry)['asked']}")
    for part in sources["constants"]:
        for match in re.finditer(re.escape(part), readme):
            known.update((match.start() + m.start(), match.start() + m.end())
                         for m in NUMBER.finditer(part))  # fmt: skip
    for match in NUMBER.finditer(plain(readme)):
        if match.span() not in known and not YEAR.fullmatch(match.group()):
            around = readme[max(0, match.start() - 40) : match.end() + 20]
            wrong.append(f"no source: {match.group()} in {around!r}")
    return wrong


def numbers_in(value: Any) -> Iterator[float]:
    """All numbers of a JSON value, those in its texts too."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        yield float(value)
    elif isinstance(value, str):
        yield from (number(m.group()) for m in NUMBER.finditer(value))
    else:
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(part)


def held(record: dict[str, Any]) -> set[float]:
    """What a file of figures or tables holds, with the differences that the site shows."""
    values = set(numbers_in({k: record[k] for k in ("figures", "details") if k in record}))
    for table in record.get("tables", []):
        values |= set(numbers_in([table["rows"], table.get("note")]))
        columns = table["columns"]
        for i, name in enumerate(columns):
            if name.endswith(", printed"):
                ours = columns.index(name.removesuffix(", printed"))
                cells = [(row[ours], row[i]) for row in table["rows"]]
                values |= {a - b for a, b in cells if not isinstance(a, str) and None not in (a, b)}
    return {abs(value) for value in values}


def exact_problems(text: str, sources: dict[str, Any]) -> list[str]:
    """Numbers of a page that are not as its sources say, or that have none."""
    wrong, known = [], set()
    for entry in [*sources["measured"], *sources["cited"]]:
        spans = list(places(text, entry))
        known.update(spans)
        wrong += [] if spans else [f"the page does not say {entry['text']!r}"]
        if "file" in entry and not same(entry["shown"], value_of(entry)):
            wrong.append(f"{entry['text']!r}: {entry['shown']}, measured {value_of(entry)}")
    wrong += [f"no source: {match.group()}" for match in measured_in(text)
              if match.span() not in known]  # fmt: skip
    return wrong


def measured_in(text: str) -> Iterator[re.Match[str]]:
    """The numbers in the prose that are measurements by their form."""
    prose = plain(text)
    counts = {m.start() for m in re.finditer(r"(?<![\w.])\d+(?= of (?:the )?\d)", prose)}
    for match in NUMBER.finditer(prose):
        shown = match.group().lstrip("−-")
        measured = "." in shown or number(shown) > 999 or match.start() in counts
        if measured and not YEAR.fullmatch(shown):
            yield match


def page_problems(text: str) -> list[str]:
    """Numbers of a page that no file holds whose table it includes."""
    names = set(re.findall(r"\{include\} \.\./_generated/((?:papers/)?[\w-]+)", text))
    files = [FIGURES / f"{name}.json" for name in names]
    values: set[float] = set()
    for path in files:
        values |= held(json.loads(path.read_text(encoding="utf-8")))
    wrong = []
    for match in measured_in(text):
        shown = match.group().lstrip("−-")
        if not any(same(shown, v) for v in values):
            wrong.append(f"{shown} in {text[max(0, match.start() - 40) : match.end() + 20]!r}")
    return wrong


def readme_and_sources() -> tuple[str, dict[str, Any]]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return readme, json.loads(SOURCES.read_text(encoding="utf-8"))


def test_readme_states_what_was_measured() -> None:
    assert readme_problems(*readme_and_sources()) == []


def test_every_measured_number_of_readme_can_fail() -> None:
    readme, sources = readme_and_sources()
    for entry in [*sources["measured"], *sources["target"], *sources["cited"]]:
        ((start, end), *_) = places(readme, entry)
        last = readme[end - 1]
        changed = f"{readme[: end - 1]}{(int(last) + 1) % 10}{readme[end:]}"
        assert readme_problems(changed, sources), entry
        moved = json.loads(json.dumps(sources))
        for part in ("measured", "target"):
            for other in moved[part]:
                if other == entry:
                    other["shown"] = changed[start:end]
                    other["text"] = entry["text"].replace(entry["shown"], changed[start:end])
                    assert any("asured" in p or "≥" in p or "≤" in p or "must be" in p
                               for p in readme_problems(changed, moved)), entry  # fmt: skip


def test_a_number_without_a_source_is_an_error() -> None:
    readme, sources = readme_and_sources()
    (problem,) = readme_problems(f"{readme}\nIt is 12.5 times faster.\n", sources)
    assert "no source: 12.5" in problem
    assert readme_problems(f"{readme}\nFrom 2009, `x=12.5`.\n", sources) == []


@pytest.mark.parametrize("path", PAPERS, ids=lambda p: p.stem)
def test_page_states_what_its_tables_hold(path: Path) -> None:
    assert page_problems(path.read_text(encoding="utf-8")) == []


def page_sources() -> dict[str, Any]:
    return json.loads(PAGE_SOURCES.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(page_sources()) if PAGE_SOURCES.exists() else [])
def test_page_with_sources_states_what_was_measured(name: str) -> None:
    text, sources = (DOCS / "papers" / f"{name}.md").read_text("utf-8"), page_sources()[name]
    assert exact_problems(text, sources) == []
    for match in measured_in(text):  # each one can fail
        last = (int(text[match.end() - 1]) + 1) % 10
        changed = f"{text[: match.end() - 1]}{last}{text[match.end() :]}"
        assert exact_problems(changed, sources), match.group()


def test_a_page_with_another_number_is_an_error() -> None:
    include = "```{include} ../_generated/freno.md\n```\n"
    right = f"{include}Its MRR is .286, or 0.2859, with `k=0.123`, in 2009, Table 1.\n"
    assert page_problems(right) == []
    assert len(page_problems(right.replace(".2859", ".2958"))) == 1
    assert len(page_problems(f"{include}Better on 37 of 39 sets, 12,345 tests.")) == 2
    assert len(page_problems(right.replace(include, ""))) == 2
