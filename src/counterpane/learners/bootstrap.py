"""Edge confidence for any learner: learn again on resampled rows and count the edges.

Friedman, Goldszmidt & Wyner (1999).
"""

from __future__ import annotations

import copy
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpane.checks import BOOLEAN, FUNCTION, INTEGER, NONE, NUMBER, accepts
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import read
from counterpane.counts.source import CountSource
from counterpane.data.table import Table, in_text_order
from counterpane.errors import FitError, ParameterError, Setting
from counterpane.graphs import Dag, cpdag
from counterpane.lazy import lazy
from counterpane.learners.base import Missing
from counterpane.learners.bayesian.structural_em import COMPLETIONS, completed_rows
from counterpane.learners.driver import CTRL_C, StoppedEarly
from counterpane.learners.sample_intervals import (
    SampleIntervals,
    columns_cut_by_rule,
    in_number_order,
)
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.edges import Edges, edges_by_share
from counterpane.models.joint import JointModel
from counterpane.parallel import thread_pool
from counterpane.plotting import draw_plot
from counterpane.progress import Control, Report, Stopped, TextBar
from counterpane.seeds import random_generator
from counterpane.tools.links import equivalence_graph
from counterpane.typing import Floats

if TYPE_CHECKING:
    from counterpane.learners import notebook
else:
    notebook = lazy("counterpane.learners.notebook")

nx, sparse = lazy("networkx"), lazy("scipy.sparse")

