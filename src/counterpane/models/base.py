"""What all models share: a schema, how they were learned, links, pictures and files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from counterpane.checks import BOOLEAN, NONE, PATH, STRING, accepts
from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.export import frame_like
from counterpane.data.schema import Schema, Variable, state_text
from counterpane.errors import ParameterError, Setting, shown_type
from counterpane.formats import (
    NATIVE,
    Conditionals,
    Factors,
    Network,
    suffix_of,
    suffixes_for,
    write_network,
)
from counterpane.formats.native import Content, write_native
from counterpane.models.arrays import arrays_of
from counterpane.models.record import LearningRecord
from counterpane.models.typed_values import plain
from counterpane.plotting import draw_plot, open_explorer, use_tool
from counterpane.typing import Array, Floats

PICTURES = (".dot", ".svg", ".png")


class Model(ABC):
    """A fitted model of the columns of `schema`.

    All predict a class. Those with a distribution over all columns are a `JointModel`, which
    answers questions. `record` says how the model was learned, and is saved with it.
    """

    kind: ClassVar[str]
    schema: Schema
    record: LearningRecord

    @accepts(target=STRING | NONE, as_frame=BOOLEAN)
    def predict_proba(self, X: Any, target: str | None = None, *, as_frame: bool = False) -> Any:
        """P(target | row) for each row of a frame, shape (n_rows, states of the target).

        What a row does not tell, or tells in a state that the model does not know, is averaged
        over. Without `target` it is the class that the model was learned for. With `as_frame` it is
        a frame of the kind of `X` (pandas in, pandas out) with the most probable state, and the
        probability of each.

        >>> import counterpane as cp
        >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
        >>> rows = {"sex": ["male", "female"]}
        >>> model.predict_proba(rows, "survived").round(2).tolist()
        [[0.79, 0.21], [0.27, 0.73]]
        >>> predictions = model.predict_proba(rows, "survived", as_frame=True)
        >>> predictions["predicted"], [round(p, 2) for p in predictions["P(yes)"]]
        (['no', 'yes'], [0.21, 0.73])
        """
        name = class_name(self, target)
        probabilities = self._class_probabilities(X, name)
        return prediction_frame(X, self.schema[name], probabilities) if as_frame else probabilities

    @abstractmethod
    def _class_probabilities(self, X: Any, target: str) -> Floats:
        """As `predict_proba`, of a class that is named."""

    @accepts()
    def update(self, X: Any, sample_weight: Any = None) -> Any:
        """Refuses: only a Bayesian network keeps the counts that further rows are added to."""
        raise ParameterError(
            f"{shown_type(self)} does not keep the counts that further rows would be added "
            "to; learn it again from all rows, or update a Bayesian network."
        )

    def plot(self, **options: Any) -> Any:
        """The graph on matplotlib axes; `options` are those of `counterpane.plots.graph`."""
        return draw_plot("graph", self, **options)

    @accepts(path=PATH | NONE)
    def explore(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The explorer: a page in which a click is evidence and all bars show what follows.

        A notebook shows it; with a `path` it is written to one HTML file that needs no server.
        `options` are those of `counterpane.explore_model`.
        """
        return open_explorer(self, path, **options)

    def _repr_html_(self) -> str:
        return str(use_tool("model_html", self, repr(self)))

    @accepts(path=PATH, plain_names=BOOLEAN)
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

        `.svg`, `.png` (by matplotlib) and `.dot` (Graphviz) are pictures of the graph: arrows are
        the edges whose direction the data decide; the others are lines.
        """
        suffix, network = suffix_of(path), self._network()
        if suffix in PICTURES:
            use_tool("write_picture", self, path)
        elif suffix == NATIVE:
            arrays = arrays_of(self) | self._row_arrays()
            content = Content(self.kind, self.schema, arrays, plain(self.record))
            write_native(path, content)
        elif network is not None and suffix in suffixes_for(network):
            write_network(path, network, plain_names=plain_names)
        else:
            suffixes = ", ".join([NATIVE, *suffixes_for(network)])
            raise ParameterError(
                f"{shown_type(self)} cannot be saved as {suffix!r}; known "
                f"suffixes: {suffixes}, each also with .gz; pictures: {', '.join(PICTURES)}."
            )

    def _row_arrays(self) -> dict[str, Array]:
        """The training rows that the model keeps, if it does not store them itself."""
        return {}

    def _network(self) -> Network | Factors | Conditionals | None:
        """The model as the formats of other tools hold it, if they do."""
        return None


def class_name(model: Model, target: str | None) -> str:
    """The class that is predicted: the one that is named, else the one that was learned for."""
    own = getattr(model, "target", None)
    name = target or (model.record.data.target if own is None else own.name)
    if name is None:
        raise ParameterError(
            "the model was learned for no class; name the column to predict with ",
            Setting("target"),
            ".",
        )
    return name


def prediction_frame(frame: Any, target: Variable, probabilities: Floats) -> Any:
    """The most probable class of each row, `predicted`, and P(class) of each class, as a frame."""
    none = np.zeros(len(probabilities), dtype=bool)
    best = probabilities.argmax(axis=1)
    columns: list[Column] = [Labels("predicted", target.states, best, declared=True)]
    for state, share in zip(target.states, probabilities.T, strict=True):
        columns.append(Numbers(f"P({state_text(state)})", share, none))
    return frame_like(frame, columns)
