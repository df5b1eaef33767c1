"""Names, states and paths that try to take over a terminal, a page or a database."""

from __future__ import annotations

import io

import numpy as np
import pytest

import counterpane as cp
from counterpane.cli import app
from counterpane.errors import visible
from error_checks import raises

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
NAMES = [f"age{ESCAPE}", "[bold red]sex[/bold red]", "a\u202eb", "c\rd", "x\x9b31m"]


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, 200)
    columns = {
        name: [f"{'uv'[k]}{ESCAPE}" for k in np.where(rng.random(200) < 0.8, base, 1 - base)]
        for name in NAMES
    }
    table = cp.Table.from_frame(columns)
    cp.ChowLiu().fit(table).model_.save("m.cp")
    lines = [",".join(f'"{name}"' for name in NAMES)]
    lines += [",".join(row) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(lines), newline="")


def clean(text):
    return not any(mark in text for mark in ("\x1b", "\x07", "\x9b", "\u202e", "\r"))


@pytest.mark.parametrize(
    "words",
    [
        ("learn", "t.csv", "--method", "chow-liu"),
        ("learn", "t.csv", "--target", NAMES[1], "--method", "naive-bayes"),
        ("learn", "t.csv", "--target", f"agee{ESCAPE}"),
        ("learn", f"no{ESCAPE}.csv"),
        ("query", "m.cp", NAMES[0]),
        ("query", "m.cp", NAMES[0], "--given", f"{NAMES[1]}=u{ESCAPE}"),
        ("query", "m.cp", f"none{ESCAPE}"),
        ("score", "m.cp", "t.csv", "--odd", "3"),
        ("compare", "t.csv", "--method", "chow-liu", "--method", "hill-climb"),
        ("predict", "m.cp", "t.csv", "--target", NAMES[2], "-o", "p.csv"),
        ("explain", "m.cp", "--target", NAMES[2]),
        ("convert", "m.cp", f"x{ESCAPE}.bif"),
    ],
)
@pytest.mark.usefixtures("hostile")
def test_no_command_lets_a_name_through(run, words):
    code, out, err = run(*words)
    assert code in (0, 2)
    assert "should not happen" not in err
    assert clean(out), out
    assert clean(err), err


def test_colors_stay_and_names_are_seen():
    out = io.StringIO()
    console = app.make_console(file=out, force_terminal=True, color_system="standard")
    console.print("[bold]" + app.escape(NAMES[0]) + "[/bold]", highlight=False)
    assert "age␛[2J␛]0;owned" in out.getvalue()
    assert "\x1b[1m" in out.getvalue()  # the console's own


def test_markup_in_names_is_no_markup(hostile, run):
    assert "[bold red]sex[/bold red]" in run("query", "m.cp", NAMES[1])[1]


def test_csv_on_a_terminal_is_made_visible(hostile, run, monkeypatch):
    _, piped, _ = run("sample", "m.cp", "-n", "3")
    assert ESCAPE in piped  # a pipe gets the cells as they are
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert clean(run("sample", "m.cp", "-n", "3")[1])


@pytest.mark.usefixtures("hostile")
def test_python_shows_names_visibly():
    model = cp.load("m.cp")
    assert clean(repr(model.query(NAMES[0])))
    assert clean(repr(model.schema))
    with pytest.raises(cp.CounterpaneError) as caught:
        model.query(f"no{ESCAPE}")
    assert clean(str(caught.value))


def test_visible_leaves_texts_alone():
    assert visible("São Paulo ≥ 3\n变量 🙂") == "São Paulo ≥ 3\n变量 🙂"


def test_duckdb_reads_no_file_and_no_variable_by_name(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n3,4\n")
    connection = duckdb.connect()
    frame = connection.sql("SELECT 1 AS a")  # a variable that DuckDB would find
    assert frame is not None
    for name in (str(tmp_path / "secret.csv"), "frame", "https://example.org/x.csv", "%", "t_"):
        with raises(cp.CounterpaneError, about="view"):
            cp.SqlSource(connection, name)
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.Visits AS SELECT 'x' AS a, 'y' AS b")
    connection.execute(f"CREATE VIEW v AS SELECT * FROM '{tmp_path}/secret.csv'")
    connection.execute("CREATE TEMP TABLE t AS SELECT 'x' AS a")
    for name in (("s", "visits"), ("memory", "s", "Visits"), "v", "T"):
        assert cp.SqlSource(connection, name).n_rows > 0
