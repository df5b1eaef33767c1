"""`counterpane effect`: what would change if a column were set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import check_output, emit, say, say_saved
from counterpane.cli.evidence import evidence_of
from counterpane.cli.options import DATA_HELP, MODEL_HELP, Evidence, Printing, Seed, complete_column
from counterpane.lazy import lazy

formats = lazy("counterpane.formats")


def run_effect(
    *,
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help=f"{MODEL_HELP} Or rows, with --graph: {DATA_HELP}"),
    ],
    columns: Annotated[
        list[str],
        typer.Argument(
            metavar="TREATMENT OUTCOME",
            help="The column that is set, or several, and last the column asked about.",
            autocompletion=complete_column,
        ),
    ],
    given: Evidence = None,
    graph: Annotated[
        str | None,
        typer.Option(
            help="The causal graph, if it is not that of MODEL: 'x -> y; z -> x; x <-> y', where "
            "<-> is a common cause that was not measured."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="The rows of MODEL, if its file does not have them or has a sample."),
    ] = None,
    as_drawn: Annotated[
        bool,
        typer.Option(
            "--as-drawn", help="Take the edges and directions of a learned network as they are."
        ),
    ] = False,
    over_class: Annotated[
        bool,
        typer.Option(
            "--range",
            help="Print the range over all directions that explain the data as well as MODEL.",
        ),
    ] = False,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=STATE",
            help="The state to compare with, by default the first; repeat for several treatments.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.95,
    draws: Annotated[int, typer.Option(help="Draws of networks and parameters.")] = 4000,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(help="A file for the picture: .png, .svg or .pdf.")
    ] = None,
    printing: Printing,
) -> None:
    """Print P(OUTCOME | do(TREATMENT = each state)), differences and ratios, and how sure they are.

    If MODEL was learned from data, the answer is averaged over networks that explain its rows, and
    the intervals hold the uncertainty of the graph. It holds if no common cause is missing.
    """
    check_output(plot, picture=True)
    subject: Any = _loaded(model, graph)
    if len(columns) < 2:
        raise cp.CounterpaneError("name the column that is set and the column asked about.")
    *treatment, outcome = columns
    if as_drawn and over_class:
        raise cp.CounterpaneError("--as-drawn and --range exclude each other; pass one of them.")
    parsed = evidence_of(subject, given) if given else None
    states = evidence_of(subject, baseline, "--baseline").evidence if baseline else None
    result = cp.effect(
        subject,
        treatment,
        outcome,
        given=None if parsed is None else parsed.evidence,
        graph=graph,
        equivalence=False if as_drawn else True if over_class else None,
        baseline=states,
        level=level,
        draws=draws,
        data=cp.load_dataset(data) if data in cp.dataset_names() else data,
        random_state=seed,
    )
    if plot is not None:
        result.plot().figure.savefig(plot)
    if printing.as_json:
        emit(result.to_dict())
        return
    say(escape(str(result)))
    say_saved(plot)


def _loaded(path: Path, graph: str | None) -> Any:
    """The model in a file, or the counts of a table where a graph was passed."""
    known = (formats.NATIVE, *formats.FORMAT_OF)
    if path.suffix and formats.suffix_of(path) in known and path.exists():
        return cp.load(path)
    if graph is None and path.exists() and formats.suffix_of(path) not in known:
        raise cp.CounterpaneError(
            f"{str(path)!r} holds rows, and rows alone do not tell causes; pass --graph 'x -> y', "
            "or learn a model from them first."
        )
    if graph is None:
        return cp.load(path)  # its message says what is wrong
    data: Any = cp.load_dataset(str(path)) if str(path) in cp.dataset_names() else cp.read(path)
    source: Any = cp.MemoryCounts(data) if isinstance(data, cp.Table) else data
    return source
