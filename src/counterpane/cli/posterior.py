"""Probabilities of edges on the command line: what is printed, and what a model's file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterpane.cli.app import show_table
from counterpane.present.table import Heading, TextTable, right

LEAST = 0.005  # a probability that is printed


def show_posterior(facts: Mapping[str, Any]) -> None:
    """Print the most probable edges, each with the probability of either direction."""
    sampled = "rhat" in facts
    records = [r for r in facts["edge_probabilities"] if r["share_of_mark"] >= LEAST]
    rows = [
        (
            f"{r['source']} {r['mark']} {r['target']}",
            f"{r['share_of_mark']:.3f}" + (f" ±{r['standard_error']:.3f}" if sampled else ""),
            f"{r['share']:.3f}",
        )
        for r in records
    ]
    heads = (Heading("edge", style="bold"), right("probability"), right("either direction"))
    if sampled:
        words = f"largest R-hat of an edge {facts['rhat']:.3f} (1 if the chains agree), smallest "
        words += f"effective sample size {facts['effective_size']:,.0f}"
    else:
        words = f"exact sum over all networks; their log-evidence {facts['log_evidence']:,.3f}"
    show_table(TextTable.of(heads, rows, notes=[words]))
