"""Models from files, whatever their format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.checks import PATH, accepts
from counterpane.disk import as_path
from counterpane.errors import CounterpaneError, FileFormatError, no_file
from counterpane.formats import (
    FORMAT_OF,
    NATIVE,
    Conditionals,
    Network,
    read_network,
    suffix_of,
)
from counterpane.formats.native import is_native, read_native
from counterpane.learners.ranking.link_blend import LinkBlend
from counterpane.learners.ranking.link_scores import LinkScores
from counterpane.learners.ranking.walk_scores import WalkScores
from counterpane.models.arrays import model_from_arrays
from counterpane.models.base import Model
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.hybrid_random_field import HybridRandomField
from counterpane.models.joint import JointModel
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.models.record import LearningRecord
from counterpane.models.support import KEPT, kept_rows
from counterpane.models.typed_values import typed

KINDS = [
    model.kind
    for model in (
        AdditiveClassifier,
        BayesianNetwork,
        DependencyNetwork,
        HybridRandomField,
        LinkBlend,
        LinkScores,
        MarkovNetwork,
        Mixture,
        WalkScores,
    )
]
"""The models that a native file may hold."""


@accepts(path=PATH)
def load(path: str | os.PathLike[str]) -> Model:
    """The model in a file, gzipped or not.

    Parameters
    ----------
    path
        The file. A native one is recognized by its first bytes, others by the suffix.

    Returns
    -------
    Model
        A `JointModel`, a classifier, or scores of links.

    Notes
    -----
    `.bif`, `.xmlbif`, `.bifxml`, `.xml` (XMLBIF), `.uai`, `.net` (Hugin) and `.xdsl` (GeNIe) hold
    Bayesian networks, `.uai` also Markov networks; their states are text. Libra's `.bn`, `.dn`,
    `.cn` and `.mn` hold Bayesian, dependency and Markov networks. Files that are
    damaged, truncated or malicious are refused.

    Examples
    --------
    >>> import tempfile
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/titanic.bif")
    ...     load(f"{folder}/titanic.bif")
    BayesianNetwork(4 variables, 3 edges, 13 parameters)
    """
    if not as_path(path).is_file():
        raise no_file(Path(path))
    if not is_native(path) and (suffix := suffix_of(path)) != NATIVE:
        if suffix not in FORMAT_OF:
            raise FileFormatError(
                f"{str(path)!r} is not a model file that is known; "
                f"{', '.join([NATIVE, *FORMAT_OF])} are read, also with .gz."
            )
        network = read_network(path)
        if isinstance(network, Network):
            return BayesianNetwork(*network)
        if isinstance(network, Conditionals):
            return DependencyNetwork(*network)
        return MarkovNetwork(*network)
    content = read_native(path)
    if content.kind not in KINDS:
        raise FileFormatError(
            f"{str(path)!r} holds a model of kind {content.kind!r}; known: {', '.join(KINDS)}."
        )
    try:
        kept = {name: a for name, a in content.arrays.items() if name.startswith(KEPT)}
        arrays = {name: array for name, array in content.arrays.items() if name not in kept}
        record = read_record(content.note)
        stored: Model = model_from_arrays(content.kind, content.schema, arrays, record)
        if isinstance(stored, JointModel):
            stored.training_rows = kept_rows(content.schema, kept)
        return stored
    except (CounterpaneError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise FileFormatError(f"{str(path)!r} holds no valid model: {error!r}.") from None


def read_record(note: dict[str, Any]) -> LearningRecord:
    """The record of a model file; TypeError if it has another shape."""
    record: LearningRecord = typed(LearningRecord, note, "record")
    return record
