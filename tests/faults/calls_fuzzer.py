"""Public calls in which one argument is of a wrong kind: a result, or one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.learners.registry import LEARNERS
from faults.files_fuzzer import scratch
from faults.outcomes import judge

SECONDS = 10.0
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, float("nan"), float("inf"), "", "x", "x" * 4000, "\x00",
    "\ud800", b"x", (), [], [None], [[]], {}, {"sex": "male"}, {"x": 1}, {None: None},
    {"sex": {"male": 1}}, ["sex"], ("sex", "age"), {"sex", "age"}, [("sex", "age")],
    [("sex", "sex")], np.zeros(0), np.zeros((2, 2)), np.array(["x"], dtype=object), object(),
    2**63, "survived", "sex -> age", "/", "/no/such/file", "1e400", complex(1, 1), iter(()),
    range(3), np.float64("nan"), "auto",
)  # fmt: skip


@cache
def parts() -> dict[str, Any]:
    """A table, frames, models and graphs that the calls use."""
    frame = cp.load_dataset("titanic").to_pandas().iloc[::25].reset_index(drop=True)
    table = cp.Table.from_frame(frame)
    path = scratch() / "calls.csv"
    frame.to_csv(path, index=False)
    return {
        "frame": frame, "table": table, "path": path, "html": scratch() / "calls.html",
        "network": cp.ChowLiu().fit(table).model_,
        "dependency": cp.DependencyNetworkLearner("tree").fit(table).model_,
        "classifier": cp.InteractionClassifier().fit(table, "survived").model_,
        "boosted": cp.InteractionClassifier(parts="trees").fit(table, "survived").model_,
        "markov": cp.PairwiseMarkovLearner().fit(table).model_,
    }  # fmt: skip


Call = tuple[str, Callable[..., Any], dict[str, Any]]


@cache
def calls() -> list[Call]:
    """(name, function, sound arguments) of public calls."""
    p = parts()
    frame, table, network = p["frame"], p["table"], p["network"]
    row = {"sex": "female", "age": "adult", "status": "first"}
    graph = "sex -> survived; age -> survived; sex <-> age"
    treated = {"treatment": "sex", "outcome": "survived"}
    found: list[Call] = [
        ("read", cp.read, {"source": p["path"], "target": "survived"}),
        ("read a frame", cp.read, {"source": frame, "discretize": "quantile"}),
        ("Table.from_frame", cp.Table.from_frame, {"frame": frame}),
        ("FileSource", cp.FileSource, {"paths": p["path"]}),
        ("load", cp.load, {"path": p["path"]}),
        ("lagged", cp.lagged, {"table": frame, "k": 1}),
        ("effect", cp.effect, {"subject": network, **treated, "draws": 10}),
        ("effect of rows", cp.effect, {"subject": table, "graph": graph, **treated, "draws": 10}),
        ("identify", cp.identify, {"graph": graph, **treated}),
        ("adjustment_sets", cp.adjustment_sets, {"graph": graph, **treated}),
        ("front_door_sets", cp.front_door_sets, {"graph": graph, **treated}),
        ("causal_graph", cp.causal_graph, {"graph": graph}),
        ("causation_bounds", cp.causation_bounds, {**treated, "observational": table}),
        ("counterfactual", cp.counterfactual,
         {"model": network, "outcome": "survived", "do": {"sex": "male"}, "evidence": row}),
        ("bootstrap", cp.bootstrap, {"learner": cp.ChowLiu(), "X": table, "n": 2}),
        ("GpuCounts", cp.GpuCounts, {"table": table}),
        ("MemoryCounts", cp.MemoryCounts, {"table": table}),
        ("write_report", cp.write_report, {"model": network, "data": table, "path": p["html"]}),
        ("explore_model", cp.explore_model, {"model": network, "path": p["html"]}),
        ("compare_structures", cp.compare_structures, {"found": network, "true": network}),
        ("to_markov_network", cp.to_markov_network, {"network": p["dependency"]}),
        ("fit_weights", cp.fit_weights, {"model": p["markov"], "X": table}),
        ("fit_parameters_em", cp.fit_parameters_em, {"table": table, "dag": network.dag}),
        ("read_links", cp.read_links, {"X": frame[["sex", "age"]]}),
        ("read_baskets", cp.read_baskets, {"X": [["a", "b"], ["b"]]}),
        ("independence_questions", cp.independence_questions, {"n": 4}),
        ("Range", cp.Range, {"low": 1, "high": 2}),
        ("Variable", cp.Variable, {"name": "a", "states": ("x", "y")}),
        ("Dag", cp.Dag, {"n": 2, "edges": [(0, 1)]}),
        ("UndirectedGraph", cp.UndirectedGraph, {"n": 2, "edges": [(0, 1)]}),
        ("MixedGraph", cp.MixedGraph, {"names": ["a", "b"], "edges": [("a", "-->", "b")]}),
        ("load_dataset", cp.load_dataset, {"name": "titanic"}),
        ("Schema.select", table.schema.select, {"columns": [0, 1]}),
    ]  # fmt: skip
    methods: dict[str, dict[str, Any]] = {
        "query": {"variables": "survived", "evidence": row},
        "query_many": {"variables": "survived", "frame": frame[["sex", "age"]]},
        "marginals": {"evidence": row}, "map_query": {"evidence": row},
        "log_evidence": {"evidence": row}, "sample": {"n": 3, "random_state": 0},
        "impute": {"frame": {"sex": [None], "age": ["adult"]}}, "do": {"states": {"sex": "male"}},
        "odd_rows": {"X": table, "n": 2}, "update": {"X": table}, "score_samples": {"X": table},
        "predict_proba": {"X": frame, "target": "survived"},
        "explain": {"row": row, "target": "survived"}, "save": {"path": scratch() / "calls.cp"},
        "full_conditionals": {"X": table}, "pseudo_log_likelihood": {"X": table},
    }  # fmt: skip
    for kind in ("network", "markov", "classifier", "boosted"):
        model = p[kind]
        for name, arguments in methods.items():
            if hasattr(model, name):
                found.append((f"{kind}.{name}", getattr(model, name), arguments))
    learners = [entry for entry in LEARNERS if entry.task != "ranker"]
    return [*found, *((entry.name, fitted(entry, table), {}) for entry in learners)]


def fitted(entry: Any, table: cp.Table) -> Callable[..., Any]:
    """A function that makes a learner and fits it; its arguments are those of both."""

    def fit(X: Any = table, y: Any = None, sample_weight: Any = None, **options: Any) -> Any:
        learner = entry.make(**({"time_limit": 2.0} if entry.takes("time_limit") else {}) | options)
        if entry.task == "classifier":
            return learner.fit(X, "survived" if y is None else y, sample_weight)
        return learner.fit(X, sample_weight=sample_weight)

    names = entry.make().get_params()
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(n, kind, default=None)
                  for n in ("X", "y", "sample_weight", *names)]  # fmt: skip
    fit.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return fit


def try_once(seed: int) -> str | None:
    """What is wrong with how a random call ends; None if nothing is."""
    rng = np.random.default_rng([seed, 28])
    name, function, sound = calls()[int(rng.integers(len(calls())))]
    arguments = dict(sound)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        arguments.setdefault(parameter.name, ...)
    changed = str(rng.choice(list(arguments)))
    arguments[changed] = ODD[int(rng.integers(len(ODD)))]
    arguments = {key: value for key, value in arguments.items() if value is not ...}
    shown = repr(arguments[changed])[:60]

    def call() -> None:
        with chdir(scratch()):  # an odd path may be a fine name of a file
            function(**arguments)

    return judge(f"call {seed}, {name}({changed}={shown})", call, SECONDS)
