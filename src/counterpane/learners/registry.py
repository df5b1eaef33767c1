"""The learners by name, one line each.

Everything that lists learners reads `LEARNERS`: the command (`--method` of `learn` and `compare`),
`LinkRanker`, the reference pages, and the contract tests. `__init__.pyi` has the public names.
Classes are imported when they are first used, so that this module costs nothing at start-up.

>>> list(learners("classifier"))
['interaction', 'boosted-tables', 'markov', 'bnc', 'tan', 'naive-bayes']
>>> find_learner("dn-logistic").make(l1=2.0)
DependencyNetworkLearner(local='logistic', l1=2.0)
>>> [entry.name for entry in LEARNERS if entry.task == "network" and entry.takes("random_state")]
['structure-search', 'hill-climb', 'ges', 'k2']
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from counterpane.errors import unknown_name
from counterpane.lazy import lazy

Task = Literal["network", "posterior", "field", "classifier", "ranker"]
"""What a learner learns.

"network": a Bayesian network by a score, the first parameter. "posterior": probabilities of edges
by a score, and the best network, `best_model_`. "field": another model of all columns.
"classifier": P(class | row); `fit` needs the class. "ranker": an order of the items that a row may
have next; only for `LinkRanker`.
"""


class LearnerEntry(NamedTuple):
    """A learner: its name on the command line, its class and module, its task, its page.

    `page` is the file in docs/methods without its suffix. `defaults` are parameters that belong to
    the name. With `ranks`, `LinkRanker` takes the name too.
    """

    name: str
    class_name: str
    module: str
    task: Task
    page: str
    defaults: Mapping[str, Any] = MappingProxyType({})
    ranks: bool = False

    @property
    def learner_class(self) -> Any:
        """The class, imported on first use."""
        return getattr(lazy(f"counterpane.learners.{self.module}"), self.class_name)

    def make(self, *arguments: Any, **parameters: Any) -> Any:
        """A new learner with these parameters, and the defaults of its name."""
        return self.learner_class(*arguments, **{**self.defaults, **parameters})

    def takes(self, parameter: str) -> bool:
        """Whether the constructor has a parameter of this name."""
        return parameter in self.learner_class._parameters()


_Row = LearnerEntry
LEARNERS = (
    _Row("interaction", "InteractionClassifier",
         "classifiers.interactions.interaction_classifier", "classifier", "interaction-classifier"),
    _Row("boosted-tables", "InteractionClassifier",
         "classifiers.interactions.interaction_classifier", "classifier", "interaction-classifier",
         {"parts": "trees"}),
    _Row("markov", "MarkovClassifier", "classifiers.faces.markov_classifier", "classifier",
         "markov-classifier"),
    _Row("bnc", "BayesNetClassifier", "classifiers.bayes_net_classifier", "classifier",
         "network-classifiers"),
    _Row("tan", "TAN", "classifiers.network_classifiers", "classifier", "network-classifiers"),
    _Row("naive-bayes", "NaiveBayes", "classifiers.network_classifiers", "classifier",
         "network-classifiers"),
    _Row("chow-liu", "ChowLiu", "bayesian.chow_liu", "network", "chow-liu", ranks=True),
    _Row("structure-search", "StructureSearch", "bayesian.structure_search", "network",
         "structure-search"),
    _Row("hill-climb", "HillClimb", "bayesian.hill_climb", "network", "searches"),
    _Row("ges", "GES", "bayesian.structure_search", "network", "searches"),
    _Row("k2", "K2Search", "bayesian.k2_search", "network", "searches", {"criterion": "k2"}),
    _Row("exact-posterior", "ExactPosterior", "bayesian.exact_posterior", "posterior",
         "exact-posterior", {"criterion": "bdeu"}),
    _Row("order-mcmc", "OrderMCMC", "bayesian.order_mcmc", "posterior", "order-mcmc",
         {"criterion": "bdeu"}),
    _Row("dn-tree", "DependencyNetworkLearner", "dependency.dependency_network", "field",
         "dependency-network", {"local": "tree"}),
    _Row("dn-logistic", "DependencyNetworkLearner", "dependency.dependency_network", "field",
         "dependency-network", {"local": "logistic"}),
    _Row("dn-boosted", "DependencyNetworkLearner", "dependency.dependency_network", "field",
         "dependency-network", {"local": "boosted"}),
    _Row("hybrid", "HybridRandomFieldLearner", "hybrid.hybrid_random_field", "field",
         "hybrid-random-field", ranks=True),
    _Row("pairwise", "PairwiseMarkovLearner", "markov.pairwise", "field", "weights", ranks=True),
    _Row("markov-network", "MarkovNetworkLearner", "markov.hyperedges", "field", "markov-network"),
    _Row("pfmn", "PFMN", "independence.pfmn", "field", "particle-filter", {"random_state": 0}),
    _Row("particle-filter", "ParticleFilterMN", "independence.particle_filter_mn", "field",
         "particle-filter", {"random_state": 0}),
    _Row("gsimn", "GSIMN", "independence.grow_shrink", "field", "grow-shrink"),
    _Row("gsmn", "GSMN", "independence.grow_shrink", "field", "grow-shrink"),
    _Row("pc", "PC", "independence.pc", "field", "pc"),
    _Row("fci", "FCI", "independence.fci", "field", "pc"),
    _Row("naive-bayes", "NaiveLinks", "ranking.counted", "ranker", "hybrid-random-field"),
    _Row("item-cosine", "ItemCosine", "ranking.counted", "ranker", "hybrid-random-field"),
    _Row("item-rank", "ItemRank", "ranking.item_rank", "ranker", "hybrid-random-field"),
    _Row("blend", "BlendedLinks", "ranking.blend", "ranker", "hybrid-random-field"),
    _Row("popularity", "Popularity", "ranking.counted", "ranker", "hybrid-random-field"),
)  # fmt: skip
"""All learners, in the order in which the command lists them."""

COMMAND_TASKS: tuple[Task, ...] = ("classifier", "network", "posterior", "field")
"""Tasks whose learners are values of `--method`."""


def learners(*tasks: Task) -> dict[str, LearnerEntry]:
    """The learners of some tasks by name."""
    return {entry.name: entry for entry in LEARNERS if entry.task in tasks}


def rankers() -> dict[str, LearnerEntry]:
    """The learners that rank links, by name."""
    return {entry.name: entry for entry in LEARNERS if entry.ranks or entry.task == "ranker"}


def find_learner(name: str, *tasks: Task) -> LearnerEntry:
    """The learner of this name among those of `tasks`, by default those of the command."""
    entries = learners(*(tasks or COMMAND_TASKS))
    if name not in entries:
        raise unknown_name("method", name, entries)
    return entries[name]