DENSE_COLUMNS = 1_000  # above so many, shares of edges are sparse
FEW_NAMES = 8  # that a result prints
REPEATS = 8  # if a distinct row occurs so often on average, samples are weighted rows


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """How often each edge appears; arrays are indexed (from, to) in the order of `names`.

    Parameters
    ----------
    names : tuple of str
        The columns.
    edge_probabilities : array
        The share of samples that have the edge in that direction; an edge without a direction
        counts half for each. Above 1,000 columns this and the other arrays are sparse (scipy).
    directed : bool
        Whether edges have directions.
    n : int
        The number of samples.
    models : tuple of Model
        The networks, if `keep_models` was set.
    undirected : array or None
        The share of samples that join two columns and leave the direction open.

    Examples
    --------
    >>> import counterpane as cp
    >>> result = cp.bootstrap(cp.ChowLiu(), cp.load_dataset("titanic"), n=20, random_state=0)
    >>> print(result.edges[:2])
    edge          share of 20 samples  with this mark
    status — age                 1.00            1.00
    status — sex                 1.00            1.00
    """

    names: tuple[str, ...]
    edge_probabilities: Floats
    directed: bool
    n: int
    models: tuple[JointModel, ...] = ()
    undirected: Floats | None = None

    @property
    def strengths(self) -> Floats:
        """The share of samples that join two variables, in either direction; symmetric."""
        joined = self.edge_probabilities + self.edge_probabilities.T
        whole: Any = joined * self.n  # sums of whole samples, without rounding errors
        shares: Floats = (whole.rint() if is_sparse(whole) else np.rint(whole)) / self.n
        return shares

    @property
    def arrows(self) -> Floats:
        """The share of all samples that have an edge with this direction."""
        arrows: Floats = self.edge_probabilities - self._open / 2
        return arrows

    @property
    def directions(self) -> Floats:
        """Of the samples that join two variables, the share with this direction; 0 where none.

        Samples whose equivalence class leaves the direction open count for neither.
        """
        joined, arrows = self.strengths, self.arrows
        if is_sparse(arrows):
            inverse: Any = joined.copy()
            inverse.data = 1.0 / inverse.data
            product: Floats = sparse.csr_array(inverse.multiply(arrows))
            return product
        shares: Floats = arrows / np.where(joined > 0, joined, 1.0)
        return shares

    @property
    def _open(self) -> Floats:
        shares = self.edge_probabilities
        none: Floats = shares * 0.0 if is_sparse(shares) else np.zeros_like(shares)
        return none if self.undirected is None else self.undirected

    @cached_property
    def edges(self) -> Edges:
        """One edge for each pair that a sample connects, the largest share first.

        `share` is the share of the samples that connect the pair. The mark is an arrow if more than
        half of all samples have that direction, and at least three quarters of those that connect
        the pair; `share_of_mark` is then the share that has the arrow. With `equivalence=False`
        every edge has the direction that more samples have.
        """
        arrows = entries_of(self.arrows) if self.directed else {}
        always = self.directed and self.undirected is None
        joined = entries_of(self.strengths)
        return edges_by_share(self.names, joined, arrows, self.n, always=always)

    def averaged_graph(self, threshold: float = 0.5) -> Any:
        """A networkx graph of the pairs of at least this strength.

        An edge has a direction if more than half of all samples have it, and at least three
        quarters of those that join the pair; any other edge is undirected: it is there in both
        directions, with `directed=False`, as in `cp.equivalence_graph`. With `equivalence=False`
        in `bootstrap` every edge has its stronger direction. The strongest edges come first; one
        that would close a directed cycle is left without a direction, or left out where every edge
        has one. `share` of an edge is the share of the samples that have it as it is drawn.
        """
        if not 0 < threshold <= 1:
            raise ParameterError(
                Setting("threshold", threshold), "; a share above 0 and up to 1 is needed."
            )
        graph: Any = nx.DiGraph() if self.directed else nx.Graph()
        graph.graph["samples"] = self.n
        graph.add_nodes_from(self.names)
        arrows: Any = nx.DiGraph()
        arrows.add_nodes_from(self.names)
        place = {name: i for i, name in enumerate(self.names)}
        shares = self.directions
        for edge in self.edges:
            a, b = edge.ends
            # Shares are sums of whole samples, so a tie with the threshold may be off by rounding.
            if (edge.share or 0.0) < threshold - 1e-9:
                break
            known: dict[str, Any] = {"strength": edge.share, "share": edge.share_of_mark}
            way, back = (float(shares[place[p], place[q]]) for p, q in ((a, b), (b, a)))
            closes = self.directed and nx.has_path(arrows, b, a)
            if not self.directed:
                graph.add_edge(a, b, **known, direction=way)
            elif edge.directed and not closes:
                graph.add_edge(a, b, **known, direction=way, directed=True)
                arrows.add_edge(a, b)
            elif self.undirected is not None:
                known |= {"share": edge.share, "directed": False}
                graph.add_edge(a, b, **known, direction=way)
                graph.add_edge(b, a, **known, direction=back)
        return graph

    def _repr_html_(self) -> str:
        return notebook.bootstrap_html(self)

    def plot(self, kind: str = "graph", **options: Any) -> Any:
        """The "graph" of pairs found in half of the samples, or the matrix of "edges".

        Shares of fewer than 20 samples are not shown. See `counterpane.plots.graph` and
        `counterpane.plots.edge_probabilities`.
        """
        return draw_plot("learned", self, kind, **options)

    def __repr__(self) -> str:
        many = len(self.names) > FEW_NAMES
        names = f"{len(self.names):,} columns" if many else f"{self.names}"
        return f"BootstrapResult({self.n} samples, {len(self.edges)} pairs of {names})"


