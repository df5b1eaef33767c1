"""A table of texts is the same table on a terminal, in a page, in Markdown and as text."""

import io
from html.parser import HTMLParser

import pytest
from rich.console import Console

import counterpane as cp
from counterpane.present.table import LISTED, Heading, TextTable, mentioned, right

NASTY = 'a|b <script>[bold]"\x1b[2J'


@pytest.fixture
def table():
    rows = [(f"x{i}", f"{i / 7:.3f}") for i in range(LISTED + 2)] + [(NASTY, "9")]
    rows = rows[::-1]
    return TextTable.of([Heading(NASTY, style="bold"), right("p")], rows, title="t", notes=["n."])


class Cells(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.cells, self.tags = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def on_terminal(table):
    console = Console(file=io.StringIO(), width=200)
    console.print(table.to_rich())
    return console.file.getvalue()


def test_rows_beyond_the_cut_are_counted(table):
    assert len(table.rows) == LISTED and table.more == 3
    for text in (table.to_text(), table.to_markdown(), table._repr_html_(), on_terminal(table)):
        assert "… 3 more" in text
    rows = [["a"], ["b"]]
    assert TextTable.of(["x"], rows, most=1, total=9).more == 8
    assert "more" not in TextTable.of(["x"], rows).to_text()


def test_cells_are_aligned_and_escaped(table):
    lines = table.to_text().splitlines()
    assert lines[0] == "t" and lines[-1] == "n." and "\x1b" not in table.to_text()
    assert {len(line) for line in lines[1:-2]} == {
        max(map(len, (h.title for h in table.headings))) + 7
    }
    shown = on_terminal(table)
    assert "[bold]" in shown and "\x1b[2J" not in shown
    page = Cells(table._repr_html_())
    assert page.cells[0] == page.cells[2] == NASTY and "script" not in page.tags
    marked = table.to_markdown().splitlines()
    assert marked[0] == "## t" and marked[3] == "| --- | ---: |"
    assert marked[4].count("|") == 4 and "a\\|b" in marked[4]


def test_names_of_a_sentence():
    assert mentioned(["a", "b"]) == "a, b" and mentioned([]) == ""
    assert mentioned([*"abcdefg"]) == "a, b, c, d, e and 2 more"


@pytest.fixture(scope="module")
def model():
    return cp.ChowLiu().fit(cp.load_dataset("titanic")).model_


def check(result, n_rows):
    """A result prints as its table, in a shell and in a notebook."""
    table = result.table()
    assert repr(result) == str(result) == table.to_text()
    assert len(Cells(result._repr_html_()).cells) == (n_rows + 1) * len(table.headings)


def test_a_small_sample_shows_its_rows(model):
    rows = model.sample(3, random_state=0)
    check(rows, 3)
    cells = Cells(rows._repr_html_()).cells
    assert cells[:4] == list(rows.schema.names)
    assert cells[4:] == [rows[name][i] for i in range(3) for name in rows.schema.names]
    assert "2201 rows × 4 columns" in repr(cp.load_dataset("titanic"))
    gaps = cp.read({"a": [1.5, None, 2.5], "b": ["x", None, "y"]})
    assert [line.split() for line in repr(gaps).splitlines()[2:]] == [
        ["1.5", "x"],
        [],
        ["2.5", "y"],
    ]


def test_an_interval_and_odd_rows_are_tables(model):
    found = cp.query_interval(model, "survived", {"sex": "female"}, random_state=0)
    check(found, 2)
    bounds = [float(cell) for row in found.table().rows for cell in row[1:]]
    assert bounds[1] < bounds[0] < bounds[2]
    odd = model.odd_rows(cp.load_dataset("titanic"), 4)
    check(odd, sum(max(len(row.cells), 1) for row in odd))
    check(odd[:1], len(odd[0].cells))


def test_interactions_are_a_table_and_records():
    found = cp.NaiveBayes().fit(cp.load_dataset("titanic"), "survived").strengths_
    check(found, 3)
    learner = cp.InteractionClassifier(parts="tables").fit(cp.load_dataset("titanic"), "survived")
    check(learner.interactions_, len(learner.interactions_))
    assert learner.interactions_ == list(learner.interactions_)
    assert f"±{learner.interactions_[0]['effect']:.2f}" in str(learner.interactions_[:1])
