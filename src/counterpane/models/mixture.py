"""Mixtures: several models of the same variables, weighed against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from counterpane.checks import (
    BOOLEAN,
    EVIDENCE,
    INTERVENTION,
    LIMITS,
    MAPPING,
    NAMES,
    NONE,
    accepts,
)
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import EvidenceError, ParameterError, ScopeError
from counterpane.features import Blanket, Potential
from counterpane.features.potential import log_sum
from counterpane.inference.answering import Engine
from counterpane.inference.estimates import Method
from counterpane.inference.question import CodedEvidence
from counterpane.lazy import lazy
from counterpane.models.answer import Answer
from counterpane.models.arrays import (
    Arrays,
    arrays_of,
    by_prefix,
    model_from_arrays,
    store_as,
    with_prefix,
)
from counterpane.models.evidence import (
    Evidence,
    Intervention,
    VirtualEvidence,
    encode_evidence,
    name_list,
)
from counterpane.models.joint import JointModel
from counterpane.models.record import LearningRecord
from counterpane.models.row_average import Averages, RowAverage
from counterpane.models.training_rows import ColumnEvidence, TrainingRows
from counterpane.typing import Array, Codes, Floats

nx = lazy("networkx")

BLOCK_ROWS = 2**13


class Mixture(JointModel):
    """P(x) = Σ_m weight_m P_m(x), of models over one schema; weights are normalized.

    Parameters
    ----------
    models
        The models. A mixture among them is replaced by its models.
    weights
        Their weights, by default equal.
    fixed
        By default evidence shifts the weights to the models that give it a high probability. Fixed
        weights stay: P(a | b) is Σ_m weight_m P_m(a | b), which is correct if the weights come from
        how well the models predict a given b, as in classifiers.
    rows
        Training rows of a classifier, whose models describe the class, the last variable, given
        all columns, but not the columns. The answer to P(class | evidence) is then the average over
        rows that match; see `counterpane.models.row_average`.
    record
        How the model was learned; see `Model`. A saved mixture keeps none of its models'.

    Notes
    -----
    With models drawn from a posterior, or learned on bootstrap samples, answers are averaged over
    the uncertainty of the structure.

    Examples
    --------
    >>> from counterpane.graphs import Dag
    >>> from counterpane.models import BayesianNetwork
    >>> two = Schema.from_cards([2, 2])
    >>> apart = BayesianNetwork(two, Dag(2), [[0.5, 0.5], [0.5, 0.5]])
    >>> joined = BayesianNetwork(two, Dag(2, [(0, 1)]), [[0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]]])
    >>> round(Mixture([apart, joined], [1, 3]).query("x1", {"x0": 1})[1], 6)
    0.8
    """

    kind = "mixture"
    fixed: bool

    def __init__(
        self,
        models: Iterable[JointModel],
        weights: npt.ArrayLike | None = None,
        *,
        fixed: bool = False,
        rows: TrainingRows | None = None,
        record: LearningRecord | None = None,
    ) -> None:
        members = tuple(models)
        shares = np.ones(len(members)) if weights is None else np.array(weights, dtype=np.float64)
        if not members or shares.shape != (len(members),):
            raise ParameterError(
                f"{len(members)} models and weights of shape {shares.shape} make no mixture; at "
                "least one model is needed, and one weight for each."
            )
        if not (np.isfinite(shares) & (shares > 0)).all():
            raise ParameterError(f"the weights {shares.tolist()} must be positive and finite.")
        for place, model in enumerate(members):
            if isinstance(model, Mixture) and model.fixed != fixed:
                raise ParameterError(
                    f"model {place} is a mixture with fixed={model.fixed}, and this one has "
                    f"fixed={fixed}; a mixture of mixtures needs the same for all."
                )
            if model.schema != members[0].schema:
                raise ScopeError(
                    f"model {place} of the mixture is over {model.schema!r}, the first one over "
                    f"{members[0].schema!r}; all need the same names and states."
                )
        parts = [(m.models, m.weights) if isinstance(m, Mixture) else ((m,), 1.0) for m in members]
        self.models: tuple[JointModel, ...] = tuple(m for opened, _ in parts for m in opened)
        self.schema = members[0].schema
        self.fixed = bool(fixed)
        self.rows = rows
        self.record = record or LearningRecord()
        if rows is not None and (not fixed or len(rows.codes) != len(self.schema) - 1):
            raise ScopeError(
                f"rows of {len(rows.codes)} columns are kept; only a mixture with fixed weights "
                f"keeps rows, of all of its {len(self.schema)} columns but the last."
            )
        joined = np.hstack([share * inner for share, (_, inner) in zip(shares, parts, strict=True)])
        # A sum that is 1 up to rounding is left alone, so that saved weights load bit for bit.
        off = abs(joined.sum() - 1.0) > 4 * np.finfo(np.float64).eps * joined.size
        self.weights: Floats = joined / joined.sum() if off else joined
        self.weights.flags.writeable = False

    def __repr__(self) -> str:
        kinds = ", ".join(sorted({type(m).__name__ for m in self.models}))
        return f"Mixture({len(self.models)} models over {len(self.schema)} variables: {kinds})"

    @property
    def graph(self) -> Any:
        """The edges of all models; an edge's `weight` is that of the models that have it."""
        graphs = [m.graph for m in self.models]
        directed = all(g.is_directed() for g in graphs)
        union: Any = nx.DiGraph() if directed else nx.Graph()
        union.add_nodes_from(self.schema.names)
        for share, graph in zip(self.weights.tolist(), graphs, strict=True):
            for a, b in (graph if directed else graph.to_undirected()).edges:
                known = union.get_edge_data(a, b, {"weight": 0.0})["weight"]
                union.add_edge(a, b, weight=known + share)
        return union

    @cached_property
    def engine(self) -> MixtureEngine:
        """What answers questions in codes."""
        return MixtureEngine(self)

    @accepts()
    def score_samples(self, X: Any) -> Floats:
        """ln P(row), natural log, shape (n_rows,); minus infinity for an impossible row."""
        table = Table(self.schema, self._codes(X))
        logs = np.stack([m.score_samples(table) for m in self.models], axis=-1)
        return log_sum(logs + np.log(self.weights))

    @accepts(variables=NAMES | NONE)
    def full_conditionals(self, X: Any, variables: str | Iterable[str] | None = None) -> Floats:
        """ln P(variable = state | rest of the row), shape (n_rows, Σ cards of the variables)."""
        queried = list(self.schema.indices(name_list(variables or self.schema.names)))
        codes = self._codes(X).copy()
        if len(queried) == 1:  # its own cell is not read, so it may be missing
            codes[queried[0], codes[queried[0]] == self.schema.cards[queried[0]]] = 0
        table = Table(self.schema, codes)
        out: Floats = np.full((table.n_rows, int(self.schema.cards[queried].sum())), -np.inf)
        names = [self.schema.names[v] for v in queried]
        for share, model in zip(self.weights, self.models, strict=True):
            part = (
                model.full_conditionals(table, names)
                if self.fixed
                else _joint(model, table, queried)
            )
            np.logaddexp(out, np.log(share) + part, out=out)
        stops = np.cumsum(self.schema.cards[queried])
        for v, stop in zip(queried, stops.tolist(), strict=True):
            part = out[:, stop - self.schema.cards[v] : stop]
            total = log_sum(part)
            if (total == -np.inf).any():
                raise EvidenceError(
                    f"column {self.schema.names[v]!r}, row {int(np.argmin(total))}: no state is "
                    "possible given the rest of the row under any of the models."
                )
            part -= total[:, None]
        return out

    @accepts(total=BOOLEAN)
    def pseudo_log_likelihood(self, X: Any, *, total: bool = False) -> Floats:
        """ln P(cell | rest of its row), shape (n_rows, n_variables); with `total` the row sums."""
        codes = self._codes(X)
        self.models[0].engine.blanket.refuse_missing(codes)
        n, n_rows = codes.shape
        starts = np.cumsum(self.schema.cards) - self.schema.cards
        out: Floats = np.empty((n_rows, n))
        for lo in range(0, n_rows, BLOCK_ROWS):
            block = codes[:, lo : lo + BLOCK_ROWS]
            conditionals = self.full_conditionals(Table(self.schema, block))
            cells = block.T + starts
            out[lo : lo + BLOCK_ROWS] = np.take_along_axis(conditionals, cells, axis=1)
        return out.sum(axis=1) if total else out

    @accepts(variables=NAMES, evidence=EVIDENCE, do=INTERVENTION, strict=BOOLEAN, **LIMITS)
    def query(
        self,
        variables: str | Iterable[str],
        evidence: Evidence = None,
        *,
        virtual_evidence: VirtualEvidence = None,
        do: Intervention = None,
        method: Method = "auto",
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
        strict: bool = False,
    ) -> Answer:
        """P(variables | evidence), as in `JointModel`; `basis` describes the rows of an average."""
        answer = super().query(
            variables, evidence, virtual_evidence=virtual_evidence, do=do, method=method,
            exact=exact, max_memory=max_memory, strict=strict,
        )  # fmt: skip
        coded = encode_evidence(self.schema, evidence, virtual_evidence)
        average = self.engine.over_rows(self.schema.indices(name_list(variables)), coded)
        if average is not None:
            variables_given = coded.variables
            rest = [v.name for i, v in enumerate(self.schema) if i not in variables_given][:-1]
            answer.basis = average.basis(rest)
        return answer

    @accepts(states=MAPPING)
    def do(self, states: Mapping[str, Any]) -> Mixture:
        """The mixture after an intervention: that of its networks, with the same weights."""
        if self.fixed:
            raise ParameterError(
                "a mixture of classifiers knows P(class | columns) and no directions, so it cannot "
                "tell what an intervention changes; learn a Bayesian network."
            )
        models = [model.do(states) for model in self.models]
        return Mixture(models, self.weights, record=self.record)


