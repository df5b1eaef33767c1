"""The panel of each column: its tables, trees or weights, small enough for a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effects import log_odds
from counterpane.counts.memory import MemoryCounts
from counterpane.data.schema import Schema, state_text
from counterpane.data.table import Table
from counterpane.features import Potential, Rules, Tree
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.hybrid_random_field import HybridRandomField
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.report.effect_blocks import effect_block
from counterpane.tools.links import LOG_FLOOR, Link, ModelLinks
from counterpane.typing import Codes, Floats

MOST_STATES = 40  # of one column
MOST_LINES = 128  # of one table
MOST_BLOCKS = 12  # of one column
MOST_NODES = 127  # of one tree
MOST_WEIGHTS = 40
MOST_FACES = 60
LEVELS = {1: (0.05, 0.25, 0.5, 0.75, 0.95), 2: (0.1, 0.5, 0.9)}

Block = dict[str, Any]


def panels_of(
    model: Any, links: ModelLinks, target: int | None
) -> Iterator[tuple[int, list[Block]]]:
    """(column, its blocks), the columns of the strongest links first; made one at a time."""
    order = list(dict.fromkeys(c for link in links.links for c in link.scope))
    order = list(dict.fromkeys([*order, *range(len(model.schema))]))
    if isinstance(model, Mixture) and not model.fixed:
        first = int(np.argmax(model.weights))
        note = f"Of the weightiest of {len(model.models)} models."
        for c, blocks in panels_of(model.models[first], links, target):
            yield c, [{**block, "note": note} for block in blocks]
        return
    if isinstance(model, AdditiveClassifier):
        faces = _additive_faces(model, links)
    elif isinstance(model, Mixture) and target is not None:
        faces = _mixture_faces(model, links, target)
    else:
        for c in order:
            yield c, _blocks(model, c)
        return
    if target is not None:  # its blocks are those of the largest effects
        order = list(dict.fromkeys([target, *order]))
    for c in order:
        yield c, [block for block in faces if c in block["c"] or c == target][:MOST_BLOCKS]


def _blocks(model: Any, c: int) -> list[Block]:
    schema = model.schema
    if isinstance(model, BayesianNetwork):
        *parents, _ = scope = (*model.dag.parents(c), c)
        strength = None if model.strengths is None else model.strengths[c]
        title = "Conditional table" if parents else "Probabilities"
        return _grids(schema, scope, model.tables[c], "p", title, strength)
    if isinstance(model, HybridRandomField):
        blocks = []
        for part in model.conditionals[c]:
            child = part.scope[-1]
            title = f"P({schema.names[child]} | its parents), in the local network"
            blocks += _grids(schema, part.scope, np.exp(part.log_values), "p", title)
        return blocks[:MOST_BLOCKS]
    if isinstance(model, DependencyNetwork):
        parts: Sequence[Any] = model.conditionals[c]
    elif isinstance(model, MarkovNetwork):
        parts = [*(p for p in model.potentials if c in p.scope), *model.rules]
    else:
        return []
    blocks = []
    for part in parts:
        if isinstance(part, Potential):
            blocks += _potential(schema, part, c)
        elif isinstance(part, Rules):
            blocks += _weights(part, c)
        elif isinstance(part, Tree):
            blocks.append(_tree(part))
    return blocks[:MOST_BLOCKS]


def _potential(schema: Schema, part: Potential, c: int) -> list[Block]:
    """A potential as what it adds to the log-odds of the column's states, given the others."""
    own = part.scope.index(c)
    table = log_odds(np.moveaxis(np.maximum(part.log_values, LOG_FLOOR), own, -1))
    scope = (*(u for u in part.scope if u != c), c)
    return _grids(schema, scope, table, "w", "Adds to the log-odds")


def _grids(
    schema: Schema,
    scope: Sequence[int],
    table: Floats,
    unit: str,
    title: str,
    strength: Floats | None = None,
) -> list[Block]:
    """A table of axes (others…, column) as one block; none where the column has too many states."""
    if table.shape[-1] > MOST_STATES:
        return []
    lines = math.prod(table.shape[:-1])
    flat = table.reshape(lines, -1)[:MOST_LINES]
    block: Block = {
        "k": "grid",
        "title": title,
        "c": [int(c) for c in scope],
        "card": [int(r) for r in table.shape],
        "u": unit,
        "t": [three_digits(x) for x in flat.reshape(-1).tolist()],
    }
    if strength is not None:
        block["n"] = [three_digits(x) for x in strength.reshape(-1)[:MOST_LINES].tolist()]
    return [block]


def _tree(tree: Tree) -> Block:
    """The first levels of a tree: [column, code, node if so, node if not], or the leaf's odds."""
    place, order = {0: 0}, [0]
    for k in order:  # grows while it is read
        if tree.variables[k] >= 0 and len(order) + 2 <= MOST_NODES:
            for child in tree.children[k].tolist():
                place[child] = len(order)
                order.append(child)
    nodes: list[list[Any]] = []
    for k in order:
        yes, no = tree.children[k].tolist()
        if tree.variables[k] >= 0 and yes in place:
            nodes.append([int(tree.variables[k]), int(tree.values[k]), place[yes], place[no]])
        elif tree.variables[k] >= 0:
            nodes.append([])
        else:
            odds = np.exp(tree.log_values[k])
            nodes.append([[three_digits(x) for x in (odds / odds.sum()).tolist()[:MOST_STATES]]])
    return {"k": "tree", "title": "Local tree", "c": [tree.target], "nodes": nodes}


