"""The public names and the modules that define them: the only list, read when they are used."""

from counterpane import evaluate as evaluate
from counterpane import plots as plots
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
from counterpane.counts.blocks import FileSource as FileSource
from counterpane.counts.blocks import FrameSource as FrameSource
from counterpane.counts.engines.dask import DaskSource as DaskSource
from counterpane.counts.engines.spark import SparkSource as SparkSource
from counterpane.counts.engines.sql import SqlSource as SqlSource
from counterpane.counts.gpu.source import GpuCounts as GpuCounts
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
from counterpane.inference.certainty import InexactAnswer as InexactAnswer
from counterpane.inference.convergence import UnsettledChains as UnsettledChains
from counterpane.inference.fallback import Auto as Auto
from counterpane.learners.bayesian.chow_liu import ChowLiu as ChowLiu
from counterpane.learners.bayesian.exact_posterior import ExactPosterior as ExactPosterior
from counterpane.learners.bayesian.hill_climb import HillClimb as HillClimb
from counterpane.learners.bayesian.k2_search import K2Search as K2Search
from counterpane.learners.bayesian.order_mcmc import OrderMCMC as OrderMCMC
from counterpane.learners.bayesian.structure_search import GES as GES
from counterpane.learners.bayesian.structure_search import StructureSearch as StructureSearch
from counterpane.learners.bootstrap import BootstrapResult as BootstrapResult
from counterpane.learners.bootstrap import bootstrap as bootstrap
from counterpane.learners.classifiers.bayes_net_classifier import (
    BayesNetClassifier as BayesNetClassifier,
)
from counterpane.learners.classifiers.faces.markov_classifier import (
    MarkovClassifier as MarkovClassifier,
)
from counterpane.learners.classifiers.interactions.interaction_classifier import (
    InteractionClassifier as InteractionClassifier,
)
from counterpane.learners.classifiers.network_classifiers import TAN as TAN
from counterpane.learners.classifiers.network_classifiers import NaiveBayes as NaiveBayes
from counterpane.learners.dependency.conversion import to_markov_network as to_markov_network
from counterpane.learners.dependency.dependency_network import (
    DependencyNetworkLearner as DependencyNetworkLearner,
)
from counterpane.learners.driver import CheckpointWarning as CheckpointWarning
from counterpane.learners.driver import StoppedEarly as StoppedEarly
from counterpane.learners.hybrid.hybrid_random_field import (
    HybridRandomFieldLearner as HybridRandomFieldLearner,
)
from counterpane.learners.independence.fci import FCI as FCI
from counterpane.learners.independence.grow_shrink import GSIMN as GSIMN
from counterpane.learners.independence.grow_shrink import GSMN as GSMN
from counterpane.learners.independence.particle_filter_mn import (
    ParticleFilterMN as ParticleFilterMN,
)
from counterpane.learners.independence.pc import PC as PC
from counterpane.learners.independence.pfmn import PFMN as PFMN
from counterpane.learners.markov.graph_potentials import fit_potentials as fit_potentials
from counterpane.learners.markov.hyperedges import MarkovNetworkLearner as MarkovNetworkLearner
from counterpane.learners.markov.pairwise import PairwiseMarkovLearner as PairwiseMarkovLearner
from counterpane.learners.markov.weights import fit_weights as fit_weights
from counterpane.learners.parameters import fit_parameters as fit_parameters
from counterpane.learners.parameters import fit_parameters_em as fit_parameters_em
from counterpane.learners.ranking.ranker import LinkRanker as LinkRanker
from counterpane.models import BayesianNetwork as BayesianNetwork
from counterpane.models import DependencyNetwork as DependencyNetwork
from counterpane.models import HybridRandomField as HybridRandomField
from counterpane.models import MarkovNetwork as MarkovNetwork
from counterpane.models import Mixture as Mixture
from counterpane.models.intervals import query_interval as query_interval
from counterpane.models.weights import log_weight_bounds as log_weight_bounds
from counterpane.report import explore_model as explore_model
from counterpane.report import write_report as write_report
from counterpane.scores import AIC as AIC
from counterpane.scores import BIC as BIC
from counterpane.scores import K2 as K2
from counterpane.scores import BDe as BDe
from counterpane.scores import BDeu as BDeu
from counterpane.scores import LogLikelihood as LogLikelihood
from counterpane.scores import NodeAverageLikelihood as NodeAverageLikelihood
from counterpane.storage import load as load
from counterpane.tools.links import equivalence_graph as equivalence_graph
from counterpane.workflow.comparing import compare_methods as compare_methods
from counterpane.workflow.learn import learn as learn
from counterpane.workflow.learned import Learned as Learned
from counterpane.workflow.model_rows import rows_for as rows_for
from counterpane.workflow.planning import plan_learning as plan_learning

__version__: str
__all__: list[str]
_HOME_OF: dict[str, str]
