"""scikit-learn's conventions for parameters, and parameters as JSON.

The conventions are implemented without importing scikit-learn, which would double the start-up
time.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Self, dataclass_transform

import numpy as np

import counterpane
from counterpane import independence, scores
from counterpane.checks import check, declared_kind
from counterpane.data.schema import Schema, Variable
from counterpane.errors import NotFittedError, ParameterError, Setting, unknown_name
from counterpane.graphs import Dag, UndirectedGraph
from counterpane.lazy import lazy
from counterpane.models.arrays import arrays_of, model_from_arrays
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.seeds import random_generator

nx = lazy("networkx")

Config = dict[str, Any]
"""An object as JSON: its class, and its parameters or contents."""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Estimator:
    """An object that stores its parameters; results of `fit` end in an underscore.

    Each class is a dataclass: its fields are its parameters, keyword-only unless a field says
    otherwise. The type of a field says what `fit` accepts, see `counterpane.checks.declared_kind`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the class a dataclass."""
        super().__init_subclass__(**options)
        dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        """The default of each parameter."""
        defaults = {f.name: f.default for f in fields(cls) if f.init}  # type: ignore[arg-type]
        kind: Any = cls  # a class is hashable, of which mypy is not sure
        return {name: defaults[name] for name in parameter_types(kind)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in sorted(self._parameters())}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self._parameters():
                raise unknown_name("parameter", name, self._parameters())
            setattr(self, name, value)
        return self

    def copied(self, **changes: Any) -> Self:
        """Return a new estimator with the same parameters, but for `changes`; it is not fitted."""
        return type(self)(**self.get_params(deep=False) | changes)

    def _check_parameters(self) -> None:
        """Refuse parameters of a wrong kind."""
        kind: Any = type(self)
        for name, default in self._parameters().items():
            value = getattr(self, name)
            if value is not default:
                check(name, value, declared_kind(parameter_types(kind)[name]))
            if isinstance(value, int) and abs(value) >= 2**63 and name != "random_state":
                raise ParameterError(Setting(name, value), "; a number below 2⁶³ is needed.")
        random_generator(vars(self).get("random_state"))

    def to_config(self) -> Config:
        """The class and all parameters as values that JSON can hold; see `from_config`.

        Scores, tests, priors, graphs, networks and random generators are nested. A function as
        `progress` is left out, since results do not depend on it; any other object raises
        `ParameterError`.

        >>> import counterpane as cp
        >>> config = cp.ChowLiu(cp.BDeu(5)).to_config()
        >>> config["class"], config["parameters"]["criterion"]["class"]
        ('ChowLiu', 'BDeu')
        >>> cp.ChowLiu.from_config(config)
        ChowLiu(criterion=BDeu(equivalent_sample_size=5.0))
        """
        parameters = self.get_params(deep=False)
        if callable(parameters.get("progress")):
            del parameters["progress"]
        return {
            "class": type(self).__name__,
            "parameters": {
                name: value_to_config(value, f"{type(self).__name__}: {name}")
                for name, value in parameters.items()
            },
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The estimator that `to_config` describes: of this class, or of one derived from it.

        `Learner.from_config` takes the configuration of any learner of this package.
        """
        name = config.get("class")
        kind = cls if name == cls.__name__ else known_class(str(name))
        if kind is None or not issubclass(kind, cls):
            raise ParameterError(f"class {name!r} is not a {cls.__name__} that is known.")
        parameters = {key: value_from_config(v) for key, v in config["parameters"].items()}
        for key in parameters:
            if key not in kind._parameters():
                raise unknown_name("parameter", key, kind._parameters())
        result: Self = kind(**parameters)
        return result

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._parameters().items()
            if repr(getattr(self, name)) != repr(default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getattr__(self, name: str) -> Any:
        fitted = any(k.endswith("_") for k in vars(self))
        if name.endswith("_") and not name.startswith("_") and not fitted:
            raise NotFittedError(f"{type(self).__name__} has no {name!r} yet; call fit first.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@cache
def parameter_types(kind: Any) -> dict[str, Any]:
    """Return the type of each parameter of an estimator class.

    Parameters that can be passed by position come first, then those of the class itself.
    """
    by_position = {f.name: not f.kw_only for f in fields(kind) if f.init}
    types: dict[str, Any] = {}
    for base in kind.__mro__:
        if by_position.keys() & vars(base).get("__annotations__", {}).keys():
            own = inspect.get_annotations(base, eval_str=True)
            types |= {n: own[n] for n in own if n in by_position and n not in types}
    return {name: types[name] for name in sorted(types, key=by_position.__getitem__, reverse=True)}


def known_class(name: str) -> Any:
    """The class of this name that a configuration may hold; None where there is none."""
    for module in (scores, independence):
        if name in module.__all__:
            return getattr(module, name)
    return getattr(counterpane, name) if name in counterpane.__all__ else None


def value_to_config(value: Any, name: str) -> Any:
    """A parameter as JSON: plain values as they are, anything else as a `Config`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"class": "float", "value": str(value)}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list):
        return [value_to_config(v, name) for v in value]
    if isinstance(value, tuple | set | frozenset):
        return {"class": type(value).__name__, "items": [value_to_config(v, name) for v in value]}
    if isinstance(value, Mapping):
        pairs = [[value_to_config(k, name), value_to_config(v, name)] for k, v in value.items()]
        return {"class": "dict", "items": pairs}
    if isinstance(value, np.ndarray):
        return {
            "class": "ndarray",
            "dtype": value.dtype.str,
            "items": value_to_config(value.tolist(), name),
        }
    if isinstance(value, np.random.Generator):
        return {"class": "Generator", "state": value.bit_generator.state}
    if isinstance(value, BayesianNetwork):
        arrays = {k: value_to_config(a, name) for k, a in arrays_of(value).items()}
        variables = [v.to_record() for v in value.schema]
        return {"class": "BayesianNetwork", "variables": variables, "arrays": arrays}
    if isinstance(value, Dag | UndirectedGraph):
        edges = [list(edge) for edge in value.edges]
        return {"class": type(value).__name__, "parameters": {"n": value.n, "edges": edges}}
    if hasattr(value, "is_directed") and hasattr(value, "edges"):  # networkx
        edges = [[value_to_config(node, name) for node in edge] for edge in value.edges()]
        nodes = [value_to_config(node, name) for node in value.nodes]
        kind = "DiGraph" if value.is_directed() else "Graph"
        return {"class": kind, "nodes": nodes, "edges": edges}
    if isinstance(value, Estimator):
        return value.to_config()
    return _object_to_config(value, name)


def _object_to_config(value: Any, name: str) -> Config:
    """A score, a prior, a test or a discretizer: an object that stores its parameters."""
    kind = type(value)
    parameters = inspect.signature(kind).parameters
    if known_class(kind.__name__) is not kind or not all(hasattr(value, p) for p in parameters):
        raise ParameterError(
            Setting(name, value),
            " cannot be written as JSON; plain values, and scores, tests, graphs "
            "and networks of this package can.",
        )
    values = {p: value_to_config(getattr(value, p), f"{name}.{p}") for p in parameters}
    return {"class": kind.__name__, "parameters": values}


def value_from_config(config: Any) -> Any:
    """The parameter that `value_to_config` wrote."""
    if isinstance(config, list):
        return [value_from_config(v) for v in config]
    if not isinstance(config, Mapping):
        return config
    name = str(config["class"])
    if name in _CONTENTS:
        return _CONTENTS[name](config)
    kind = known_class(name)
    if kind is None:
        raise ParameterError(f"a configuration names the class {name!r}, which is not known.")
    if issubclass(kind, Estimator):
        return kind.from_config(config)
    return kind(**{key: value_from_config(v) for key, v in config["parameters"].items()})


def _generator(config: Mapping[str, Any]) -> np.random.Generator:
    state = config["state"]
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _graph(config: Mapping[str, Any]) -> Any:
    graph = getattr(nx, config["class"])()
    graph.add_nodes_from(value_from_config(v) for v in config["nodes"])
    graph.add_edges_from(tuple(map(value_from_config, edge)) for edge in config["edges"])
    return graph


def _network(config: Mapping[str, Any]) -> BayesianNetwork:
    schema = Schema(Variable.from_record(record) for record in config["variables"])
    arrays = {name: value_from_config(array) for name, array in config["arrays"].items()}
    network: BayesianNetwork = model_from_arrays(BayesianNetwork.kind, schema, arrays, None)
    return network


_CONTENTS = {
    "float": lambda config: float(config["value"]),
    "tuple": lambda config: tuple(map(value_from_config, config["items"])),
    "set": lambda config: set(map(value_from_config, config["items"])),
    "frozenset": lambda config: frozenset(map(value_from_config, config["items"])),
    "dict": lambda config: {value_from_config(k): value_from_config(v) for k, v in config["items"]},
    "ndarray": lambda config: np.array(value_from_config(config["items"]), dtype=config["dtype"]),
    "Generator": _generator,
    "Graph": _graph,
    "DiGraph": _graph,
    "BayesianNetwork": _network,
}
