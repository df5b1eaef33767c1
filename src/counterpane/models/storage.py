"""Models from files, whatever their format."""

from __future__ import annotations

import os
from pathlib import Path

from counterpane.errors import CounterpaneError, FileFormatError, no_file
from counterpane.models.base import Model
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.formats.bif import read_bif
from counterpane.models.formats.native import MAGIC, read_native

KINDS: dict[str, type[Model]] = {model.kind: model for model in (BayesianNetwork,)}
"""The models that a native file may hold."""


def load(path: str | os.PathLike[str]) -> Model:
    """The model in a native file (known by its first bytes), or in a `.bif` or `.bif.gz` file."""
    if not Path(path).is_file():
        raise no_file(Path(path))
    with open(path, "rb") as file:
        native = file.read(len(MAGIC)) == MAGIC
    if native or Path(path).suffix == ".cp":
        content = read_native(path)
        if content.kind not in KINDS:
            raise FileFormatError(
                f"{str(path)!r} holds a model of kind {content.kind!r}; known: {', '.join(KINDS)}."
            )
        try:
            model = KINDS[content.kind]
            return model.from_arrays(content.schema, content.arrays, content.provenance)
        except (CounterpaneError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise FileFormatError(f"{str(path)!r} holds no valid model: {error!r}.") from None
    if str(path).lower().endswith((".bif", ".bif.gz")):
        return read_bif(path)
    raise FileFormatError(
        f"{str(path)!r} is not a model file that is known; .cp, .bif and .bif.gz are read."
    )
