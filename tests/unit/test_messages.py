"""The words of messages, and the attributes that programs read; other tests assert attributes."""

import pickle

import numpy as np
import pytest

import counterpane as cp
from counterpane.checks import INTEGER, NO_ARRAY, NONE, check
from counterpane.errors import (
    CounterpaneError,
    DataError,
    ParameterError,
    PathError,
    Setting,
    UnknownNameError,
    unknown_name,
)

TITANIC = cp.load_dataset("titanic")
MODEL = cp.ChowLiu().fit(TITANIC).model_
MESSAGES = [
    (lambda: cp.load_dataset("titanik"), "UnknownNameError", "dataset", "titanik",
     "dataset 'titanik' is not known; did you mean 'titanic' or 'tictactoe'?"),
    (lambda: cp.HillClimb("bick").fit(TITANIC), "UnknownNameError", "criterion", "bick",
     "criterion 'bick' is not known; did you mean 'bic' or 'aic'?"),
    (lambda: cp.HillClimb(max_parents=-1).fit(TITANIC), "ParameterError", "max_parents", -1,
     "max_parents=-1; zero or more is allowed."),
    (lambda: cp.HillClimb(max_parents="two").fit(TITANIC), "ParameterError", "max_parents", "two",
     "max_parents='two'; a whole number or None is needed."),
    (lambda: cp.StructureSearch(required_edges=[("sex", "sax")]).fit(TITANIC),
     "UnknownNameError", "column", "sax",
     "column 'sax' is not known; did you mean 'sex'?"),
    (lambda: cp.StructureSearch(missing="zero").fit(TITANIC), "ParameterError", "missing", "zero",
     "missing='zero'; StructureSearch takes 'auto', 'state', 'drop', 'error', 'available' or "
     "'em'."),
    (lambda: cp.ExactPosterior(missing="em").fit(TITANIC), "ParameterError", "missing", "em",
     "missing='em'; ExactPosterior takes 'auto', 'state', 'drop' or 'error'."),
    (lambda: cp.NaiveBayes(smoothing="none").fit(TITANIC, "survived"),
     "ParameterError", "smoothing", "none",
     "smoothing='none'; 'backoff' or 'even' is needed."),
    (lambda: cp.NaiveBayes().fit(TITANIC, "survive"),
     "UnknownNameError", "the column of classes", "survive",
     "the column of classes 'survive' is not known; did you mean 'survived'?"),
    (lambda: cp.bootstrap(cp.ChowLiu(), TITANIC, 0), "ParameterError", "n", 0,
     "n=0; a whole number from 1 is needed."),
    (lambda: cp.bootstrap(cp.ChowLiu(), TITANIC, 5, n_jobs=0), "ParameterError", "n_jobs", 0,
     "n_jobs=0; a whole number from 1 is needed."),
    (lambda: cp.bootstrap(cp.ChowLiu(), TITANIC, 5).averaged_graph(2),
     "ParameterError", "threshold", 2,
     "threshold=2; a share above 0 and up to 1 is needed."),
    (lambda: cp.GTest(alpha=2), "ParameterError", "alpha", 2,
     "alpha=2; a level between 0 and 1 is needed."),
    (lambda: cp.BayesianTest(prior=3), "ParameterError", "prior", 3,
     "prior=3; a probability between 0 and 1 is needed."),
    (lambda: MODEL.query("boat"), "UnknownNameError", "column", "boat",
     "column 'boat' is not known; known: 'status', 'age', 'sex', 'survived'."),
    (lambda: MODEL.query("survived", {"sex": "other"}), "StateError", "sex", "other",
     "column 'sex': 'other' is not one of 2 states ('male', 'female')."),
    (lambda: MODEL.query("survived", {"saxe": "male"}), "UnknownNameError", "column", "saxe",
     "column 'saxe' is not known; did you mean 'sex' or 'age'?"),
    (lambda: MODEL.query("survived", method="guess"), "UnknownNameError", "method", "guess",
     "method 'guess' is not known; known: 'auto', 'exact', 'gibbs', 'mean_field', 'bp', "
     "'join_graph'."),
    (lambda: MODEL.query("survived", exact="soon"), "ParameterError", "exact", "soon",
     "exact='soon'; True or False or a number or None is needed."),
    (lambda: MODEL.query("survived", max_memory="much"), "ParameterError", "max_memory", "much",
     "max_memory='much'; a number of bytes above 0 is needed, or a text such as '2 GB'."),
    (lambda: MODEL.sample(0), "ParameterError", "n", 0,
     "n=0 rows cannot be drawn; a whole number from 1 is needed."),
    (lambda: MODEL.impute(TITANIC, draws=0), "ParameterError", "draws", 0,
     "draws=0; a whole number from 1 to 1000 is allowed."),
    (lambda: cp.read({"a": [1, 2]}, unseen="skip"), "ParameterError", "unseen", "skip",
     "unseen='skip'; 'error', 'missing' or 'unknown' is allowed."),
    (lambda: cp.ICM(restarts=0), "ParameterError", "restarts", 0,
     "restarts=0; a whole number from 1 is needed."),
    (lambda: cp.BeliefPropagation(damping=1), "ParameterError", "damping", 1,
     "damping=1; a number from 0 below 1 is needed."),
    (lambda: cp.GSIMN(variant="papers").fit(TITANIC), "ParameterError", "variant", "papers",
     "variant='papers'; 'default' or 'paper' is needed."),
    (lambda: cp.K2Search(order=["sex"]).fit(TITANIC), "GraphError", None, None,
     "the order lists 1 columns; each of 4 must occur once."),
    (lambda: cp.evaluate.compare([cp.ChowLiu()], TITANIC, folds=1), "ParameterError", "folds", 1,
     "folds=1 of 2201 rows; from 2 to the number of rows is allowed."),
    (lambda: cp.DependencyNetworkLearner(local="forest").fit(TITANIC),
     "ParameterError", "local", "forest",
     "local='forest'; 'tree', 'logistic' or 'boosted' is needed."),
    (lambda: cp.OrderMCMC(n_samples=1).fit(TITANIC), "ParameterError", "n_samples", 1,
     "n_samples=1; a number from 2 is needed."),
    (lambda: cp.MarkovClassifier(max_order=0).fit(TITANIC, "survived"),
     "ParameterError", "max_order", 0,
     "max_order=0; a whole number from 1 to 8 is needed."),
    (lambda: cp.HybridRandomFieldLearner(k=0).fit(TITANIC), "ParameterError", "k", 0,
     "k=0; a whole number from 1 to 62 is needed, or 'auto'."),
    (lambda: TITANIC.to_frame("spark"), "ParameterError", "kind", "spark",
     "kind='spark'; 'pandas', 'polars', 'pyarrow' are allowed."),
    (lambda: cp.effect(MODEL, "sex", "boat"), "UnknownNameError", "column", "boat",
     "column 'boat' is not known; known: 'status', 'age', 'sex', 'survived'."),
    (lambda: cp.plots.edge_probabilities([[0.0]]), "ParameterError", None, None,
     "edge probabilities of shape (0,) need as many names; pass names=…, or a learner or "
     "bootstrap that has both."),
    (lambda: cp.Table.from_frame({}), "DataError", None, None,
     "the table has no columns; at least one is needed."),
    (lambda: cp.Table.from_frame({"a": [1, 2], "b": [1]}), "DataError", None, None,
     "column 'b' has 1 rows and column 'a' has 2; all columns need the same number."),
    (lambda: cp.load("absent.cp"), "NoFileError", None, None,
     "there is no file 'absent.cp'; check the path."),
    (lambda: cp.learn("titanic", method="tan"), "ParameterError", "method", "tan",
     "method='tan' needs target=…, the column of classes."),
    (lambda: cp.learn({"a": [1.5, 2.5]}, bins=3, discretize="none"), "ParameterError", "bins", None,
     "bins=… and discretize='none' exclude each other; leave one out."),
    (lambda: cp.learn("titanic", "survived", drop=["survived"]), "ParameterError", None, None,
     "drop=['survived'] has the target; drop another column."),
    (lambda: cp.learn("titanic", method="hill-climb", required_edges=["sex->boat"]),
     "UnknownNameError", "column", "boat",
     "column 'boat' is not known; known: 'status', 'age', 'sex', 'survived'."),
    (lambda: cp.learn("titanic", "survived", "naive-bayes", tiers=[["sex"]]),
     "ParameterError", "method", "naive-bayes",
     "method='naive-bayes' takes no required or forbidden edges and no tiers; these methods "
     "do: structure-search, hill-climb, k2, ges, pc, fci."),
    (lambda: cp.learn("titanic", cuts={"age": [1]}), "ParameterError", "cuts", None,
     "cuts=… is for files; embedded data sets have their own intervals."),
    (lambda: cp.rows_for(MODEL, "titanic").row(0), "ParameterError", "row", 0,
     "row=0 must be from 1 to 2,201, the rows of 'titanic'."),
    (lambda: cp.rows_for(MODEL, {"x": [1]}).predict("survived"), "DataError", None, None,
     "the table has no column that the model predicts from; needed are some of 'status', "
     "'age', 'sex'."),
    (lambda: cp.rows_for(MODEL, {"sex": ["male"]}).table(), "DataError", None, None,
     "the table lacks columns of the model: 'status', 'age', 'survived'; add them, or learn a "
     "model without them."),
    (lambda: cp.rows_for(MODEL, "titanic").score("auc"), "UnknownNameError", "metric", "auc",
     "metric 'auc' is not known; known: 'pll', 'normalized_pll', 'log_likelihood', 'cmll'."),
    (lambda: cp.compare_methods("titanic", bin=3), "UnknownNameError", "parameter", "bin",
     "parameter 'bin' is not known; did you mean 'bins'?"),
    (lambda: cp.evaluate.compare([], TITANIC), "ParameterError", None, None,
     "there is no learner to compare; pass at least one."),
    (lambda: cp.lagged(TITANIC, 0), "ParameterError", None, None,
     "k=0; one or more earlier rows are needed."),
    (lambda: cp.Dag(2, [(0, 1), (1, 0)]), "GraphError", None, None,
     "the edges form the cycle 0 → 1 → 0; drop or turn one of them."),
    (lambda: cp.Range(), "ParameterError", None, None,
     "a range without low and high holds everything; give one of them."),
    (lambda: cp.NaiveBayes().predict(TITANIC), "NotFittedError", None, None,
     "this NaiveBayes is not fitted yet; call fit first."),
    (lambda: cp.write_report(5), "ParameterError", None, None,
     "a report is of a model, its file or a fitted learner, not of an int."),
    (lambda: MODEL.predict_proba(TITANIC), "ParameterError", None, None,
     "the model was learned for no class; name the column to predict with target=…."),
    (lambda: MODEL.query("survived", {"survived": "yes"}), "EvidenceError", None, None,
     "'survived' is both asked and given; drop it from the question or the evidence."),
    (lambda: cp.plots.graph(3), "ParameterError", None, None,
     "an int has no graph; pass a model, a fitted learner or networkx graph."),
    (lambda: cp.effect(MODEL, "sex", "sex"), "ParameterError", None, None,
     "'sex' is both treatment and outcome; a column has no effect on itself, so name another "
     "outcome."),
    (lambda: cp.BDeu(0), "ParameterError", "equivalent_sample_size", 0,
     "equivalent_sample_size=0; a positive number is needed."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "parameter", "value", "message"), MESSAGES)
