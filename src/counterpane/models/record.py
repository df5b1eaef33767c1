"""What is known about the learning of a model, in types that a model file keeps.

`LearningRecord` is the root; `counterpane.models.typed_values` writes it as JSON and reads it back.
A new entry needs one field here, and a title if a page shall show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

from counterpane.models.edges import Edge
from counterpane.present.table import TextTable, right

CHOSEN = "the folds that chose the structure"
AGAIN = "learned again without them"

Config = Mapping[str, Any]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class MeasuredValue:
    """A measure and its standard error; None if the error is not known."""

    value: float
    error: float | None = None


@dataclass(frozen=True)
class CalibrationBin:
    """Rows of similar predictions: their weight, the mean prediction, and the observed share.

    `error` is the standard error of `observed` if the predictions are right.
    """

    rows: float
    predicted: float
    observed: float
    error: float


@dataclass(frozen=True)
class CalibrationError:
    """The mean distance of predicted and observed shares, and that of a calibrated model."""

    value: float
    by_chance: float


@dataclass(frozen=True)
class ClassShares:
    """The measures of a model that predicts the shares of the classes in each row."""

    log_loss: float
    accuracy: float
    brier: float
    auc: float


@dataclass(frozen=True, repr=False)
class ClassFigures:
    """Measures of a classifier on rows that its fits have not seen, as a model file keeps them.

    `how` says which fits predicted the rows. `calibration` has the second of two classes, or the
    most probable class; `curves` has each class, and `confusion[i][j]` the weight of the rows of
    class i with the prediction j. Both are empty if there are more than 30 classes.
    """

    how: str
    folds: int
    rows: float
    log_loss: MeasuredValue | None
    auc: MeasuredValue | None
    accuracy: MeasuredValue
    brier: MeasuredValue
    prior: ClassShares
    calibration_error: CalibrationError
    calibration: tuple[CalibrationBin, ...]
    curves: tuple[tuple[CalibrationBin, ...], ...] = ()
    confusion: tuple[tuple[float, ...], ...] = ()

    @property
    def chose(self) -> bool:
        """Whether the folds also chose the structure, so that the figures may be optimistic."""
        return self.how == CHOSEN

    def table(self) -> TextTable:
        """The measures beside those of the class shares."""
        titles = {
            "log_loss": "log-loss, in nats (lower is better)",
            "auc": "AUC" if len(self.curves) == 2 else "AUC, mean of each class against the rest",
            "accuracy": "accuracy",
        }
        rows = []
        for name, title in titles.items():
            measured = getattr(self, name)
            if measured is not None:
                percent = name == "accuracy"
                prior = _number(getattr(self.prior, name), None, percent=percent)
                rows.append(
                    (title, _number(measured.value, measured.error, percent=percent), prior)
                )
        held = f"held out in {self.folds} folds" if self.folds > 1 else "held out once"
        rows_held = f"{self.rows:,} rows {held}" if self.folds > 1 else f"rows {held}"
        return TextTable.of((f"On {rows_held}", right("this model"), right("class shares")), rows)

    def __repr__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        return self.table().to_html()


def _number(value: float, error: float | None, *, percent: bool) -> str:
    times, unit, digits = (100, " %", 1) if percent else (1, "", 3)
    plus_minus = "" if not error else f" ± {times * error:.{digits}f}"
    return f"{times * value:.{digits}f}{plus_minus}{unit}"


@dataclass(frozen=True)
class KeptRows:
    """How many of the distinct training rows the model keeps."""

    kept: int
    distinct: int


@dataclass(frozen=True)
class DataRecord:
    """The rows that a model was learned from; `fingerprint` is a digest of their cells."""

    rows: float | None = None
    weight: float | None = None
    fingerprint: str | None = None
    frame: str | None = None
    target: str | None = None
    targets: tuple[str, ...] = ()
    kept_rows: KeptRows | None = None
    updates: int = 0


@dataclass(frozen=True)
class MissingCells:
    """What was done about missing cells; see `counterpane.learners.gap_policy.GapPolicy`."""

    policy: str = "none"
    columns: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    cells: float | None = None
    why: str = ""
    note: str = ""


@dataclass(frozen=True)
class Preparation:
    """What was done to the columns before learning, and the options that a user gave for it."""

    left_out: Mapping[str, str] = field(default_factory=dict)
    read_as: Mapping[str, str] = field(default_factory=dict)
    gap_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    bins: int | None = None
    row_counts: str | None = None
    decimal: str | None = None
    missing: MissingCells | None = None


def preparation_record(facts: Mapping[str, Any], **more: Any) -> Preparation:
    """The record of what `Prepared.facts` says, and further fields."""
    words = {name: tuple(own) for name, own in facts.get("gap_words", {}).items()}
    left_out, read_as = facts.get("left_out", {}), facts.get("read_as", {})
    return Preparation(dict(left_out), dict(read_as), words, **more)


@dataclass(frozen=True)
class LearnerRecord:
    """The learner with its parameters, and how its search went.

    `text` is the learner as it is printed, `config` what `Learner.to_config` returned, None if a
    parameter cannot be written as JSON. `why` is the reason why the method was chosen.
    """

    text: str | None = None
    config: Config | None = None
    method: str | None = None
    why: str | None = None
    stopped: str | None = None
    random_state: int | None = None
    prior_size: float | None = None
    seconds: float | None = None
    trace: tuple[Mapping[str, Any], ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config = self.config
        if config is not None and not (
            isinstance(config.get("class"), str) and isinstance(config.get("parameters"), Mapping)
        ):
            raise TypeError("the record has a strange config: it names no learner")

    @property
    def name(self) -> str | None:
        """The name of the learner's class; None if the model was not learned."""
        return None if self.text is None else self.text.partition("(")[0]