class MixtureEngine(Engine):
    """Answers averaged over models, by their weights given the evidence, or over kept rows."""

    estimates = False

    def __init__(self, model: Mixture) -> None:
        super().__init__(model.schema.cards, model.schema.names)
        self.model = model
        self.engines = [part.engine for part in model.models]
        self.weights, self.fixed, self.rows = model.weights, model.fixed, model.rows

    @property
    def potentials(self) -> tuple[Potential, ...]:
        """Raises: a sum of models is no product of potentials."""
        raise ParameterError("a mixture has no potentials of its own; ask one of its `models`.")

    @property
    def blanket(self) -> Blanket:
        """Raises, like `potentials`."""
        raise ParameterError("a mixture has no potentials of its own; ask one of its `models`.")

    def ask_best(
        self, queried: Sequence[int], coded: CodedEvidence
    ) -> tuple[dict[int, int], float]:
        """From the table of all joint states."""
        table, log_weight = self.ask(queried, coded)
        states = np.unravel_index(int(table.argmax()), table.shape)
        return {v: int(s) for v, s in zip(queried, states, strict=True)}, log_weight

    def over_rows(self, queried: Sequence[int], coded: CodedEvidence) -> Averages | None:
        """P(class | evidence) over the kept rows, if it is queried and there are any."""
        last = len(self.cards) - 1
        complete = len(coded.codes) == last
        if self.rows is None or tuple(queried) != (last,) or last in coded.weights or complete:
            return None
        evidence = [ColumnEvidence(v, np.array([code])) for v, code in coded.codes.items()]
        for v, weights in coded.weights.items():
            evidence.append(ColumnEvidence(v, np.array([weights.argmax()]), weights[None]))
        try:
            return self._average(evidence, 1)
        except EvidenceError:  # a row with the evidence put in is impossible under all models
            return None

    @cached_property
    def _average(self) -> RowAverage:
        if self.rows is None:
            raise ParameterError("the mixture keeps no rows to average over.")

        def log_proba(codes: Codes, _: Floats) -> Floats:
            if not codes.shape[1]:  # no row fits sets or likelihoods
                return np.empty((0, self.cards[-1]))
            unasked = np.zeros((1, codes.shape[1]), dtype=codes.dtype)
            table = Table(self.model.schema, np.concatenate([codes, unasked]))
            return self.model.full_conditionals(table, [self.names[-1]])

        return RowAverage(self.rows, log_proba)

    def ask(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[Floats, float]:
        average = self.over_rows(queried, coded)
        if average is not None:
            return average.probabilities[0], 0.0
        answers, logs = zip(*(m.ask(queried, coded) for m in self.engines), strict=True)
        shares, log_evidence = self._shares(self._evidence_of_each(logs, coded))
        return _weighed(shares, answers), float(log_evidence)

    def ask_each(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[list[Floats], float]:
        answers, logs = zip(*(m.ask_each(queried, coded) for m in self.engines), strict=True)
        shares, log_evidence = self._shares(self._evidence_of_each(logs, coded))
        each = [_weighed(shares, answers_to_v) for answers_to_v in zip(*answers, strict=True)]
        for place, v in enumerate(queried):
            average = self.over_rows((v,), coded)
            each[place] = each[place] if average is None else average.probabilities[0]
        return each, float(log_evidence)

    def ask_rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        last = len(self.cards) - 1
        if self.rows is not None and tuple(queried) == (last,):
            with suppress(EvidenceError):  # a row may be impossible under all models
                return self._ask_kept(columns, codes)
        answers, logs = zip(
            *(m.ask_rows(queried, columns, codes) for m in self.engines), strict=True
        )
        if not self.fixed:
            logs = tuple(
                m.log_evidence_rows(log, queried, columns, codes)
                for m, log in zip(self.engines, logs, strict=True)
            )
        shares, log_evidence = self._shares(np.array(logs).T)
        return _weighed(shares.T[..., None], answers), log_evidence

    def _ask_kept(self, columns: Sequence[int], codes: Codes) -> tuple[Floats, Floats]:
        """As `ask_rows` for the class, over the kept rows where cells are not known."""
        cards = self.cards[:-1, None]
        rows: Codes = np.repeat(cards, codes.shape[1], axis=1)
        rows[list(columns)] = codes
        known, partial = rows < cards, (rows >= cards).any(axis=0)
        nothing = np.empty((0, codes.shape[1]))
        out: Floats = np.empty((codes.shape[1], self.cards[-1]))
        if not partial.all():
            out[~partial] = np.exp(self._average.log_proba(rows[:, ~partial], nothing))
        if partial.any():
            arrays = known[:, partial], rows[:, partial], nothing[:, partial]
            out[partial] = self._average.of_rows(*arrays)
        return out, np.zeros(len(out))

    def _evidence_of_each(self, logs: Sequence[float], coded: CodedEvidence) -> Floats:
        """ln P(evidence) under each model, from its weight; with fixed weights it is not needed."""
        if self.fixed:
            return np.array(logs)
        pairs = zip(self.engines, logs, strict=True)
        return np.array([m.log_evidence(log, coded) for m, log in pairs])

    def _shares(self, log_evidence: Floats) -> tuple[Floats, Floats]:
        """(the models' weights given the evidence, ln P(evidence)), models on the last axis.

        Fixed weights change only where a model finds the evidence impossible; what is returned
        with them tells no more than whether all do.
        """
        if self.fixed:
            log_evidence = np.where(log_evidence == -np.inf, -np.inf, 0.0)
        logs = log_evidence + np.log(self.weights)
        total = log_sum(logs)
        return np.exp(logs - np.where(total == -np.inf, 0.0, total)[..., None]), total

    def log_evidence(self, log_weight: float, coded: CodedEvidence) -> float:
        if not self.fixed or not (coded.variables):
            return super().log_evidence(log_weight, coded)
        each = [m.log_evidence(m.ask((), coded)[1], coded) for m in self.engines]
        return float(log_sum(np.array(each) + np.log(self.weights)))

    def log_evidence_rows(
        self, log_weights: Floats, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> Floats:
        if not self.fixed:
            return super().log_evidence_rows(log_weights, queried, columns, codes)
        each = [
            m.log_evidence_rows(m.ask_rows(queried, columns, codes)[1], queried, columns, codes)
            for m in self.engines
        ]
        return log_sum(np.array(each).T + np.log(self.weights))

    def draw(
        self,
        n: int,
        coded: CodedEvidence,
        rng: np.random.Generator,
    ) -> Codes | None:
        logs = [m.ask((), coded)[1] for m in self.engines]
        shares, log_evidence = self._shares(self._evidence_of_each(logs, coded))
        if log_evidence == -np.inf:
            return None
        counts = rng.multinomial(n, shares / shares.sum()).tolist()
        pairs = zip(self.engines, counts, strict=True)
        drawn = [m.draw(k, coded, rng) for m, k in pairs if k]
        codes: Codes = np.concatenate([part for part in drawn if part is not None], axis=1)
        return codes[:, rng.permutation(n)]


def is_classifier(model: Any) -> bool:
    """Whether a model knows P(class | other columns) and nothing else."""
    return hasattr(model, "target") or (isinstance(model, Mixture) and model.fixed)


def _weighed(shares: Floats, answers: Sequence[Floats]) -> Floats:
    """Σ share × answer; an answer to what is impossible is not looked at."""
    parts = [np.where(share > 0, share * a, 0.0) for share, a in zip(shares, answers, strict=True)]
    total: Floats = np.sum(parts, axis=0)
    return total


def _joint(model: JointModel, table: Table, queried: list[int]) -> Floats:
    """ln P(row with the variable at each of its states), shape (n_rows, Σ cards of `queried`)."""
    cards, names = table.schema.cards, table.schema.names
    starts = np.cumsum([0, *cards[queried][:-1]])
    rows = model.score_samples(table)
    out: Floats = np.full((table.n_rows, int(cards[queried].sum())), -np.inf)
    possible = rows > -np.inf
    if possible.any():
        possible_rows = table.take(possible)
        conditionals = model.full_conditionals(possible_rows, [names[v] for v in queried])
        for v, start in zip(queried, starts.tolist(), strict=True):
            part = conditionals[:, start : start + cards[v]]
            cells = np.take_along_axis(
                part, possible_rows.codes[v].astype(np.int64)[:, None], axis=1
            )
            part += rows[possible, None] - cells
        out[possible] = conditionals
    if not possible.all():  # a row may be impossible by one variable's state alone
        codes = table.codes[:, ~possible].copy()
        for v, start in zip(queried, starts.tolist(), strict=True):
            for state in range(cards[v]):
                changed = codes.copy()
                changed[v] = state
                out[~possible, start + state] = model.score_samples(Table(table.schema, changed))
    return out


def _write(model: Mixture) -> dict[str, Array]:
    """Weights, the kinds of the models as text in bytes, and each model's arrays by number."""
    kinds = "\n".join(m.kind for m in model.models).encode()
    arrays: dict[str, Array] = {
        "weights": model.weights,
        "kinds": np.frombuffer(kinds, dtype=np.uint8).astype(np.int64),
    }
    for place, part in enumerate(model.models):
        arrays |= with_prefix(place, arrays_of(part))
    if model.fixed:
        arrays["fixed"] = np.ones(1, dtype=np.int64)
    if model.rows is not None:
        arrays |= with_prefix("rows", model.rows.to_arrays())
    return arrays


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> Mixture:
    groups = by_prefix(arrays)
    kinds = bytes(arrays["kinds"].tolist()).decode().split("\n")
    if Mixture.kind in kinds:
        raise ScopeError("a mixture of mixtures is stored as one mixture.")
    models = [model_from_arrays(kind, schema, groups[str(k)], None) for k, kind in enumerate(kinds)]
    rows, features = None, schema.select(range(len(schema) - 1))
    if "rows" in groups:
        rows = TrainingRows.from_arrays(features, np.empty(0, dtype=np.int64), groups["rows"])
    fixed = "fixed" in arrays
    return Mixture(models, arrays["weights"], fixed=fixed, rows=rows, record=record)


store_as(Mixture.kind, _write, _read)