def _weights(rules: Rules, c: int) -> list[Block]:
    """The heaviest rules that the column is in: [[column, code, negated]…] and the weight."""
    holds = np.flatnonzero(rules.variables == c)
    members = np.unique(np.searchsorted(rules.offsets, holds, side="right") - 1)
    if not members.size:
        return []
    heavy = members[np.argsort(-np.abs(rules.weights[members]), kind="stable")][:MOST_WEIGHTS]
    lines = []
    for rule in heavy.tolist():
        span = range(int(rules.offsets[rule]), int(rules.offsets[rule + 1]))
        conditions = [
            [int(rules.variables[k]), int(rules.values[k]), int(rules.negated[k])] for k in span
        ]
        conditions.sort(key=lambda condition: condition[0] != c)
        lines.append([conditions, three_digits(max(float(rules.weights[rule]), LOG_FLOOR))])
    title = "Weights of rules"
    return [{"k": "rules", "title": title, "c": [c], "rows": lines, "of": int(members.size)}]


def _additive_faces(model: AdditiveClassifier, links: ModelLinks) -> list[Block]:
    """What each of the largest interactions adds to the log-odds of each class, at its levels."""
    last, numeric = len(model.schema) - 1, model.numeric.tolist()
    blocks = []
    for link in links.links[:MOST_FACES]:
        picture = effect_block(model, link.scope)
        if picture is not None:
            blocks.append(_with_share(picture, link))
            continue
        levels = [_levels(model, c, len(link.scope)) for c in link.scope]
        sizes = [len(labels) for labels, _, _ in levels]
        if math.prod(sizes) > 4 * MOST_LINES or model.n_classes > MOST_STATES:
            continue
        grid = np.indices(sizes).reshape(len(sizes), -1)
        cards = model.schema.cards[:last]
        codes: Codes = np.repeat(cards[:, None], grid.shape[1], axis=1).astype(np.uint16)
        numbers = np.full((len(numeric), grid.shape[1]), np.nan)
        for c, (_, own, values), place in zip(link.scope, levels, grid, strict=True):
            codes[c] = own[place]
            if c in numeric:
                numbers[numeric.index(c)] = values[place]
        table = model.contributions(codes, numbers)[1 + model.faces.index(link.scope)]
        block = _grids(
            model.schema,
            (*link.scope, last),
            table.reshape(*sizes, -1),
            "w",
            "Adds to the log-odds",
            _rows_by_cell(model, link.scope),
        )[0]
        block["labels"] = [labels for labels, _, _ in levels]
        blocks.append(_with_share(block, link))
    return blocks


def _rows_by_cell(model: AdditiveClassifier, scope: Sequence[int]) -> Floats | None:
    """The weight of training rows in each cell of columns of states, if all rows were kept."""
    if model.rows is None or len(model.rows) < model.rows.seen or set(scope) & {*model.numeric}:
        return None
    features = model.schema.select(range(len(model.schema) - 1))
    source = MemoryCounts(Table(features, model.rows.codes, model.rows.weights))
    return np.asarray(source.counts([tuple(scope)], missing="error")[0], dtype=np.float64)


def _with_share(block: Block, link: Link) -> Block:
    """The block with the share of samples that have its interaction, if that is known."""
    return block if link.share is None else block | {"share": round(link.share, 4)}


def _levels(model: AdditiveClassifier, c: int, order: int) -> tuple[Any, Any, Any]:
    """(labels or 0 for the states, codes, numbers) at which a column of a face is looked at."""
    variable, numeric = model.schema[c], model.numeric.tolist()
    if c not in numeric:
        codes = np.arange(variable.card)
        return [state_text(s) for s in variable.states], codes, np.full(variable.card, np.nan)
    values = model.members[0].values_of(numeric.index(c))
    if not len(values):
        values = np.zeros(1)
    chosen = np.unique(np.quantile(values, LEVELS[min(order, 2)]))
    return [f"≈ {x:.4g}" for x in chosen.tolist()], np.zeros(len(chosen), np.int64), chosen


def _mixture_faces(model: Mixture, links: ModelLinks, target: int) -> list[Block]:
    """The tables of the strongest faces, class last, as the weightiest model with it has them."""
    held: dict[tuple[int, ...], Potential] = {}
    for m in np.argsort(-model.weights, kind="stable").tolist():
        for part in getattr(model.models[m], "potentials", ()):
            held.setdefault(tuple(sorted(set(part.scope) - {target})), part)
    blocks = []
    for link in links.links[:MOST_FACES]:
        part = held.get(link.scope)
        if part is not None and target in part.scope:
            share = {"share": round(link.share or 0.0, 4)}
            blocks += [block | share for block in _potential(model.schema, part, target)]
    return blocks


def six_digits(x: float) -> float:
    """A number rounded to six significant digits: as many as any output shows."""
    return float(f"{x:.6g}")


def three_digits(x: float) -> float:
    """A number rounded to three significant digits, to save bytes."""
    return float(f"{x:.3g}")