@accepts(
    n=INTEGER,
    equivalence=BOOLEAN,
    keep_models=BOOLEAN,
    fixed_cut_points=BOOLEAN,
    time_limit=NUMBER | NONE,
    n_jobs=INTEGER,
    progress=BOOLEAN | FUNCTION,
)
def bootstrap(
    learner: Any,
    X: Any,
    n: int = 200,
    *,
    equivalence: bool = True,
    keep_models: bool = False,
    fixed_cut_points: bool = False,
    random_state: int | np.random.Generator | None = None,
    time_limit: float | None = None,
    n_jobs: int = 1,
    progress: bool | Report = False,
) -> BootstrapResult:
    """The edges that copies of `learner` learn from `n` bootstrap samples of the rows of `X`.

    Rows are drawn with replacement. Each sample votes with the equivalence class of its network:
    an edge has a direction only if the whole class has it. With missing="auto" the policy for
    missing cells is chosen once, for all rows; if it is EM, one network is learned from all rows,
    and the missing cells of each sample are drawn from it.

    Numbers are discretized within each sample, by the rule that the table was read with. Cut points
    stay as they are where you passed them, where missing cells are estimated by EM, and if models
    are kept, which must have the same states.

    Parameters
    ----------
    learner : learner
        Has `fit` and sets `graph_`, or a `model_` with a `graph`; it is not changed.
    X : table
        A frame, a numpy array, a path, a `Table` or a `CountSource`.
    n : int
        The number of samples.
    equivalence : bool
        If False, a sample votes with the network itself, whose directions are partly arbitrary.
    keep_models : bool
        Keep the models, for a `Mixture`.
    fixed_cut_points : bool
        Keep the cut points of the whole table.
    random_state : int or numpy.random.Generator, optional
        The seed.
    time_limit : float, optional
        Seconds from the first sample; then, or after Ctrl-C, the finished samples are used.
    n_jobs : int
        Threads that fit learners in parallel; the result does not depend on it.
    progress : bool or function
        True shows a bar; a function gets (what, done, total).

    Returns
    -------
    BootstrapResult
        How often each edge appears.

    Examples
    --------
    >>> import counterpane as cp
    >>> result = bootstrap(cp.ChowLiu(), cp.load_dataset("titanic"), n=20, random_state=0)
    >>> print(result.edges[0].text, result.edges[0].share)
    status — age 1.0
    """
    for name, number in (("n", n), ("n_jobs", n_jobs)):
        if not isinstance(number, (int, np.integer)) or number < 1:
            raise ParameterError(Setting(name, number), "; a whole number from 1 is needed.")
    fixed = fixed_cut_points or keep_models
    rows, size = _rows_to_draw(X, fixed)
    if rows.has_missing.any():
        learner, rows, size = _with_one_policy(learner, rows, size, fixed)
    seed = int(random_generator(random_state).integers(2**62))
    learn = _fitting(learner, rows, size, seed)
    votes: defaultdict[tuple[int, int, bool], int] = defaultdict(int)
    models: list[JointModel] = []
    directed, done = True, 0
    bar: Any = TextBar() if progress is True else nullcontext(progress or None)
    with bar as report, thread_pool(n_jobs) as pool:
        control = Control.within(time_limit, report)
        try:
            for fitted in _in_order(pool, learn, int(n), n_jobs):
                edges, has_arrows = _adjacency(fitted, rows.schema.names, equivalence)
                for edge in edges:
                    votes[edge] += 1
                directed = directed and has_arrows
                if keep_models:
                    models.append(fitted.model_)
                    vars(fitted.model_).pop("_kept", None)  # each sample would keep its own
                done += 1
                control.report("learning from samples", done, n)
        except (Stopped, KeyboardInterrupt) as reason:
            pool.shutdown(cancel_futures=True)
            if done == 0:
                raise
            if done < n:
                why = reason.reason if isinstance(reason, Stopped) else CTRL_C
                words = (
                    f"the bootstrap was stopped ({why}) after {done} of {n} samples; the result "
                )
                warnings.warn(StoppedEarly(words, "is that of those.", reason=why), stacklevel=2)
    lines, arrows = (
        _vote_matrix({(a, b): k for (a, b, way), k in votes.items() if way == kind}, rows.n_columns)
        for kind in (False, True)
    )
    shares = (arrows + lines / 2) / done
    open_ = lines / done if equivalence or not directed else None
    return BootstrapResult(rows.schema.names, shares, directed, done, tuple(models), open_)


