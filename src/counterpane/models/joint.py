"""Models with a distribution over all columns, and the questions that they answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Literal, cast

import numpy as np

from counterpane.checks import (
    BOOLEAN,
    CHOICE,
    EVIDENCE,
    INTEGER,
    INTERVENTION,
    LIMITS,
    MAPPING,
    NAMES,
    NONE,
    STRING,
    accepts,
)
from counterpane.data.export import frame_kind_of
from counterpane.data.table import Table
from counterpane.errors import EvidenceError, ParameterError, Setting
from counterpane.features import Potential
from counterpane.inference.answering import Engine
from counterpane.inference.estimates import MapMethod, Method, as_map_method
from counterpane.inference.gibbs import Gibbs
from counterpane.inference.limits import limited
from counterpane.inference.question import NO_EVIDENCE, CodedEvidence
from counterpane.models.answer import Answer, Answers
from counterpane.models.base import Model
from counterpane.models.evidence import (
    Evidence,
    Intervention,
    Unseen,
    VirtualEvidence,
    asked_positions,
    conflict_error,
    encode_evidence,
    evidence_codes,
    evidence_mapping,
    evidence_notes,
    evidence_rows,
    intervened,
    name_list,
    no_directions,
)
from counterpane.models.samples import check_n_rows, with_drawn_numbers
from counterpane.models.support import kept_arrays, rows_to_keep, support_of
from counterpane.models.training_rows import TrainingRows
from counterpane.plotting import use_tool
from counterpane.seeds import random_generator
from counterpane.typing import Array, Codes, Floats, State


class JointModel(Model):
    """A distribution over the variables of `schema`, as a product of potentials.

    `X` is a `Table`, or any frame that `Table.from_frame` reads with the model's schema.
    The `method` of a question is "exact"; "gibbs", "mean_field", "bp" (belief propagation) or
    "join_graph", or an object with its settings: `Gibbs(n_samples=10_000)`, `MeanField(…)`,
    `BeliefPropagation(…)`, `JoinGraph(…)`; or "auto": exact, unless that would take too much memory
    or time, else by propagation and sampling (`Auto(…)`), with a warning that says how sure it is.
    So does the answer's `certainty`. `training_rows` are counted for the `support` of an answer.
    `exact` is the time in seconds, by the plan's estimate, that an exact answer may take (by
    default 120; True: any time; False: none), `max_memory` the memory, in bytes or as "2 GB" (by
    default half of what is available). With `strict`, an estimate that is not trusted raises
    `UntrustedError` instead of a warning. `engine` answers the same questions in codes.
    """

    _kept: TrainingRows | Table | None = None

    @cached_property
    @abstractmethod
    def engine(self) -> Engine:
        """What answers questions in codes."""

    @property
    @abstractmethod
    def graph(self) -> Any:
        """The structure as a networkx graph whose nodes are the column names."""

    def to_potentials(self) -> tuple[Potential, ...]:
        """The potentials whose sum is ln P(row), up to a constant; an error without such."""
        return self.engine.potentials

    @accepts(states=MAPPING)
    def do(self, states: Mapping[str, Any]) -> JointModel:
        """The model after an intervention; only Bayesian networks, and mixtures of them, have one.

        `states` is {column: state}. Edges into these columns are cut, and they have their state
        with certainty; all else stays as it is. The questions of a model take it as `do=…`.
        """
        raise no_directions(self)

    @property
    def training_rows(self) -> TrainingRows | None:
        """Training rows, at most a sample of them; None if the model keeps none.

        An assigned `Table` is kept, or a sample of it, to compare answers; files keep it, too.
        """
        if isinstance(self._kept, Table):  # found when they are first needed
            self._kept = rows_to_keep(self._kept, self.schema)
        return self._kept

    @training_rows.setter
    def training_rows(self, rows: TrainingRows | Table | None) -> None:
        self._kept = rows

    def _row_arrays(self) -> dict[str, Array]:
        """The kept rows as arrays for a file."""
        return kept_arrays(self.training_rows)

    def __getstate__(self) -> dict[str, Any]:
        """The state, with kept rows in place of the table that they are of."""
        state = {**vars(self), "_kept": self.training_rows}
        state.pop("engine", None)
        return state

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
        model, evidence = intervened(self, do, evidence, name_list(variables), virtual_evidence)
        coded = encode_evidence(self.schema, evidence, virtual_evidence)
        queried = asked_positions(self.schema, name_list(variables), coded)
        axes, notes = [self.schema[v] for v in queried], evidence_notes(self.schema, evidence)
        counted = None
        if self._kept is not None and do is None and virtual_evidence is None:
            counted = partial(support_of, self, queried, evidence_mapping(evidence))
        with limited(exact, max_memory):
            probabilities, log_weight, certainty = model.engine.answer(
                queried, coded, self._settings(method), strict=strict
            )
        log_evidence = model._evidence_of(log_weight, coded, evidence, virtual_evidence)
        return Answer(axes, probabilities, log_evidence, certainty, notes=notes, support=counted)

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
        model, evidence = intervened(self, do, evidence, (), virtual_evidence)
        coded = encode_evidence(self.schema, evidence, virtual_evidence)
        rest = [v for v in range(len(self.schema)) if v not in coded.codes]
        with limited(exact, max_memory):
            each, log_weight, sure = model.engine.answer_each(
                rest, coded, self._settings(method), strict=strict
            )
        log_evidence = model._evidence_of(log_weight, coded, evidence, virtual_evidence)
        notes = evidence_notes(self.schema, evidence)
        return {
            self.schema.names[v]: Answer([self.schema[v]], p, log_evidence, certainty, notes=notes)
            for v, p, certainty in zip(rest, each, sure, strict=True)
        }

    @accepts(
        variables=NAMES, impossible=CHOICE, unseen=CHOICE, do=INTERVENTION, strict=BOOLEAN, **LIMITS
    )
    def query_many(
        self,
        variables: str | Iterable[str],
        frame: Any,
        *,
        impossible: Literal["error", "prior"] = "error",
        unseen: Unseen = "error",
        do: Intervention = None,
        method: Method = "auto",
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
        strict: bool = False,
    ) -> Answers:
        """P(variables | row) for each row of a frame or `Table`.

        Evidence is what the frame's columns say of the model's other variables; columns of the
        queried variables are not read, columns that the model does not know are passed over, and a
        missing cell is not observed. A row that is impossible raises `EvidenceError` with its
        number, or, with impossible="prior", is answered as if nothing were observed; its
        `log_evidence` is then minus infinity; sampling always raises. A state that the model does
        not know raises, or is taken as missing or as not observed (`unseen`, as in
        `Table.from_frame`). Equal rows are answered once. With `do` it is P(variables | do, row);
        the frame's columns of what is set are not read.

        >>> from counterpane import BayesianNetwork, Dag, Schema
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> model.query_many("x0", {"x1": [1, 0, None]}).probabilities[:, 1].round(4).tolist()
        [0.6, 0.1, 0.2]
        """
        if impossible not in ("error", "prior"):
            raise ParameterError(
                Setting("impossible", impossible), "; 'error' or 'prior' is allowed."
            )
        model, set_states = intervened(self, do, None, name_list(variables))
        queried = asked_positions(self.schema, name_list(variables), NO_EVIDENCE)
        left_out = [*queried, *self.schema.indices(set_states or ())]
        columns, codes = evidence_rows(self.schema, frame, left_out, unseen)
        axes = [self.schema[v] for v in queried]
        shape = (-1, *(v.card for v in axes))
        with limited(exact, max_memory):
            found, log_weights, certainty = model.engine.answer_rows(
                queried, columns, codes, self._settings(method), strict=strict
            )
        if log_weights is None:
            late = partial(model._late_evidence, queried, columns, codes)
            answers = Answers(axes, found.reshape(shape), late, certainty)
        else:
            bad = np.flatnonzero(log_weights == -np.inf)
            if bad.size and impossible == "error":
                row = zip(columns, codes[:, bad[0]].tolist(), strict=True)
                cells = {v: code for v, code in row if code < self.schema.cards[v]}
                raise model._impossible(CodedEvidence(cells, {}), row=int(bad[0]))
            if bad.size:
                found[bad] = model.engine.ask(queried, NO_EVIDENCE)[0].reshape(-1)
            log_evidence = partial(
                model.engine.log_evidence_rows, log_weights, queried, columns, codes
            )
            answers = Answers(axes, found.reshape(shape), log_evidence)
        answers.frame_kind = frame_kind_of(frame)
        return answers

    def _class_probabilities(self, X: Any, target: str) -> Floats:
        """P(target | row); what a row does not tell is summed out."""
        return self.query_many(target, X, impossible="prior", unseen="unknown").probabilities

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
            return self.engine.log_evidence(self.engine.ask((), coded)[1], coded)

    @accepts()
    def score_samples(self, X: Any) -> Floats:
        """ln P(row), natural log, shape (n_rows,); minus infinity for an impossible row."""
        return self.engine.blanket.log_potential(self._codes(X)) - self.engine.log_total

    @accepts(variables=NAMES | NONE)
    def full_conditionals(self, X: Any, variables: str | Iterable[str] | None = None) -> Floats:
        """ln P(variable = state | rest of the row), shape (n_rows, Σ cards of the variables)."""
        columns = None if variables is None else self.schema.indices(name_list(variables))
        return self.engine.blanket.full_conditionals(self._codes(X), columns)

    @accepts(total=BOOLEAN)
    def pseudo_log_likelihood(self, X: Any, *, total: bool = False) -> Floats:
        """ln P(cell | rest of its row), shape (n_rows, n_variables); with `total` the row sums."""
        return self.engine.blanket.pseudo_log_likelihood(self._codes(X), total=total)

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
        model, evidence = intervened(
            self, do, evidence, name_list(() if variables is None else variables)
        )
        coded = encode_evidence(self.schema, evidence)
        rest = [n for i, n in enumerate(self.schema.names) if i not in coded.codes]
        queried = asked_positions(
            self.schema, rest if variables is None else name_list(variables), coded
        )
        with limited(exact, max_memory):
            best = model.engine.answer_best(queried, coded, how, strict=strict)
        if best is None:
            raise model._impossible(coded, evidence)
        return {self.schema.names[v]: self.schema[v].states[code] for v, code in best.items()}

    @accepts(
        n=INTEGER, evidence=EVIDENCE, do=INTERVENTION, as_intervals=BOOLEAN, weighted=BOOLEAN,
        **LIMITS,
    )  # fmt: skip
    def sample(
        self,
        n: int,
        evidence: Evidence = None,
        random_state: int | np.random.Generator | None = None,
        *,
        do: Intervention = None,
        method: Method = "auto",
        as_intervals: bool = False,
        weighted: bool = False,
        exact: bool | float | None = None,
        max_memory: float | str | None = None,
    ) -> Table:
        """A table of `n` rows drawn from P(row | evidence), independent if drawn exactly.

        By Gibbs sampling they are rows along the chains, at even distances. A column that was cut
        has numbers again, drawn within the interval by the quantiles that its variable keeps
        (`Table.numbers`), within a range that was given, and equal to a number that was given; with
        `as_intervals` it has the intervals alone. `to_frame` makes the table a frame of the kind
        that the model was learned from. `do` sets columns, as in `query`.

        With `weighted`, rows of a Bayesian network are drawn by likelihood weighting, without large
        tables whatever the graph. Variables in the evidence are set; each other variable is drawn
        given its parents, and the weight of a row is the probability of the evidence given the
        parents in that row. The weights sum to the effective sample size, (Σ w)² / Σ w²: if the
        table's `total_weight` is small, the evidence is far from the prior.

        >>> import counterpane as cp
        >>> model = cp.ChowLiu().fit(cp.load_dataset("iris")).model_
        >>> rows = model.sample(3, {"petal_width": cp.Range(low=2)}, random_state=0)
        >>> rows["petal_width"].tolist()
        [2.4, 2.0, 2.4]
        >>> model.sample(2, random_state=0, as_intervals=True)["petal_width"].tolist()
        ['[0.8, 1.75)', '<0.8']
        """
        if weighted:
            return self._sample_weighted(n, evidence, do, random_state)
        model, known = intervened(self, do, evidence)
        coded = encode_evidence(self.schema, evidence)  # what is set is drawn with certainty
        rng, rows = random_generator(random_state), check_n_rows(n, self.schema)
        fixed = coded if known is evidence else encode_evidence(self.schema, known)
        with limited(exact, max_memory):
            codes = model.engine.answer_draws(rows, coded, fixed, self._settings(method), rng)
        if codes is None:
            raise model._impossible(coded, evidence)
        table = Table(self.schema, codes)
        table.frame_kind = cast("Any", self.record.data.frame)
        return table if as_intervals else with_drawn_numbers(table, known, rng)

    @accepts(target=STRING | NONE)
    def explain(self, row: Any, target: str | None = None) -> Any:
        """What each interaction adds to the log-odds of the classes of one row, largest first.

        `row` is a mapping from names to cells, or a frame of one row. Interactions are those of
        `counterpane.additive.effects.explain_by_potentials`: the columns that a potential joins
        with the class. Without `target` it is the class that the model was learned for.
        """
        return use_tool("explain_row", self, row, target)

    @accepts(draws=INTEGER | NONE, cells=BOOLEAN)
    def impute(
        self,
        frame: Any,
        *,
        draws: int | None = None,
        random_state: int | np.random.Generator | None = None,
        cells: bool = False,
    ) -> Any:
        """The frame with a value in each gap of the model's columns; pandas in, pandas out.

        Each gap gets its own most probable state given the observed cells of its row. A column that
        was cut gets a number: the median of the training values in the most probable interval. With
        `draws` it is a list of so many frames, for multiple imputation: in each, the gaps of a row
        are drawn together from P(gaps | observed cells), and numbers within their intervals.
        Observed cells and other columns stay as they are. A state that the model does not know
        tells nothing about the others. With `cells` it is the list of the cells that are filled:
        row, column, value, and P(value | observed cells).

        >>> import counterpane as cp
        >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
        >>> rows = {"sex": ["female", None], "survived": [None, "no"], "cabin": ["a", "b"]}
        >>> model.impute(rows)
        {'sex': ['female', 'male'], 'survived': ['yes', 'no'], 'cabin': ['a', 'b']}
        >>> for cell in model.impute(rows, cells=True):
        ...     print(cell.row, cell.column, cell.value, round(cell.probability, 4))
        0 survived yes 0.7317
        1 sex male 0.9153
        """
        done = use_tool("impute_frame", self, frame, draws, random_state, cells=cells)
        found = [part.cells if cells else part.frame for part in done]
        return found[0] if draws is None else found

    @accepts(n=INTEGER, cells=INTEGER)
    def odd_rows(self, X: Any, n: int = 20, *, cells: int = 3) -> Any:
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
        return use_tool("odd_rows", self, X, n, cells)

    def _sample_weighted(self, n: int, evidence: Evidence, do: Intervention, seed: Any) -> Table:
        raise ParameterError("only a Bayesian network draws weighted rows; use weighted=False.")

    def _settings(self, method: Method) -> Method:
        """A method in codes: chains may start at states that are given by name."""
        if isinstance(method, Gibbs) and method.start is not None:
            return replace(method, start=evidence_codes(self.schema, method.start))
        return method

    def _evidence_of(
        self,
        log_weight: float | None,
        coded: CodedEvidence,
        evidence: Evidence,
        virtual_evidence: VirtualEvidence,
    ) -> Any:
        """A function that gives ln P(evidence); raises if the evidence is impossible."""
        if log_weight is None:
            return partial(self.log_evidence, evidence, virtual_evidence=virtual_evidence)
        if log_weight == -np.inf:
            raise self._impossible(coded, evidence)
        return partial(self.engine.log_evidence, log_weight, coded)

    def _late_evidence(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> Floats:
        """ln P(evidence of each row), exactly, for answers that are not exact."""
        log_weights = self.engine.ask_rows(queried, columns, codes)[1]
        return self.engine.log_evidence_rows(log_weights, queried, columns, codes)

    def _impossible(
        self, coded: CodedEvidence, evidence: Evidence = None, row: int | None = None
    ) -> EvidenceError:
        """An error that names a small conflict."""
        return conflict_error(self.schema, self.engine.conflict(coded), evidence, row)

    def _codes(self, X: Any) -> Codes:
        same = isinstance(X, Table) and X.schema == self.schema
        table: Table = X if same else Table.from_frame(X, schema=self.schema)
        return table.codes