@dataclass(frozen=True)
class ConstraintRecord:
    """The constraints of a user on edges, and the edges whose direction follows from them."""

    required: Pairs = ()
    forbidden: Pairs = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    known_directions: Pairs = ()


@dataclass(frozen=True)
class PoolRecord:
    """The weights of tables and boosted trees in a classifier, and the reason in words."""

    note: str = ""
    tables: float | None = None
    trees: float | None = None
    shape: str | None = None
    rounds: int | None = None


@dataclass(frozen=True)
class WeightSearch:
    """How the weights of a Markov network were fitted: `tried` has (sd, l1, validation PLL)."""

    structure: str
    objective: float
    steps: int
    converged: bool
    tried: tuple[tuple[float, float, float | None], ...] = ()


@dataclass(frozen=True)
class Conversion:
    """How a dependency network became a Markov network."""

    orders: str
    max_length: float | None = None


@dataclass(frozen=True)
class RankerScore:
    """The mean reciprocal rank of left-out links by one ranker."""

    ranker: str
    mrr: float
    error: float | None = None


@dataclass(frozen=True)
class LearningRecord:
    """How a model was learned. A model that was written down, or read from a foreign file, has
    an empty record: `learned` is False.

    >>> LearningRecord().learned
    False
    """

    learner: LearnerRecord = field(default_factory=LearnerRecord)
    data: DataRecord = DataRecord()
    preparation: Preparation = field(default_factory=Preparation)
    constraints: ConstraintRecord = ConstraintRecord()
    edge_shares: tuple[Edge, ...] = ()  # of bootstrap samples
    measures: ClassFigures | None = None
    pool: PoolRecord = PoolRecord()
    marks: tuple[tuple[str, str, str], ...] = ()  # of a partial ancestral graph
    edge_probabilities: tuple[Edge, ...] = ()
    candidates: tuple[RankerScore, ...] = ()
    weights: WeightSearch | None = None
    conversion: Conversion | None = None
    interventions: Mapping[str, str] = field(default_factory=dict)

    @property
    def learned(self) -> bool:
        """Whether the model was learned from rows."""
        return self.learner.text is not None

    def with_parts(self, **changes: Any) -> LearningRecord:
        """The record with other fields; a dict replaces fields of a part.

        >>> LearningRecord().with_parts(data={"target": "y"}).data.target
        'y'
        """
        parts: dict[str, Any] = {}
        for name, value in changes.items():
            part: Any = getattr(self, name)
            inner = isinstance(value, dict) and is_dataclass(part)
            parts[name] = replace(part, **value) if inner else value
        return replace(self, **parts)
