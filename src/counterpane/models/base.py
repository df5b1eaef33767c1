"""What every model can do, once it says what its potentials are."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.models.evidence import Evidence as Evidence
from counterpane.models.evidence import read_rows
from counterpane.models.explaining import (
    Explanation,
    check_one,
    explain_by_potentials,
    one_row,
)
from counterpane.models.formats import (
    NATIVE,
    Conditionals,
    Factors,
    Network,
    formats_of,
    suffix_of,
    write_network,
)
from counterpane.models.formats.native import Content, write_native
from counterpane.models.predictions import prediction_frame
from counterpane.models.questions import Questions, listed
from counterpane.plotting import draw_plot
from counterpane.typing import Array, Codes, Floats

if TYPE_CHECKING:
    from counterpane.models import imputing, notebook, odd_rows, picture_files
    from counterpane.models.imputing import ImputedCell
    from counterpane.models.odd_rows import OddRow
else:
    imputing = lazy("counterpane.models.imputing")
    odd_rows = lazy("counterpane.models.odd_rows")
    notebook = lazy("counterpane.models.notebook")
    picture_files = lazy("counterpane.models.picture_files")


class Model(Questions):
    """A final distribution over the variables of `schema`, as a product of potentials.

    `X` is a `Table`, or any frame that `Table.from_frame` reads with the model's schema.
    `provenance` says how the model was learned, and is saved with it.
    """

    kind: ClassVar[str]
    provenance: dict[str, Any] | None

    @property
    @abstractmethod
    def graph(self) -> Any:
        """The structure as a networkx graph whose nodes are the column names."""

    @abstractmethod
    def to_arrays(self) -> dict[str, Array]:
        """All that `from_arrays` needs beside the schema, as int64 and float64 arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls, schema: Schema, arrays: Mapping[str, Array], provenance: dict[str, Any] | None
    ) -> Self:
        """The model that `to_arrays` described."""

    def plot(self, **options: Any) -> Any:
        """The graph on matplotlib axes; `options` are those of `counterpane.plots.graph`."""
        return draw_plot("graph", self, **options)

    def save_picture(self, path: str | os.PathLike[str]) -> None:
        """Write the graph as a picture: `.svg`, `.png` (by matplotlib) or `.dot` (Graphviz).

        Arrows are the edges whose direction the data decide; the others are lines.
        """
        picture_files.write_picture(self, path)

    def _repr_html_(self) -> str:
        return notebook.model_html(self, repr(self))

    def score_samples(self, X: Any) -> Floats:
        """ln P(row), natural log, shape (n_rows,); minus infinity for an impossible row."""
        return self.blanket.log_potential(self._codes(X)) - self.log_partition

    def full_conditionals(self, X: Any, variables: Iterable[str] | None = None) -> Floats:
        """ln P(variable = state | rest of the row), shape (n_rows, Σ cards of the variables)."""
        asked = None if variables is None else self.schema.indices(listed(variables))
        return self.blanket.full_conditionals(self._codes(X), asked)

    def pseudo_log_likelihood(self, X: Any, *, total: bool = False) -> Floats:
        """ln P(cell | rest of its row), shape (n_rows, n_variables); with `total` the row sums."""
        return self.blanket.pseudo_log_likelihood(self._codes(X), total=total)

    def class_probabilities(self, frame: Any, target: str | None = None) -> Floats:
        """P(target | row) for each row of a frame, shape (n_rows, states of the target).

        What a row does not tell, or tells in a state that the model does not know, is summed out.
        Without `target` it is the class that the model was learned for.
        """
        name = self._class_name(target)
        return self.query_many(name, frame, impossible="prior", unseen="unknown").probabilities

    def explain(self, row: Any, target: str | None = None) -> Explanation:
        """What each interaction adds to the log-odds of the classes of one row, largest first.

        `row` is a mapping from names to cells, or a frame of one row. Interactions are those of
        `counterpane.models.explaining.explain_by_potentials`: the columns that a potential joins
        with the class. Without `target` it is the class that the model was learned for.
        """
        index = self.schema.index(self._class_name(target))
        frame = one_row(row)
        columns, codes = read_rows(self.schema, frame, [index], "unknown")
        check_one(codes.shape[1])
        cells = dict(zip(columns, codes[:, 0].tolist(), strict=True))
        known = {v: code for v, code in cells.items() if code < self.schema.cards[v]}
        name = self.schema.names[index]
        answers = self.query_many(name, frame, impossible="prior", unseen="unknown")
        with np.errstate(divide="ignore"):
            log_proba = np.log(answers.probabilities[0])
        parts = [(weight, model.to_potentials()) for weight, model in self._averaged()]
        return explain_by_potentials(parts, self.schema, index, known, log_proba)

    def _averaged(self) -> list[tuple[float, Model]]:
        """The models whose mean this one is, with their weights: itself alone."""
        return [(1.0, self)]

    def _class_name(self, target: str | None) -> str:
        """The class: the one that is named, else the one that the model was learned for."""
        name = target or (self.provenance or {}).get("target")
        if not isinstance(name, str):
            raise ParameterError(
                "the model was learned for no class; name the column to predict with ",
                Setting("target"),
                ".",
            )
        return name

    def predict_frame(self, frame: Any, target: str | None = None) -> Any:
        """The most probable state of the target in each row, and the probability of each state.

        A frame of the kind of `frame`: pandas in, pandas out. Rows are read as in
        `class_probabilities`.

        >>> import counterpane as cp
        >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
        >>> found = model.predict_frame({"sex": ["male", "female"]}, "survived")
        >>> found["predicted"], [round(p, 2) for p in found["P(yes)"]]
        (['no', 'yes'], [0.21, 0.73])
        """
        probabilities = self.class_probabilities(frame, target)
        name = target or (self.provenance or {})["target"]
        return prediction_frame(frame, self.schema[name], probabilities)

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
        done = imputing.impute(self, frame, draws, random_state, cells=False)
        return done[0].frame if draws is None else [part.frame for part in done]

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
        return imputing.impute(self, frame, None, None)[0].cells

    def odd_rows(self, X: Any, n: int = 20, *, cells: int = 3) -> list[OddRow]:
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

    def save(self, path: str | os.PathLike[str], *, plain_names: bool = True) -> None:
        """Write the model to a file; `counterpane.load` reads it back.

        The native file (`.cp`, or no suffix) keeps everything, bit for bit. Bayesian networks are
        also written as `.bif`, `.xmlbif` (or `.bifxml`, `.xml`), `.uai`, `.net` (Hugin) and `.xdsl`
        (GeNIe), the tables bit for bit; Markov networks as `.uai`. Names and states are written in
        words that other tools read: `<0.28` becomes `lt_0_28`. Comments in the file keep the
        originals and the cuts of numbers, and `load` gives them back; with plain_names=False the
        file has the original texts only. For Libra, which knows no names, Bayesian networks are
        written as `.bn`, Markov networks as `.mn`, dependency networks as `.dn` or `.cn`. A further
        `.gz` compresses.
        """
        suffix, network = suffix_of(path), self._network()
        if suffix == NATIVE:
            content = Content(self.kind, self.schema, self.to_arrays(), self.provenance)
            write_native(path, content)
        elif network is not None and suffix in formats_of(network):
            write_network(path, network, plain_names=plain_names)
        else:
            known = ", ".join([NATIVE, *formats_of(network)])
            raise ParameterError(
                f"a {type(self).__name__} cannot be saved as {suffix!r}; known suffixes: {known}, "
                "each also with .gz."
            )

    def _network(self) -> Network | Factors | Conditionals | None:
        """The model as the formats of other tools hold it, if they do."""
        return None

    def _codes(self, X: Any) -> Codes:
        same = isinstance(X, Table) and X.schema == self.schema
        table: Table = X if same else Table.from_frame(X, schema=self.schema)
        return table.codes