def test_message_and_attributes(call, kind, parameter, value, message):
    with pytest.raises(CounterpaneError) as caught:
        call()
    error = caught.value
    assert (type(error).__name__, str(error)) == (kind, message)
    assert (error.parameter, error.value) == (parameter, value)
    reason, _, remedy = message.partition(";")
    assert (error.reason, error.remedy) == (reason, remedy.strip())


def test_attributes_come_from_the_parts():
    error = ParameterError(Setting("alpha", 2), "; a level below 1 is needed.")
    assert (error.parameter, error.value, error.allowed) == ("alpha", 2, None)
    assert error.remedy == "a level below 1 is needed."
    error = ParameterError(Setting("names"), "; pass one.", allowed=["a", "b"])
    assert (error.parameter, error.value, error.allowed) == ("names", None, ("a", "b"))
    advice = DataError("a cell is missing; pass ", Setting("missing", "drop"), ".")
    assert (advice.parameter, advice.value) == (None, None)
    assert advice.remedy == "pass missing='drop'."
    told = DataError("column 'x' is odd", parameter="x", value=5)
    assert (told.parameter, told.value, told.remedy) == ("x", 5, "")
    assert str(ParameterError(Setting("level", np.float64(0.5)), " is odd")) == "level=0.5 is odd"


def test_checks_and_names_say_what_is_allowed():
    with pytest.raises(ParameterError) as caught:
        check("n", "4", INTEGER | NONE)
    assert caught.value.allowed == ("a whole number", "None")
    with pytest.raises(ParameterError) as caught:
        check("score", np.zeros(2), NO_ARRAY)
    assert (caught.value.parameter, caught.value.allowed) == ("score", ())
    error = unknown_name("column", "axe", ["age", "sex"])
    assert isinstance(error, UnknownNameError)
    assert (error.parameter, error.value, error.allowed) == ("column", "axe", ("age", "sex"))


@pytest.mark.parametrize(
    "error",
    [
        ParameterError(Setting("k", 0), "; from 1.", allowed=(1, 2)),
        PathError(2, "a.csv", "no file"),
        unknown_name("column", "a", "b"),
    ],
)
def test_errors_are_pickled_with_their_attributes(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    for name in ("parameter", "value", "allowed", "remedy"):
        assert getattr(again, name) == getattr(error, name)
