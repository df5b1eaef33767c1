"""The questions that every joint model answers: exactly where it can, else by an estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpane.checks import (
    BOOLEAN,
    EVIDENCE,
    INTEGER,
    INTERVENTION,
    LIMITS,
    NAMES,
    NONE,
    STRING,
    accepts,
)
from counterpane.data.ranges import Range, number_of
from counterpane.data.table import Table
from counterpane.errors import ParameterError, TableSizeError
from counterpane.inference.join_graph import ClusterRun, WeightBounds
from counterpane.inference.limits import current_limits, limited
from counterpane.lazy import lazy
from counterpane.models.answer import Answer
from counterpane.models.batches import BatchAnswers
from counterpane.models.certainty import Certainty, warn_if_inexact, warn_inexact, worst_of
from counterpane.models.effects import (
    LEAST,
    Explanation,
    Members,
    check_one,
    explain_by_potentials,
    log_odds,
    one_row,
)
from counterpane.models.estimate import MapMethod, Method, as_map_method
from counterpane.models.evidence import (
    Evidence,
    Intervention,
    VirtualEvidence,
    encode_evidence,
    evidence_mapping,
    evidence_notes,
    evidence_rows,
)
from counterpane.models.exact import check_n_rows, name_list
from counterpane.models.support import RowKeeper
from counterpane.seeds import random_generator
from counterpane.typing import Codes, Floats, State

if TYPE_CHECKING:
    from counterpane.models import imputing, odd_rows
    from counterpane.models.imputing import ImputedCell
    from counterpane.models.odd_rows import OddRows
else:
    imputing = lazy("counterpane.models.imputing")
    odd_rows = lazy("counterpane.models.odd_rows")


class JointModel(RowKeeper, BatchAnswers):
    """A distribution over the variables of `schema`, as a product of potentials.

    `X` is a `Table`, or any frame that `Table.from_frame` reads with the model's schema.

    The `method` of a question is "exact"; "gibbs", "mean_field", "bp" (loopy belief propagation) or
    "join_graph", or an object with its settings: `Gibbs(n_samples=10_000)`, `MeanField(…)`,
    `BeliefPropagation(…)`, `JoinGraph(…)`; or "auto": exact, unless that would take too much memory
    or time, else by propagation and sampling (`Auto(…)`), with a warning that says how sure it is.
    So does the answer's `certainty`. `training_rows` are rows that were kept, which `query` counts
    for the `support` of an answer.
    `exact` is the time in seconds, by the plan's estimate, that an exact answer may take (by
    default 120; True: any time; False: none), `max_memory` the memory, in bytes or as "2 GB" (by
    default half of what is available). With `strict`, an estimate that is not trusted raises
    `UntrustedError` instead of a warning.
    """

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
        """P(variables | evidence); the answer's axes follow the order of `variables`.

        Evidence is {column: state}. Where several states are possible, it is a set of them, or, for
        numbers and dates, a `counterpane.Range`.

        `virtual_evidence` weighs the states of variables that were not seen themselves: by
        {state: likelihood}, or by a vector in the order of the states. `do`, of a Bayesian network,
        is {column: state} of what is set from outside; see `do`.

        >>> from counterpane import BayesianNetwork, Dag, Schema
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> round(model.query("x0", {"x1": 1})[1], 4)
        0.6
        >>> round(model.query("x0", virtual_evidence={"x1": [1, 3]})[1], 4)
        0.3143
        >>> round(model.query("x0", do={"x1": 1})[1], 4)
        0.2
        """
        model, evidence = self._after(do, evidence, name_list(variables), virtual_evidence)
        coded = encode_evidence(self.schema, evidence, virtual_evidence)
        queried = self._positions(name_list(variables), coded)
        axes, notes = [self.schema[v] for v in queried], evidence_notes(self.schema, evidence)
        seen = self.training_rows is not None and do is None and virtual_evidence is None
        counted = partial(self._support_of, queried, evidence_mapping(evidence)) if seen else None
        with limited(exact, max_memory):
            answer, how, why = model._exactly(
                method, queried, coded.codes, lambda: model._ask(queried, coded)
            )
        if answer is not None:
            probabilities, log_weight = answer
            if log_weight == -np.inf:
                raise model._impossible(coded, evidence)
            log_evidence = partial(model._log_evidence, log_weight, coded)
            return Answer(axes, probabilities, log_evidence, notes=notes, support=counted)
        estimator = model._estimator({*queried, *coded.variables})
        probabilities, certainty = estimator.joint(queried, coded, how)
        if strict and len(queried) == 1:
            (certainty,) = estimator.compared(queried, coded, [probabilities], [certainty])
        warn_if_inexact(certainty, why, strict=strict)
        late = partial(model.log_evidence, evidence, virtual_evidence=virtual_evidence)
        return Answer(axes, probabilities, late, certainty, notes=notes, support=counted)

    @accepts(evidence=EVIDENCE, do=INTERVENTION, strict=BOOLEAN, **LIMITS)
    def marginals(
        self,
        evidence: Evidence = None,
        *,
        virtual_evidence: VirtualEvidence = None,
        do: Intervention = None,
        method: Method = "auto",
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
        strict: bool = False,
    ) -> dict[str, Answer]:
        """P(variable | evidence) for every variable that is neither given nor set by `do`.

        Exactly by messages in a junction tree, compiled at the first call and kept.

        >>> from counterpane import BayesianNetwork, Dag, Schema
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> {name: round(answer[1], 4) for name, answer in model.marginals().items()}
        {'x0': 0.2, 'x1': 0.2}
        """
        model, evidence = self._after(do, evidence, (), virtual_evidence)
        coded = encode_evidence(self.schema, evidence, virtual_evidence)
        rest = [v for v in range(len(self.schema)) if v not in coded.codes]
        with limited(exact, max_memory):
            answer, how, why = model._exactly(
                method, rest, coded.codes, lambda: model._ask_each(rest, coded)
            )
        if answer is not None:
            each, log_weight = answer
            if log_weight == -np.inf:
                raise model._impossible(coded, evidence)
            log_evidence = partial(model._log_evidence, log_weight, coded)
            sure: Sequence[Certainty | None] = [None] * len(rest)
        else:
            each, sure = model._approximator.each(rest, coded, how)
            if strict:
                sure = model._approximator.compared(rest, coded, each, sure)
            if sure:
                warn_if_inexact(worst_of(sure), why, strict=strict)
            log_evidence = partial(model.log_evidence, evidence, virtual_evidence=virtual_evidence)
        notes = evidence_notes(self.schema, evidence)
        return {
            self.schema.names[v]: Answer([self.schema[v]], p, log_evidence, certainty, notes=notes)
            for v, p, certainty in zip(rest, each, sure, strict=True)
        }

    @accepts(evidence=EVIDENCE, **LIMITS)
    def log_evidence(
        self,
        evidence: Evidence,
        *,
        virtual_evidence: VirtualEvidence = None,
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
    ) -> float:
        """ln P(evidence), natural log; minus infinity where it is impossible.

        With virtual evidence, of the expected product of its likelihoods as well.
        """
        coded = encode_evidence(self.schema, evidence, virtual_evidence)
        with limited(exact, max_memory):
            return self._log_evidence(self._ask((), coded)[1], coded)

    @accepts(evidence=EVIDENCE, **LIMITS)
    def log_weight(
        self,
        evidence: Evidence = None,
        *,
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
    ) -> float:
        """ln Σ exp(Σ potentials) over the rows that agree with the evidence (partition function).

        For a normalized model it is ln P(evidence).

        >>> from counterpane import BayesianNetwork, Dag, Schema
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> round(float(np.exp(model.log_weight({"x1": 1}))), 4)
        0.2
        """
        with limited(exact, max_memory):
            return self._ask((), encode_evidence(self.schema, evidence))[1] + self._log_constant

    @accepts(evidence=EVIDENCE, **LIMITS)
    def log_weight_bounds(
        self,
        evidence: Evidence = None,
        *,
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
    ) -> WeightBounds:
        """(lower, upper) bounds on `log_weight`, equal if an exact answer is affordable.

        Else the upper bound is that of mini-buckets, and the lower one the weight of the rows that
        agree with a row of positive probability on a few columns.

        >>> from counterpane import BayesianNetwork, Dag, Schema
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> lower, upper = model.log_weight_bounds({"x1": 1}, exact=False)
        >>> lower <= model.log_weight({"x1": 1}) <= upper
        True
        """
        coded = encode_evidence(self.schema, evidence)
        with limited(exact, max_memory):
            if current_limits().seconds > 0:
                with suppress(TableSizeError):
                    weight = self._ask((), coded)[1] + self._log_constant
                    return WeightBounds((weight, weight))
            parts = [*self.to_potentials(), *coded.weight_potentials()]
            lower, upper = ClusterRun(parts, self.schema.cards, coded.codes).bounds()
            return WeightBounds((lower + self._log_constant, upper + self._log_constant))

    @accepts(variables=NAMES | NONE, evidence=EVIDENCE, do=INTERVENTION, strict=BOOLEAN, **LIMITS)
    def map_query(
        self,
        variables: str | Iterable[str] | None = None,
        evidence: Evidence = None,
        *,
        do: Intervention = None,
        method: MapMethod = "auto",
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
        strict: bool = False,
    ) -> dict[str, State]:
        """The most probable joint states of `variables`, by default of all that are not given.

        A column whose evidence is a set or a range is not given one state: the answer tells the
        most probable of those that are left.

        `method` is "exact"; "icm", coordinate ascent from random rows; "max_product", messages and
        an ascent from the row they spell out; `ICM(…)` or `MaxProduct(…)`; or "auto": exact, unless
        that is too expensive, else the best row found, with a warning that bounds how much better
        another one can be. "icm" and "max_product" do not sum out variables that are neither asked
        nor given. With `strict`, an answer that is not exact raises.
        """
        how = as_map_method(method)
        model, evidence = self._after(
            do, evidence, name_list(() if variables is None else variables)
        )
        coded = encode_evidence(self.schema, evidence)
        rest = [n for i, n in enumerate(self.schema.names) if i not in coded.codes]
        queried = self._positions(rest if variables is None else name_list(variables), coded)
        partly = len(queried) < len(rest)
        if isinstance(how, str):
            try:
                with limited(exact, max_memory):
                    best, log_weight = model._best(queried, coded)
                if log_weight == -np.inf:
                    raise model._impossible(coded, evidence)
                return self._states(best)
            except TableSizeError as error:
                if how == "exact" or strict or not self._estimates:
                    raise
                codes = model._approximator.best(coded, how, queried if partly else None)
                doubt = model._approximator.doubt_of(codes, coded, partly=partly)
                warn_inexact(f"not exact: {error.reason}; {doubt}.")
                return self._states({v: int(codes[v]) for v in queried})
        if partly:
            raise ParameterError(
                f"{len(queried)} of {len(rest)} variables are asked; what is neither asked nor "
                "given is summed out by method='exact' or 'auto' alone: ask for all."
            )
        codes = model._approximator.best(coded, how)
        return self._states({v: int(codes[v]) for v in queried})

    @accepts(n=INTEGER, evidence=EVIDENCE, do=INTERVENTION, as_intervals=BOOLEAN, **LIMITS)
    def sample(
        self,
        n: int,
        evidence: Evidence = None,
        random_state: int | np.random.Generator | None = None,
        *,
        do: Intervention = None,
        method: Method = "auto",
        as_intervals: bool = False,
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
    ) -> Table:
        """A table of `n` rows drawn from P(row | evidence), independent if drawn exactly.

        By Gibbs sampling they are rows along the chains, at even distances. A column that was cut
        has numbers again, drawn within the interval by the quantiles that its variable keeps
        (`Table.numbers`), within a range that was given, and equal to a number that was given; with
        `as_intervals` it has the intervals alone. `to_frame` makes the table a frame of the kind
        that the model was learned from. `do` sets columns, as in `query`.

        >>> import counterpane as cp
        >>> model = cp.ChowLiu().fit(cp.load_dataset("iris")).model_
        >>> rows = model.sample(3, {"petal_width": cp.Range(low=2)}, random_state=0)
        >>> rows["petal_width"].tolist()
        [2.4, 2.0, 2.4]
        >>> model.sample(2, random_state=0, as_intervals=True)["petal_width"].tolist()
        ['[0.8, 1.75)', '<0.8']
        """
        model, known = self._after(do, evidence)
        coded = encode_evidence(self.schema, evidence)  # what is set is drawn with certainty
        rng, rows = random_generator(random_state), check_n_rows(n, self.schema)
        every = range(len(self.schema))
        with limited(exact, max_memory):
            answer, how, why = model._exactly(
                method, every, coded.codes, lambda: (model._draw(rows, coded, rng),)
            )
        if answer is None:
            if why is not None:
                warn_inexact(f"{why.reason}; rows along Gibbs chains are drawn instead.")
            codes = model._approximator.draw(rows, encode_evidence(self.schema, known), how, rng)
        elif answer[0] is None:
            raise model._impossible(coded, evidence)
        else:
            codes = answer[0]
        return self._drawn_table(codes, known, rng, as_intervals=as_intervals)

    @accepts(target=STRING | NONE)
    def explain(self, row: Any, target: str | None = None) -> Explanation:
        """What each interaction adds to the log-odds of the classes of one row, largest first.

        `row` is a mapping from names to cells, or a frame of one row. Interactions are those of
        `counterpane.models.effects.explain_by_potentials`: the columns that a potential joins
        with the class. Without `target` it is the class that the model was learned for.
        """
        index = self.schema.index(self._class_name(target))
        frame = one_row(row, self.schema.names)
        columns, codes = evidence_rows(self.schema, frame, [index], "unknown")
        check_one(codes.shape[1])
        cells = dict(zip(columns, codes[:, 0].tolist(), strict=True))
        known = {v: code for v, code in cells.items() if code < self.schema.cards[v]}
        name = self.schema.names[index]
        answers = self.query_many(name, frame, impossible="prior", unseen="unknown")
        with np.errstate(divide="ignore"):
            log_proba = np.log(answers.probabilities[0])
        averaged = self._averaged()
        members = Members(
            [weight for weight, _ in averaged],
            [list(model.to_potentials()) for _, model in averaged],
            getattr(self, "fixed", False),
        )
        more = self._cells_beside_unknown(index, known, members)
        return explain_by_potentials(members, self.schema, index, known, log_proba, more)

    def _cells_beside_unknown(
        self, target: int, known: Mapping[int, int], members: Members
    ) -> dict[int, Floats]:
        """What cells add to the log-odds of the target that share a potential with unknown columns.

        One after the other, in the order of the schema, after all other cells.
        """
        unknown = set(range(len(self.schema))) - known.keys() - {target}
        scopes = [set(p.scope) for potentials in members.potentials for p in potentials]
        beside = sorted(set().union(*(s for s in scopes if s & unknown)) & known.keys())
        if not beside:
            return {}
        others = [v for v in range(len(self.schema)) if v != target]
        codes = np.repeat(self.schema.cards[others][:, None], len(beside) + 1, axis=1)
        for place, v in enumerate(others):
            if v in known:  # a column more of them is known in each row
                first = beside.index(v) + 1 if v in beside else 0
                codes[place, first:] = known[v]
        table = Table(self.schema.select(others), codes.astype(np.uint16))
        answers = self.query_many(self.schema.names[target], table, impossible="prior")
        with np.errstate(divide="ignore"):
            odds = log_odds(np.maximum(np.log(answers.probabilities), LEAST))
        return dict(zip(beside, np.diff(odds, axis=0), strict=True))

    @accepts(draws=INTEGER | NONE)
    def impute(
        self,
        frame: Any,
        *,
        draws: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Any:
        """The frame with a value in each gap of the model's columns; pandas in, pandas out.

        Each gap gets its own most probable state given the observed cells of its row. A column that
        was cut gets a number: the median of the training values in the most probable interval. With
        `draws` it is a list of so many frames, for multiple imputation: in each, the gaps of a row
        are drawn together from P(gaps | observed cells), and numbers within their intervals.
        Observed cells and other columns stay as they are. A state that the model does not know
        tells nothing about the others.

        >>> import counterpane as cp
        >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
        >>> model.impute({"sex": ["female", None], "survived": [None, "no"], "cabin": ["a", "b"]})
        {'sex': ['female', 'male'], 'survived': ['yes', 'no'], 'cabin': ['a', 'b']}
        """
        done = imputing.impute_frame(self, frame, draws, random_state, cells=False)
        return done[0].frame if draws is None else [part.frame for part in done]

    @accepts()
    def impute_cells(self, frame: Any) -> list[ImputedCell]:
        """The cells that `impute` fills: row, column, value, and P(value | observed cells).

        The list goes into `pandas.DataFrame` as it is.

        >>> import counterpane as cp
        >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
        >>> for cell in model.impute_cells({"sex": ["female", None], "survived": [None, "no"]}):
        ...     print(cell.row, cell.column, cell.value, round(cell.probability, 4))
        0 survived yes 0.7317
        1 sex male 0.9153
        """
        return imputing.impute_frame(self, frame, None, None)[0].cells

    @accepts(n=INTEGER, cells=INTEGER)
    def odd_rows(self, X: Any, n: int = 20, *, cells: int = 3) -> OddRows:
        """The `n` rows that the model finds least probable, the oddest first, and why.

        An `OddRow` has `row`, its position; `log_prob`, ln P of the observed cells in nats;
        `excess`, how far below the mean row that is (a gap counts as the mean cell of its column);
        and `cells`, those that are far less probable than expected: column, value, P(value | rest
        of the row), and the expected state with its probability. A state that the model does not
        know is impossible. Of a dependency network ln P is Σ ln P(cell | rest of the row).

        >>> import counterpane as cp
        >>> table = cp.load_dataset("titanic")
        >>> odd = cp.ChowLiu().fit(table).model_.odd_rows(table, 1)[0]
        >>> odd.row, round(odd.log_prob, 2), odd.cells[0].column, odd.cells[0].expected
        (0, -8.03, 'age', 'adult')
        """
        return odd_rows.odd_rows(self, X, n, cells)

    def _averaged(self) -> list[tuple[float, JointModel]]:
        """The models whose mean this one is, with their weights: itself alone."""
        return [(1.0, self)]

    def _drawn_table(
        self, codes: Codes, evidence: Evidence, rng: np.random.Generator, *, as_intervals: bool
    ) -> Table:
        """The table of drawn codes, with numbers within their intervals unless not wanted."""
        table = Table(self.schema, codes)
        kind: Any = self.record.data.frame
        table.frame_kind = kind
        if as_intervals:
            return table
        known = evidence or {}
        within = {name: value for name, value in known.items() if isinstance(value, Range)}
        table = table.with_numbers(rng, within)
        for name in table.numbers.keys() & known.keys():
            number = number_of(self.schema[name], known[name])
            if number is not None:
                table.numbers[name][:] = number
        return table