def _rows_to_draw(X: Any, fixed: bool) -> tuple[Table, int]:
    """The rows of `X` with their weights, and the number of rows of a sample.

    Distinct rows, unless numbers are discretized in each sample.
    """
    data = X if isinstance(X, CountSource | Table) else read(X)
    table = data.rows() if isinstance(data, CountSource) else data
    n_rows = data.n_rows
    if fixed or not columns_cut_by_rule(table):
        rows = in_text_order(table.distinct())
    else:
        rows = in_text_order(in_number_order(table))
        if rows.weights is None:
            rows = rows.reweighted(np.ones(rows.n_rows, dtype=np.int64))
    assert rows.weights is not None
    counted = rows.weights.dtype.kind == "i"
    return rows, int(rows.weights.sum()) if counted or n_rows is None else n_rows


def _with_one_policy(learner: Any, rows: Table, size: int, fixed: bool) -> tuple[Any, Table, int]:
    """(learner, rows, size of samples) with the policy that missing="auto" chooses for all rows."""
    parameters = dict(learner.get_params(deep=False))
    leaves = getattr(learner, "_leaves_gaps", ())
    if parameters.get("missing") != "auto" or "em" not in leaves:
        return learner, rows, size
    parameters = copy.deepcopy({**parameters, "progress": False, "checkpoint": None})
    fitted = type(learner)(**parameters).fit(rows)
    resampled, parameters["missing"] = rows_to_resample(fitted, rows)
    return type(learner)(**parameters), *_rows_to_draw(resampled, fixed)


def _fitting(learner: Any, rows: Table, size: int, seed: int) -> Callable[[int], Any]:
    """A function from a sample's number to a copy of `learner` fitted to it."""
    if not hasattr(learner, "get_params"):
        raise ParameterError(f"learner={learner!r} is no learner; ChowLiu() is one.")
    parameters = dict(learner.get_params(deep=False))
    if "checkpoint" in parameters:
        parameters["checkpoint"] = None  # samples cannot share a file

    intervals = SampleIntervals.of(rows)

    def learn(sample: int) -> Any:
        rng = np.random.default_rng([seed, sample])
        copied = copy.deepcopy(parameters)
        if "random_state" in copied:
            copied["random_state"] = int(rng.integers(2**31))
        return type(learner)(**copied).fit(_resampled(rows, size, rng, intervals))

    return learn


def _resampled(
    rows: Table, size: int, rng: np.random.Generator, intervals: SampleIntervals | None = None
) -> Table:
    """A sample of `size` rows, of the same total weight as `rows`, with its own `intervals`.

    Weighted where rows repeat often, or where a sample might lose all missing cells of a column
    and with them a state. Else rows are copied, since plain rows are counted as bits: five times
    faster in a search on 5,000 distinct ones.
    """
    assert rows.weights is not None
    total = float(rows.weights.sum())
    drawn = rng.multinomial(size, rows.weights / total)
    rows = rows if intervals is None else intervals.discretized(drawn)
    if not math.isclose(total, size, rel_tol=1e-9):
        return rows.reweighted(drawn * (total / size))
    if REPEATS * rows.n_rows > size and not rows.has_missing.any():
        return rows.reweighted(None).take(np.repeat(np.arange(rows.n_rows), drawn))
    return rows.reweighted(drawn)


