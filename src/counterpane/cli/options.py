"""The options that commands share: each is declared once, some of them in groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import counterpane as cp
from counterpane.cli.app import notes
from counterpane.errors import ParameterError
from counterpane.lazy import lazy
from counterpane.workflow.choose import (
    ALL_METHODS,
    CLASSIFIERS,
    COUNTED,
    FIELDS,
    METHODS,
    POSTERIORS,
)

remote = lazy("counterpane.data.remote")
inputs = lazy("counterpane.workflow.inputs")
schemas = lazy("counterpane.data.schema")

MODEL_HELP = "A model file: .cp, .bif, .xmlbif, .uai, .net, .xdsl, .bn, .dn or .mn, also with .gz."
DATA_HELP = (
    "A CSV, Excel, JSON, parquet or ARFF file, a folder or pattern of files, or the name of "
    "an embedded data set (see `counterpane datasets`)."
)
COLUMNS, READING, LINKS = "Columns", "Reading the file", "Lists of links"  # panels of --help


def _starting_with(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """The methods that begin so."""
    return _starting_with(ALL_METHODS, incomplete)


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """The columns, of the model that was named before, that begin so."""
    with contextlib.suppress(Exception):  # a shell that completes must not see errors
        return _starting_with(cp.load(ctx.params["model"]).schema.names, incomplete)
    return []


def complete_evidence(ctx: typer.Context, incomplete: str) -> list[str]:
    """`column=`, or `column=state` after the sign, of the model that was named before."""
    with contextlib.suppress(Exception):
        schema = cp.load(ctx.params["model"]).schema
        name, sign, _ = incomplete.partition("=")
        if not sign:
            return _starting_with([f"{name}=" for name in schema.names], incomplete)
        texts = [f"{name}={schemas.state_text(state)}" for state in schema[name].states]
        return _starting_with(texts, incomplete)
    return []


def complete_data(incomplete: str) -> list[str]:
    """The embedded sets that begin so; the shell itself offers files."""
    return _starting_with(cp.dataset_names(), incomplete)


def _option(*names: str, help: str, **settings: Any) -> Any:
    """An option; its panel in `--help` is `panel`."""
    return typer.Option(*names, help=help, rich_help_panel=settings.pop("panel", None), **settings)


Json = Annotated[bool, _option("--json", help="Print one JSON object, for scripts.")]
Quiet = Annotated[bool, _option("--quiet", "-q", help="Print no notes and no progress.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, autocompletion=complete_data)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
Evidence = Annotated[
    list[str] | None,
    _option(
        "--given",
        "-g",
        help="Evidence: column=state, column=a|b, or, in quotes, 'column>30'; repeat.",
        autocompletion=complete_evidence,
    ),
]
Do = Annotated[
    list[str] | None,
    _option(
        "--do",
        metavar="COLUMN=STATE",
        help="Set a column from outside: edges into it are cut; repeat. For Bayesian networks.",
        autocompletion=complete_evidence,
    ),
]
ClassColumn = Annotated[str | None, _option("--target", help="The column to predict (the class).")]
ModelTarget = Annotated[
    str | None,
    _option("--target", help="The column to predict; by default the target of the model."),
]
MethodName = Annotated[
    str,
    _option(
        "--method",
        help="The learning method. By default it depends on the task; the reason is printed. With "
        f"a target: {', '.join(CLASSIFIERS)}. With or without: "
        f"{', '.join([*METHODS, *POSTERIORS, *FIELDS])}. For lists of links also "
        f"{', '.join(COUNTED)}.",
        autocompletion=complete_method,
    ),
]
MethodNames = Annotated[
    list[str] | None,
    _option(
        "--method",
        help="A method to compare; repeat for each: "
        f"{', '.join([*METHODS, *POSTERIORS, *FIELDS])}; with a target also "
        f"{', '.join(CLASSIFIERS)}; for lists of links also {', '.join(COUNTED)}.",
        autocompletion=complete_method,
    ),
]
ScoreName = Annotated[
    str | None,
    _option(
        "--score",
        help="The network score: loglik, aic, bic, k2, bdeu, nal or mdl. By default bic; of the "
        f"method k2: k2; of {' and '.join(POSTERIORS)}: bdeu.",
    ),
]
Settings = Annotated[
    list[str] | None,
    _option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the method, such as max_parents=2 or start=chow-liu; repeat. The "
        "value is a number, a text, or JSON. METHOD.NAME=VALUE sets it for that method alone.",
    ),
]
Jobs = Annotated[
    int | None, _option("--jobs", "-j", help="The number of threads; by default all cores.")
]
Seed = Annotated[int | None, _option("--seed", help="The random seed, for repeatable results.")]
TimeLimit = Annotated[
    float | None,
    _option(
        "--time-limit",
        help="Stop each learner after this many seconds and keep its best model so far.",
    ),
]
CsvFile = Annotated[
    Path | None, _option("--output", "-o", help="The CSV file to write, also with .gz.")
]
ColumnNames: TypeAlias = list[str] | None


def n_threads(jobs: int | None) -> int:
    """The number of threads of --jobs; by default one for each core."""
    return (os.cpu_count() or 1) if jobs is None else jobs


PageData = Annotated[str | None, typer.Option("--data", "-d", help=DATA_HELP)]
PageFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="The HTML file; by default MODEL's name.")
]
PageTarget = Annotated[
    str | None, typer.Option(help="The class; by default the target of the model.")
]
PageTitle = Annotated[str | None, typer.Option(help="The title; by default the name of DATA.")]


def data_title(data: str | None) -> str | None:
    """Return the name of DATA as the title of a page, None without data."""
    return None if data is None else str(inputs.title_of_data(data))


@dataclass(frozen=True)
class InferenceOptions:
    """How a model is asked, and what an exact answer may cost."""

    method: Annotated[
        str,
        typer.Option(
            help="The inference method: exact, gibbs, mean_field, bp, join_graph, or auto: "
            "exact if that is affordable."
        ),
    ] = "auto"
    exact: Annotated[
        float | None,
        typer.Option(
            help="The seconds that an exact answer may take, by the estimate of its plan (120).",
            min=0,
        ),
    ] = None
    max_memory: Annotated[
        str | None,
        typer.Option(help="The memory it may take, such as 2GB (half of what is available)."),
    ] = None
    strict: Annotated[
        bool, typer.Option(help="Fail instead of printing an estimate that is not trusted.")
    ] = False

    def limits(self) -> dict[str, Any]:
        """The limits that were set."""
        options = {"exact": self.exact, "max_memory": self.max_memory,
                   "strict": self.strict or None}  # fmt: skip
        return {name: value for name, value in options.items() if value is not None}


@dataclass(frozen=True)
class Printing:
    """What a command prints: both options silence notes and progress."""

    as_json: Json = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        notes.quiet = self.as_json or self.quiet


@dataclass(frozen=True)
class TextFormat:
    """How a file is written; the fields are options of `counterpane.data.reading.read_columns`."""

    encoding: Annotated[
        str | None,
        _option(
            help="The encoding of a text file, such as latin-1; detected by default.",
            panel=READING,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _option(help="The field separator of a text file; detected by default.", panel=READING),
    ] = None
    decimal: Annotated[
        str | None,
        _option(
            metavar="MARK",
            help="The decimal mark of a text file, '.' or ','; detected by default.",
            panel=READING,
        ),
    ] = None
    sheet: Annotated[
        str | None,
        _option(
            help="The sheet of an Excel file, by name or number; by default the first table.",
            panel=READING,
        ),
    ] = None

    header: Annotated[
        bool | None,
        _option(
            "--header/--no-header",
            help="Whether the first row has the names of the columns; detected by default.",
            panel=READING,
        ),
    ] = None

    def to_dict(self) -> dict[str, Any]:
        """The options by name."""
        return asdict(self)

    def read_for(self, model: Any, data: str) -> Any:
        """The rows of DATA as a model reads them, with a progress bar unless notes are silent."""
        return cp.rows_for(model, data, progress=not notes.quiet, **self.to_dict())


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns to learn from, how to cut their numbers, and what to do with gaps."""

    discretize: Annotated[
        str,
        _option(
            help="How to cut numeric columns into intervals: mdl (by the target), "
            "quantile (equal counts), none, or auto: mdl with a target, else quantile.",
            panel=COLUMNS,
        ),
    ] = "auto"
    missing: Annotated[
        str,
        _option(
            help="How to treat missing cells: auto (EM for networks, unless being missing tells "
            "something; a state for classifiers; the choice is printed), state, drop, error, "
            "available or em.",
            panel=COLUMNS,
        ),
    ] = "auto"
    bins: Annotated[
        int | None,
        _option(
            min=2,
            help="The number of intervals of each numeric column, of equal counts; with mdl, the "
            "largest number. [default: 4]",
            show_default=False,
            panel=COLUMNS,
        ),
    ] = None
    cuts: Annotated[
        ColumnNames,
        _option(
            metavar="COLUMN=CUT,CUT",
            help="Cut points of a numeric column, such as 'gain=1,5000'; repeat.",
            panel=COLUMNS,
        ),
    ] = None
    use: Annotated[
        ColumnNames,
        _option(
            metavar="COLUMN", help="Keep a column that looks like an id; repeat.", panel=COLUMNS
        ),
    ] = None
    drop: Annotated[
        ColumnNames, _option(metavar="COLUMN", help="Leave a column out; repeat.", panel=COLUMNS)
    ] = None
    categorical: Annotated[
        ColumnNames,
        _option(
            metavar="COLUMN",
            help="Treat the numbers of a column as categories, not as quantities; repeat.",
            panel=COLUMNS,
        ),
    ] = None
    weights: Annotated[
        str | None,
        _option(
            metavar="COLUMN",
            help="A column of counts: how many rows each row of DATA stands for.",
            panel=COLUMNS,
        ),
    ] = None

    def cut_points(self) -> dict[str, list[Any]]:
        """The cut points of --cuts by column: numbers, or dates as texts."""
        points: dict[str, list[Any]] = {}
        for text in self.cuts or ():
            name, sign, listed = text.rpartition("=")
            if not sign or not name.strip():
                raise ParameterError(
                    f"--cuts must be COLUMN=CUT,CUT with ascending cut points, got {text!r}. For "
                    "example: --cuts 'gain=1,5000'."
                )
            points[name.strip()] = [_number_or_text(cut) for cut in listed.split(",")]
        return points

    def to_dict(self) -> dict[str, Any]:
        """The same as parameters of the library."""
        lists = {name: getattr(self, name) or () for name in ("use", "drop", "categorical")}
        return {"discretize": self.discretize, "missing": self.missing, "bins": self.bins,
                "cuts": self.cut_points(), "weights": self.weights, **lists}  # fmt: skip


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip()


