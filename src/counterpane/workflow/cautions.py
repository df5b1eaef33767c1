"""Cautions about the answers of a model: open directions, and columns that are not given."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from counterpane.errors import Advice, Note, ParameterError, shown_type
from counterpane.tools.links import equivalence_graph

FITTED_TO_CLASS = ("BayesNetClassifier", "MarkovClassifier")


def check_causal(model: Any) -> None:
    """Refuse an intervention in a model that has no `do`."""
    if not hasattr(model, "do"):
        raise ParameterError(
            f"{shown_type(model)} predicts a class and has no directions; ",
            Advice("do=", "--do"),
            " needs a Bayesian network, for instance by ",
            Advice(
                'learn(data, method="structure-search")',
                "`counterpane learn DATA --method structure-search`",
            ),
            ".",
            parameter="do",
        )


def open_directions(model: Any, columns: Collection[str]) -> list[Note]:
    """A caution for each column that is set and has an edge whose direction the data leave open."""
    if not columns or not model.record.learned or not hasattr(model, "dag"):
        return []
    graph = equivalence_graph(model)
    lines: list[Note] = []
    for name in columns:
        edges = graph.out_edges(name, data="directed")
        other = sorted(b for _, b, directed in edges if not directed)
        if other:
            words = (
                f"The data leave open whether {name} acts on {', '.join(other)} or the other way "
            )
            effect = Advice("`counterpane.effect`", "`counterpane effect`")
            lines.append(Note(words + "round; ", effect, " covers both directions."))
    return lines


def class_caution(model: Any, asked: tuple[str, ...], given: Collection[str]) -> str:
    """A caution for networks fitted to their class, if some columns are not given."""
    left = [n for n in model.schema.names if n not in given and n not in asked]
    record = model.record
    if record.learner.name not in FITTED_TO_CLASS or not left or asked != (record.data.target,):
        return ""
    return (
        f"Not given: {', '.join(left)}; summed out by the network, whose structure was chosen to "
        f"predict {asked[0]!r} from all columns: the answer can be off."
    )
