"""`counterpane convert`: a model in another format, as a picture, or as another kind of model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, say_saved
from counterpane.cli.options import DATA_HELP, Json, ModelFile
from counterpane.errors import ParameterError, unknown_name

ORDERS = ("all", "linear", "single")


def run_convert(
    *,
    model: ModelFile,
    output: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUTPUT",
            help="The file to write. Its suffix is the format: .cp, .bif, .xmlbif, .uai, .net, "
            ".xdsl, .bn, .dn or .mn; for a picture .svg, .png or .dot.",
        ),
    ] = None,
    named_output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Another way to name OUTPUT.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="mn: convert a dependency network to a Markov network.")
    ] = None,
    orders: Annotated[
        str,
        typer.Option(
            help="For mn: average over all orders, over linear ones, or use a single one."
        ),
    ] = "all",
    data: Annotated[
        str | None, typer.Option(help=f"For mn: the rows for the marginals. {DATA_HELP}")
    ] = None,
    plain_names: Annotated[
        bool,
        typer.Option(
            help="Spell names so that every tool reads them (lt_0_28 for <0.28), and keep the "
            "originals in comments; --no-plain-names writes the originals."
        ),
    ] = True,
    as_json: Json = False,
) -> None:
    """Write MODEL in another format, as a picture, or with --to as another kind of model."""
    output = output or named_output
    if to not in (None, "mn"):
        raise unknown_name("--to", to, ["mn"])
    loaded: Any = cp.load(model)
    if to == "mn":
        if orders not in ORDERS:
            raise unknown_name("--orders", orders, ORDERS)
        rows = None if data is None else cp.rows_for(loaded, data).table()
        loaded = cp.to_markov_network(loaded, orders=orders, data=rows)
        output = output or model.with_name(f"{model.name.split('.')[0]}-mn.cp")
    if output is None:
        raise ParameterError("no output file is named; add one, such as model.bif or model.svg.")
    check_output(output)
    if output.name.lower().removesuffix(".gz").endswith((".dot", ".png", ".svg")):
        loaded.save(output)
    else:
        loaded.save(output, plain_names=plain_names)
    if as_json:
        emit({"model": str(output), "kind": loaded.kind})
        return
    say_saved(output)