def _in_order(
    pool: ThreadPoolExecutor, learn: Callable[[int], Any], n: int, ahead: int
) -> Iterator[Any]:
    """The results of `learn(0)` … in order; at most `ahead` samples run before they are needed."""
    waiting: list[Future[Any]] = []
    for sample in range(n):
        waiting.append(pool.submit(learn, sample))
        if len(waiting) > ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def _adjacency(
    learner: Any, names: tuple[str, ...], equivalence: bool
) -> tuple[list[tuple[int, int, bool]], bool]:
    """(from, to, whether that is its direction) of each edge, both ways where it has none.

    Also whether edges of the learner have directions.
    """
    graph = getattr(learner, "graph_", None)
    if graph is None and hasattr(learner, "model_"):
        graph = learner.model_.graph
    if graph is None:
        raise FitError(
            f"{type(learner).__name__} leaves neither graph_ nor model_ after fit, so it has no "
            "edges to count."
        )
    directed = bool(graph.is_directed())
    if equivalence and directed:
        graph = _class_of(learner, graph, names)
    index = {name: i for i, name in enumerate(names)}
    ends = {(index[a], index[b]) for a, b in graph.edges}
    if not graph.is_directed():
        ends |= {(b, a) for a, b in ends}
    return [(a, b, (b, a) not in ends) for a, b in ends], directed


def _vote_matrix(votes: dict[tuple[int, int], int], n: int) -> Any:
    """The votes as an array of n × n numbers, sparse above `DENSE_COLUMNS` columns."""
    places = np.array(list(votes), dtype=np.int64).reshape(-1, 2)
    values = np.array(list(votes.values()), dtype=np.float64)
    if n > DENSE_COLUMNS:
        return sparse.csr_array((values, (places[:, 0], places[:, 1])), shape=(n, n))
    matrix: Floats = np.zeros((n, n))
    matrix[places[:, 0], places[:, 1]] = values
    return matrix


def is_sparse(matrix: Any) -> bool:
    """Whether a matrix is one of scipy.sparse."""
    return type(matrix).__module__.startswith("scipy.sparse")


def entries_of(matrix: Any) -> dict[tuple[int, int], float]:
    """The entries of a matrix, dense or sparse, that are not zero, by (row, column) in order.

    >>> entries_of(np.array([[0.0, 2.0], [0.0, 0.0]]))
    {(0, 1): 2.0}
    """
    cells = sparse.coo_array(matrix)
    cells.eliminate_zeros()
    places = zip(cells.row.tolist(), cells.col.tolist(), strict=True)
    entries = zip(places, cells.data.tolist(), strict=True)
    return dict(sorted(entries))


def _class_of(learner: Any, graph: Any, names: tuple[str, ...]) -> Any:
    """The equivalence class of a learner's network; its graph itself if it is no network."""
    model = getattr(learner, "model_", None)
    if isinstance(model, JointModel):
        return equivalence_graph(model) if isinstance(model, BayesianNetwork) else graph
    if nx.is_directed_acyclic_graph(graph):
        return cpdag(Dag.from_networkx(graph, names)).to_networkx(names)
    return graph


def rows_to_resample(learner: Any, table: Table) -> tuple[Table | CountSource, Missing]:
    """Rows to draw samples from, and the policy by which to learn from each.

    `learner` was fitted to `table`; its policy is kept for all samples. EM is not run again: each
    row stands for its completions, weighted by their probability under the learned network, so that
    a sample is drawn from the rows, and its missing cells from the network.

    >>> import counterpane as cp
    >>> table = cp.read({"a": [0, 0, 1, 1, None, 1], "b": [0, 0, 1, None, 1, 1]})
    >>> rows, missing = rows_to_resample(cp.HillClimb().fit(table), table)
    >>> rows.n_rows, round(rows.total_weight), missing
    (6, 6, 'error')
    """
    policy: Missing = learner.missing_
    if not table.has_missing.any():
        return table, learner.missing
    if policy in ("state", "drop"):
        return table.resolve_missing(policy), policy
    if policy != "em":
        return table, policy
    model = learner.model_
    gaps = Table(model.schema, table.codes, table.weights)
    rows = MemoryCounts(completed_rows(gaps, model, most=COMPLETIONS, seed=0))
    counted = table.weights is not None and table.weights.dtype.kind == "i"
    rows.n_rows = int(table.total_weight) if counted else table.n_rows
    return rows, "error"