@dataclass(frozen=True)
class LinkColumns:
    """The columns of a list of links; DATA is one if either is named."""

    user: Annotated[
        str | None, _option(help="For a list of links: the column of users.", panel=LINKS)
    ] = None
    item: Annotated[
        str | None, _option(help="For a list of links: the column of items.", panel=LINKS)
    ] = None

    def __bool__(self) -> bool:
        return self.user is not None or self.item is not None


@dataclass(frozen=True)
class SearchOptions:
    """How long to search, with which seed and threads, and how often to repeat it on samples."""

    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Samples that show how stable each edge or interaction is, at least 20; by "
            "default as many of 100 as 5 s allow for edges, 20 for interactions of small tables.",
        ),
    ] = None
    time_limit: TimeLimit = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A file to save progress in, and to resume from after a stop."),
    ] = None
    seed: Seed = None
    jobs: Jobs = None
    device: Annotated[
        str, typer.Option(help="Where rows are counted: cpu, or gpu for an NVIDIA card.")
    ] = "cpu"


@dataclass(frozen=True)
class SplitOptions:
    """How rows are held out."""

    folds: Annotated[int, typer.Option(help="The number of cross-validation folds.")] = 5
    holdout: Annotated[
        float | None,
        typer.Option(help="Instead of folds: the share of rows held out for the test."),
    ] = None
