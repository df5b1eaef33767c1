"""Batches of questions: the answers for each row of a frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from counterpane.checks import (
    BOOLEAN,
    CHOICE,
    INTERVENTION,
    LIMITS,
    NAMES,
    NONE,
    STRING,
    accepts,
)
from counterpane.data.export import frame_kind_of
from counterpane.errors import ParameterError, Setting
from counterpane.inference.limits import limited
from counterpane.models.answer import Answers
from counterpane.models.certainty import warn_if_inexact
from counterpane.models.choice import ChosenAnswers
from counterpane.models.estimate import Method
from counterpane.models.evidence import (
    NO_EVIDENCE,
    CodedEvidence,
    Intervention,
    Unseen,
    evidence_rows,
)
from counterpane.models.exact import name_list
from counterpane.typing import Codes, Floats


class BatchAnswers(ChosenAnswers):
    """What a model says of each row of a frame."""

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
        model, set_states = self._after(do, None, name_list(variables))
        queried = self._positions(name_list(variables), NO_EVIDENCE)
        left_out = [*queried, *self.schema.indices(set_states or ())]
        columns, codes = evidence_rows(self.schema, frame, left_out, unseen)
        axes = [self.schema[v] for v in queried]
        shape = (-1, *(v.card for v in axes))
        full = (codes < self.schema.cards[list(columns), None]).all(axis=1)
        with limited(exact, max_memory):
            answer, how, why = model._exactly(
                method, queried, np.array(columns)[full].tolist(),
                lambda: model._ask_rows(queried, columns, codes),
            )  # fmt: skip
        if answer is None:
            estimator = model._estimator({*queried, *columns})
            found, certainty = estimator.rows(queried, columns, codes, how)
            warn_if_inexact(certainty, why, strict=strict)
            late = partial(model._late_evidence, queried, columns, codes)
            answers = Answers(axes, found.reshape(shape), late, certainty)
            answers.frame_kind = frame_kind_of(frame)
            return answers
        found, log_weights = answer
        bad = np.flatnonzero(log_weights == -np.inf)
        if bad.size and impossible == "error":
            row = zip(columns, codes[:, bad[0]].tolist(), strict=True)
            cells = {v: code for v, code in row if code < self.schema.cards[v]}
            raise model._impossible(CodedEvidence(cells, {}), row=int(bad[0]))
        if bad.size:
            found[bad] = model._ask(queried, NO_EVIDENCE)[0].reshape(-1)
        log_evidence = partial(model._log_evidence_rows, log_weights, queried, columns, codes)
        answers = Answers(axes, found.reshape(shape), log_evidence)
        answers.frame_kind = frame_kind_of(frame)
        return answers

    @accepts(target=STRING | NONE)
    def class_probabilities(self, frame: Any, target: str | None = None) -> Floats:
        """P(target | row) for each row of a frame, shape (n_rows, states of the target).

        What a row does not tell, or tells in a state that the model does not know, is summed out.
        Without `target` it is the class that the model was learned for.
        """
        name = self._class_name(target)
        return self.query_many(name, frame, impossible="prior", unseen="unknown").probabilities

    def _late_evidence(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> Floats:
        """ln P(evidence of each row), exactly, for answers that are not exact."""
        log_weights = self._ask_rows(queried, columns, codes)[1]
        return self._log_evidence_rows(log_weights, queried, columns, codes)
