"""Learn discrete graphical models from any table, then ask them questions.

Names are loaded on first use, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterpane.learn.registry import public_modules

__version__ = "0.1.0.dev0"

_HOMES = {
    "counterpane.data": ("Schema", "Table", "Variable", "dataset_names", "load_dataset"),
    "counterpane.data.discretize": ("MDLDiscretizer",),
    "counterpane.data.baskets": ("Baskets", "read_baskets"),
    "counterpane.data.links": ("read_links",),
    "counterpane.data.ranges": ("Range",),
    "counterpane.counts": ("CountSource", "MemoryCounts", "StreamCounts"),
    "counterpane.counts.engines.dask": ("DaskSource",),
    "counterpane.counts.engines.arrow": ("FileSource", "FrameSource"),
    "counterpane.counts.engines.gpu": ("GpuCounts",),
    "counterpane.counts.lags": ("lagged",),
    "counterpane.counts.open": ("read",),
    "counterpane.counts.engines.spark": ("SparkSource",),
    "counterpane.counts.engines.sql": ("SqlSource",),
    "counterpane.graphs": ("Dag", "MixedGraph", "UndirectedGraph"),
    "counterpane.scores": (
        "AIC",
        "BIC",
        "K2",
        "BDe",
        "BDeu",
        "LogLikelihood",
        "NodeAverageLikelihood",
    ),
    "counterpane.independence": (
        "BayesianTest",
        "ChiSquare",
        "GTest",
        "Ledger",
        "Oracle",
        "StratifiedTest",
    ),
    "counterpane.inference": (
        "ICM",
        "BeliefPropagation",
        "Gibbs",
        "JoinGraph",
        "MaxProduct",
        "MeanField",
    ),
    "counterpane.models": (
        "BayesianNetwork",
        "DependencyNetwork",
        "HybridRandomField",
        "MarkovNetwork",
        "Mixture",
        "load",
    ),
    **public_modules(),  # of the learners
    "counterpane.inference.convergence": ("UnsettledChains",),
    "counterpane.learn.driver": ("CheckpointWarning", "StoppedEarly"),
    "counterpane.learn.parameters": ("fit_parameters", "fit_parameters_em"),
    "counterpane.learn.dependency.conversion": ("to_markov_network",),
    "counterpane.learn.markov.graph_potentials": ("fit_potentials",),
    "counterpane.learn.markov.weights": ("fit_weights",),
    "counterpane.learn.bootstrap": ("BootstrapResult", "bootstrap"),
    "counterpane.causes.adjustment": ("adjustment_sets", "front_door_sets"),
    "counterpane.causes.causal_effect": ("effect",),
    "counterpane.causes.causal_graph": ("causal_graph",),
    "counterpane.causes.causation_bounds": ("causation_bounds",),
    "counterpane.causes.counterfactuals": ("counterfactual",),
    "counterpane.causes.identification": ("identify",),
    "counterpane.evaluate": (
        "compare_structures",
        "independence_accuracy",
        "independence_questions",
        "structural_hamming_distance",
    ),
    "counterpane.learn.ranking.ranker": ("LinkRanker",),
    "counterpane.models.certainty": ("InexactAnswer",),
    "counterpane.models.fallback": ("Auto",),
    "counterpane.errors": ("CounterpaneError",),
    "counterpane.report": ("explore_model", "write_report"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in ("evaluate", "plots"):
        return import_module(f"counterpane.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'counterpane' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if TYPE_CHECKING:  # the same names again, where type checkers and editors look for them
    from counterpane.causes.adjustment import adjustment_sets as adjustment_sets
    from counterpane.causes.adjustment import front_door_sets as front_door_sets
    from counterpane.causes.causal_effect import effect as effect
    from counterpane.causes.causal_graph import causal_graph as causal_graph
    from counterpane.causes.causation_bounds import causation_bounds as causation_bounds
    from counterpane.causes.counterfactuals import counterfactual as counterfactual
    from counterpane.causes.identification import identify as identify
    from counterpane.counts import CountSource as CountSource
    from counterpane.counts import MemoryCounts as MemoryCounts
    from counterpane.counts import StreamCounts as StreamCounts
    from counterpane.counts.engines.arrow import FileSource as FileSource
    from counterpane.counts.engines.arrow import FrameSource as FrameSource
    from counterpane.counts.engines.dask import DaskSource as DaskSource
    from counterpane.counts.engines.gpu import GpuCounts as GpuCounts
    from counterpane.counts.engines.spark import SparkSource as SparkSource
    from counterpane.counts.engines.sql import SqlSource as SqlSource
    from counterpane.counts.lags import lagged as lagged
    from counterpane.counts.open import read as read
    from counterpane.data import Schema as Schema
    from counterpane.data import Table as Table
    from counterpane.data import Variable as Variable
    from counterpane.data import dataset_names as dataset_names
    from counterpane.data import load_dataset as load_dataset
    from counterpane.data.baskets import Baskets as Baskets
    from counterpane.data.baskets import read_baskets as read_baskets
    from counterpane.data.discretize import MDLDiscretizer as MDLDiscretizer
    from counterpane.data.links import read_links as read_links
    from counterpane.data.ranges import Range as Range
    from counterpane.errors import CounterpaneError as CounterpaneError
    from counterpane.evaluate import compare_structures as compare_structures
    from counterpane.evaluate import independence_accuracy as independence_accuracy
    from counterpane.evaluate import independence_questions as independence_questions
    from counterpane.evaluate import structural_hamming_distance as structural_hamming_distance
    from counterpane.graphs import Dag as Dag
    from counterpane.graphs import MixedGraph as MixedGraph
    from counterpane.graphs import UndirectedGraph as UndirectedGraph
    from counterpane.independence import BayesianTest as BayesianTest
    from counterpane.independence import ChiSquare as ChiSquare
    from counterpane.independence import GTest as GTest
    from counterpane.independence import Ledger as Ledger
    from counterpane.independence import Oracle as Oracle
    from counterpane.independence import StratifiedTest as StratifiedTest
    from counterpane.inference import ICM as ICM
    from counterpane.inference import BeliefPropagation as BeliefPropagation
    from counterpane.inference import Gibbs as Gibbs
    from counterpane.inference import JoinGraph as JoinGraph
    from counterpane.inference import MaxProduct as MaxProduct
    from counterpane.inference import MeanField as MeanField
    from counterpane.inference.convergence import UnsettledChains as UnsettledChains
    from counterpane.learn.bayesian.chow_liu import ChowLiu as ChowLiu
    from counterpane.learn.bayesian.exact_posterior import ExactPosterior as ExactPosterior
    from counterpane.learn.bayesian.hill_climb import HillClimb as HillClimb
    from counterpane.learn.bayesian.k2_search import K2Search as K2Search
    from counterpane.learn.bayesian.order_mcmc import OrderMCMC as OrderMCMC
    from counterpane.learn.bayesian.structure_search import GES as GES
    from counterpane.learn.bayesian.structure_search import StructureSearch as StructureSearch
    from counterpane.learn.bootstrap import BootstrapResult as BootstrapResult
    from counterpane.learn.bootstrap import bootstrap as bootstrap
    from counterpane.learn.classifiers.bayes_net_classifier import (
        BayesNetClassifier as BayesNetClassifier,
    )
    from counterpane.learn.classifiers.boosted_tables import BoostedTables as BoostedTables
    from counterpane.learn.classifiers.faces.markov_classifier import (
        MarkovClassifier as MarkovClassifier,
    )
    from counterpane.learn.classifiers.interactions.interaction_classifier import (
        InteractionClassifier as InteractionClassifier,
    )
    from counterpane.learn.classifiers.network_classifiers import TAN as TAN
    from counterpane.learn.classifiers.network_classifiers import NaiveBayes as NaiveBayes
    from counterpane.learn.dependency.conversion import to_markov_network as to_markov_network
    from counterpane.learn.dependency.dependency_network import (
        DependencyNetworkLearner as DependencyNetworkLearner,
    )
    from counterpane.learn.driver import CheckpointWarning as CheckpointWarning
    from counterpane.learn.driver import StoppedEarly as StoppedEarly
    from counterpane.learn.hybrid.hybrid_random_field import (
        HybridRandomFieldLearner as HybridRandomFieldLearner,
    )
    from counterpane.learn.independence.fci import FCI as FCI
    from counterpane.learn.independence.grow_shrink import GSIMN as GSIMN
    from counterpane.learn.independence.grow_shrink import GSMN as GSMN
    from counterpane.learn.independence.pc import PC as PC
    from counterpane.learn.independence.pfmn import PFMN as PFMN
    from counterpane.learn.markov.graph_potentials import fit_potentials as fit_potentials
    from counterpane.learn.markov.pairwise import PairwiseMarkovLearner as PairwiseMarkovLearner
    from counterpane.learn.markov.weights import fit_weights as fit_weights
    from counterpane.learn.parameters import fit_parameters as fit_parameters
    from counterpane.learn.parameters import fit_parameters_em as fit_parameters_em
    from counterpane.learn.ranking.ranker import LinkRanker as LinkRanker
    from counterpane.models import BayesianNetwork as BayesianNetwork
    from counterpane.models import DependencyNetwork as DependencyNetwork
    from counterpane.models import HybridRandomField as HybridRandomField
    from counterpane.models import MarkovNetwork as MarkovNetwork
    from counterpane.models import Mixture as Mixture
    from counterpane.models import load as load
    from counterpane.models.certainty import InexactAnswer as InexactAnswer
    from counterpane.models.fallback import Auto as Auto
    from counterpane.report import explore_model as explore_model
    from counterpane.report import write_report as write_report
    from counterpane.scores import AIC as AIC
    from counterpane.scores import BIC as BIC
    from counterpane.scores import K2 as K2
    from counterpane.scores import BDe as BDe
    from counterpane.scores import BDeu as BDeu
    from counterpane.scores import LogLikelihood as LogLikelihood
    from counterpane.scores import NodeAverageLikelihood as NodeAverageLikelihood
