"""README and the pages state measured numbers only as the committed files hold them.

`docs/readme_numbers.json` names the source of each number in README outside code. `measured` is a
value of a file in `docs/_figures`: a figure by `what` (with `of` the total of its unit), a detail
by `learner` and `column`, a cell of a paper's table by `table`, `row` and `column`, or how many
rows of such a table differ from the print by an amount within `between`. `target` is the limit
beside a figure. `cited` is printed elsewhere; `constants` were not measured. A number without an
entry is an error.

`docs/page_numbers.json` has the same for every page but the changelog and the design notes, which
tell how something was measured when it was decided. On a page, numbers with decimals, numbers above
999 and counts ("9 of 17") need a source; parameters are written as code.
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
PAGE_SOURCES = DOCS / "page_numbers.json"
PAGES = [path for folder in ("", "how-to", "methods", "papers")
         for path in sorted((DOCS / folder).glob("*.md")) if path.stem != "changelog"]  # fmt: skip
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


def constant_spans(text: str, part: str) -> set[tuple[int, int]]:
    """Where the text has the numbers of a part that was not measured."""
    return {(match.start() + m.start(), match.start() + m.end())
            for match in re.finditer(re.escape(part), text)
            for m in NUMBER.finditer(part)}  # fmt: skip


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
        known.update(constant_spans(readme, part))
    for match in NUMBER.finditer(plain(readme)):
        if match.span() not in known and not YEAR.fullmatch(match.group()):
            around = readme[max(0, match.start() - 40) : match.end() + 20]
            wrong.append(f"no source: {match.group()} in {around!r}")
    return wrong


def page_problems(text: str, sources: dict[str, Any]) -> list[str]:
    """Numbers of a page that are not as its sources say, or that have none."""
    wrong, known = [], set()
    for entry in [*sources.get("measured", []), *sources.get("cited", [])]:
        spans = list(places(text, entry))
        known.update(spans)
        wrong += [] if spans else [f"the page does not say {entry['text']!r}"]
        if "file" in entry and not same(entry["shown"], value_of(entry)):
            wrong.append(f"{entry['text']!r}: {entry['shown']}, measured {value_of(entry)}")
    for part in sources.get("constants", []):
        spans = constant_spans(text, part)
        known.update(spans)
        wrong += [] if spans else [f"the page does not say {part!r}"]
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


def page_sources() -> dict[str, Any]:
    return json.loads(PAGE_SOURCES.read_text(encoding="utf-8"))


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS).with_suffix(""))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_states_what_was_measured(page: Path) -> None:
    text, sources = page.read_text("utf-8"), page_sources().get(name_of(page), {})
    assert page_problems(text, sources) == []
    for match in measured_in(text):  # each one can fail
        last = (int(text[match.end() - 1]) + 1) % 10
        changed = f"{text[: match.end() - 1]}{last}{text[match.end() :]}"
        assert page_problems(changed, sources), match.group()


def test_sources_are_of_pages() -> None:
    assert set(page_sources()) <= set(map(name_of, PAGES))


def test_a_page_with_another_number_is_an_error() -> None:
    entry = {"file": "papers/freno.json", "table": "Table 1: CiteSeer", "row": "NB"}
    sources = {"measured": [{"text": "MRR is .0537", "shown": ".0537", "column": "MRR, printed",
                             **entry}], "constants": ["up to 5,000 rows"]}  # fmt: skip
    right = "Its MRR is .0537 for up to 5,000 rows, with `k=0.123`, in 2009, Table 1.\n"
    assert page_problems(right, sources) == []
    assert len(page_problems(right.replace(".0537", ".0538"), sources)) == 2
    assert page_problems(right.replace("5,000", "6,000"), sources) == [
        "the page does not say 'up to 5,000 rows'", "no source: 6,000",
    ]  # fmt: skip
    assert len(page_problems(f"{right}Better on 37 of 39 sets, 12,345 tests.", sources)) == 2
    elsewhere = {
        "measured": [{**sources["measured"][0], "row": "HRF"}],
        "constants": sources["constants"],
    }
    assert "measured 0.2865" in page_problems(right, elsewhere)[0]
