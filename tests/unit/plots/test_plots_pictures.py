"""Pictures show what the model holds: labels, widths, values; in light and dark."""

from __future__ import annotations

import io

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon

import counterpane as cp
from counterpane import plots
from counterpane.errors import NotFittedError, ParameterError
from counterpane.plots.calibration import wilson
from error_checks import raises


@pytest.fixture(scope="module", name="titanic")
def load_titanic():
    return cp.load_dataset("titanic")


@pytest.fixture(scope="module", name="learner")
def fit_network(titanic):
    return cp.StructureSearch().fit(titanic)


@pytest.fixture(name="ax")
def new_axes():
    return Figure(figsize=(6, 5)).subplots()


def texts(ax):
    return [t.get_text() for t in ax.texts]


def edges_of(ax):
    return {p.get_label(): p for p in ax.patches if isinstance(p, PathPatch)}


def test_a_graph_has_every_name_and_edge(learner, ax):
    assert learner.model_.plot(ax=ax, title="T") is ax
    numbers = [f"{e.strength:.2g}" for e in learner.strengths_]
    names = ["age", "sex", "status", "survived"]
    assert sorted(texts(ax)) == sorted([*numbers, *names, "edges: bits per row"])
    assert set(edges_of(ax)) == {f"{a} — {b}" for a, b in learner.graph_.edges}
    assert not any(isinstance(p, Polygon) for p in ax.patches)  # no direction can be known
    assert ax.get_title() == "T"


def test_arrows_are_those_of_the_class_and_of_knowledge(titanic, ax):
    learner = cp.HillClimb(tiers=[["sex", "age", "status"], ["survived"]]).fit(titanic)
    learner.plot(ax=ax)
    assert {name for name in edges_of(ax) if "→" in name} == {
        f"{p} → survived" for p in ("sex", "age", "status")
    }
    assert sum(isinstance(p, Polygon) for p in ax.patches) == 3
    written = cp.BayesianNetwork(learner.model_.schema, learner.model_.dag, learner.model_.tables)
    written.plot(ax=(other := Figure().subplots()))
    assert set(edges_of(other)) == {f"{a} → {b}" for a, b in learner.graph_.edges}


def test_widths_follow_strength(ax):
    graph = nx.Graph([("a", "b"), ("b", "c")])
    plots.graph(graph, strengths={("b", "a"): 1.0, ("b", "c"): 0.1}, ax=ax)
    drawn = {name: path.get_linewidth() for name, path in edges_of(ax).items()}
    assert drawn["a — b"] == pytest.approx(4 * drawn["b — c"])


def test_a_bootstrap_shows_its_confidence(titanic, ax):
    result = cp.bootstrap(cp.HillClimb(), titanic.take(np.arange(0, 2201, 9)), 20, random_state=0)
    result.plot(ax=ax)
    averaged = result.averaged_graph().to_undirected()
    drawn = edges_of(ax)
    assert len(drawn) == averaged.number_of_edges()
    pairs = [(a, b) for a, b in averaged.edges if f"{a} — {b}" in drawn]
    pairs += [(b, a) for a, b in averaged.edges if f"{b} — {a}" in drawn]
    strengths = [averaged.edges[pair]["strength"] for pair in pairs]
    widths = [drawn[f"{a} — {b}"].get_linewidth() for a, b in pairs]
    assert len(set(strengths)) > 1
    assert {f"{share:.0%}" for share in strengths} < set(texts(ax))
    assert "edges: share of 20 bootstrap samples with the edge as it is drawn" in texts(ax)
    order = np.argsort(strengths, kind="stable")
    assert (np.diff(np.array(widths)[order]) >= -1e-9).all()
    matrix = result.plot("edges", ax=Figure().subplots())
    assert matrix.images[0].get_array().tolist() == result.edge_probabilities.tolist()


def test_too_few_samples_have_no_shares(titanic, ax):
    result = cp.bootstrap(cp.HillClimb(), titanic, 5, random_state=0)
    result.plot(ax=ax)
    assert sorted(texts(ax)) == ["age", "sex", "status", "survived"]
    assert len({p.get_linewidth() for p in edges_of(ax).values()}) == 1
    with raises(ParameterError, about="5 samples"):
        result.plot("edges", ax=ax)


def test_a_learners_widths_are_strengths_or_probabilities(learner, titanic, ax):
    learner.plot(ax=ax)
    drawn = edges_of(ax)
    ranked = [drawn[f"{a} — {b}"].get_linewidth() for a, b in (e.ends for e in learner.strengths_)]
    assert ranked == sorted(ranked, reverse=True)
    assert ranked[0] > ranked[-1]
    posterior = cp.ExactPosterior().fit(titanic)
    matrix = posterior.plot("edges", ax=Figure().subplots())
    assert matrix.images[0].get_array().tolist() == posterior.edge_probabilities_.tolist()
    assert [t.get_text() for t in matrix.get_xticklabels()] == list(titanic.schema.names)
    posterior.plot(ax=Figure().subplots())


def test_colors_follow_the_style(learner):
    with mpl.rc_context({"text.color": "#eeeeee", "axes.facecolor": "#101010"}):
        ax = learner.plot(ax=Figure().subplots())
        table = plots.conditional_table(learner, "age", ax=Figure().subplots())
        told = plots.hypergraph(
            [{"hyperedge": ("a", "b"), "share": 1.0, "label": ""}], ax=Figure().subplots()
        )
    assert {t.get_color() for t in ax.texts} == {"#eeeeee"}
    assert to_rgba("#101010") in [p.get_facecolor() for p in ax.patches]
    assert table.images[0].cmap(0.0) == pytest.approx(to_rgba("#101010"))
    boxes = [t.get_bbox_patch().get_facecolor() for t in told.texts if t.get_text() == "a"]
    assert boxes == [pytest.approx(to_rgba("#101010"))]


def test_labels_fit_their_boxes(learner):
    figure = Figure(figsize=(7, 5))
    ax = learner.plot(ax=figure.subplots())
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    boxes = [p.get_window_extent() for p in ax.patches if "Fancy" in type(p).__name__]
    for text in (t for t in ax.texts if t.get_text() in learner.graph_):
        own = text.get_window_extent(renderer)
        assert any(
            b.x0 <= own.x0 and own.x1 <= b.x1 and b.y0 <= own.y0 and own.y1 <= b.y1 for b in boxes
        ), text.get_text()


def test_conditional_tables_show_the_models_numbers(learner, ax):
    plots.conditional_table(learner, "age", ax=ax)
    model = learner.model_
    table = model.tables[model.schema.index("age")]
    assert np.allclose(ax.images[0].get_array(), table.reshape(-1, 2))
    assert texts(ax) == [f"{p:.2f}" if p else "0" for p in table.flat]
    assert ax.get_yticklabels()[1].get_text() == "first, yes"
    with raises(ParameterError, about="MarkovNetwork"):
        plots.conditional_table(cp.MarkovNetwork(model.schema, model.to_potentials()), "age")
    root = Figure().subplots()
    assert plots.conditional_table(model, "status", ax=root).get_title() == "P(status)"


def test_long_tables_are_cut(ax):
    frame = {c: np.arange(400) // 3**i % 3 for i, c in enumerate("abcde")}
    model = cp.fit_parameters(
        cp.MemoryCounts(cp.Table.from_frame(frame)), cp.Dag(5, [(0, 4), (1, 4), (2, 4), (3, 4)])
    )
    plots.conditional_table(model, "e", ax=ax)
    assert ax.get_yticklabels()[-1].get_text() == "… 42 more"
    assert ax.images[0].get_array().shape == (40, 3)


def test_traces(learner, titanic, ax):
    learner.plot("trace", ax=ax)
    assert ax.lines[0].get_ydata().tolist() == [r["score"] for r in learner.trace_]
    assert ax.lines[0].get_xdata().tolist() == [r["seconds"] for r in learner.trace_]
    plots.trace(learner, value="gains", ax=Figure().subplots())
    plots.trace(learner.model_, ax=Figure().subplots())  # which keeps it
    with raises(ParameterError, about="'x'"):
        plots.trace(learner, value="x")
    with raises(ParameterError, about="trace"):
        plots.trace(cp.NaiveBayes().fit(titanic, "survived"))


def test_calibration_shows_shares_and_intervals(ax):
    told = np.repeat([0.05, 0.55, 1.0], [20, 40, 10])
    true = np.concatenate([np.zeros(20), np.arange(40) % 4 == 0, np.ones(10)])
    plots.calibration(true, told, ax=ax)
    bars = ax.containers[0]
    assert np.allclose(bars.lines[0].get_xydata(), [[0.05, 0], [0.55, 0.25], [1, 1]])
    low, high = wilson(np.array([0.0, 0.25, 1.0]), np.array([20, 40, 10]))
    spans = np.array([s[:, 1] for s in bars.lines[2][0].get_segments()])
    assert np.allclose(spans, np.column_stack([low, high]))
    heights = [p.get_height() for p in ax.patches]
    assert np.allclose(np.array(heights)[[0, 5, 9]] / max(heights), [0.5, 1, 0.25])
    assert low[1] == pytest.approx(0.14187, abs=1e-5)  # statsmodels: proportion_confint(10, 40)
    assert high[1] == pytest.approx(0.40194, abs=1e-5)


def test_calibration_of_several_classes(ax):
    plots.calibration(["a", "b"], [[0.75, 0.25], [0.75, 0.25]], classes=["a", "b"], ax=ax)
    points = ax.containers[0].lines[0].get_xydata()
    assert np.allclose(points, [[0.25, 0.5], [0.75, 0.5]])
    with raises(ParameterError, about="(1, 2)"):
        plots.calibration(["a"], [[0.5, 0.5]])
    with raises(ParameterError, about="probabilities"):
        plots.calibration([1], [1.5])
    with raises(ParameterError, about=("1 outcomes", "2 probabilities")):
        plots.calibration([1], [0.5, 0.5])


def test_confusion_counts(ax):
    plots.confusion(["a", "a", "a", "b"], ["a", "b", "b", "b"], classes=["b", "a"], ax=ax)
    assert texts(ax) == ["1", "0", "2", "1"]
    assert ax.images[0].get_array().tolist() == [
        [1, 0],
        [pytest.approx(2 / 3), pytest.approx(1 / 3)],
    ]


def test_marginals_of_tables_and_models(titanic, learner, ax):
    titanic.plot(ax=ax)
    widths = [round(p.get_width(), 6) for p in ax.patches]
    told = [round(float(s), 6) for name in titanic.schema.names for s in titanic.shares(name)]
    assert widths == told
    other = plots.marginals(learner.model_, columns=["sex"], ax=Figure().subplots())
    expected = learner.model_.query("sex").probabilities
    assert [p.get_width() for p in other.patches] == pytest.approx(expected.tolist())
    wide = cp.Table(cp.Schema.from_cards([2] * 60), np.zeros((60, 3)))
    assert len(wide.plot(ax=Figure().subplots()).get_yticklabels()) == 40
    with raises(ParameterError, about="60 columns"):
        wide.plot(columns=wide.schema.names)


def test_shares_leave_out_missing_cells_and_weigh_rows():
    table = cp.Table(cp.Schema.from_cards([2]), [[0, 1, 2]], weights=[1.0, 2.0, 1.0])
    assert table.shares("x0").tolist() == [0.25, 0.5]


def test_answers(learner, ax):
    answer = learner.model_.query("survived", {"sex": "female"})
    answer.plot(ax=ax)
    assert [p.get_width() for p in ax.patches] == pytest.approx(answer.probabilities.tolist())
    joint = learner.model_.query(["survived", "sex"])
    square = joint.plot(ax=Figure().subplots())
    assert np.allclose(square.images[0].get_array(), joint.probabilities)
    three = learner.model_.query(["survived", "sex", "age"]).plot(ax=Figure().subplots())
    assert len(three.patches) == 8


def test_comparisons_and_interactions(titanic, ax):
    records = [
        {"method": "b", "loss": 0.5, "sd": 0.1},
        {"method": "a", "loss": 0.3, "sd": 0.2},
        {"method": "c"},
    ]
    plots.comparison(records, "loss", error="sd", ax=ax)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert ax.lines[0].get_xdata().tolist() == [0.3, 0.5]
    with raises(ParameterError, about="'x'"):
        plots.comparison(records, "x")
    classifier = cp.InteractionClassifier().fit(titanic, "survived")
    shown = classifier.plot("interactions", ax=Figure().subplots())
    assert [p.get_width() for p in shown.patches] == sorted(
        (r["effect"] for r in classifier.interactions_), reverse=True
    )
    orders = [r["order"] for r in classifier.interactions_]
    # A line for each pair, three for a triple; the learner's picture leaves out pairs within one.
    drawn = orders.count(2) + 3 * orders.count(3)
    assert len(classifier.model_.plot(ax=Figure().subplots()).lines) == drawn
    fewer = 3 * orders.count(3) if 3 in orders else drawn
    assert len(classifier.plot(ax=Figure().subplots()).lines) == fewer
    with raises(ParameterError, about="InteractionClassifier"):
        plots.interactions(cp.NaiveBayes())


def test_what_cannot_be_shown_says_so(learner, titanic):
    with raises(NotFittedError, about="HillClimb"):
        cp.HillClimb().plot()
    with raises(ParameterError, parameter="kind", value="x"):
        learner.plot("x")
    with raises(ParameterError, about="(0,)"):
        plots.edge_probabilities([[0.0]])
    with raises(ParameterError, about="301 nodes"):
        plots.graph(nx.path_graph(301))
    with raises(ParameterError, about="graph"):
        plots.graph("titanic")
    assert cp.MarkovClassifier().fit(titanic, "survived").plot("graph", ax=Figure().subplots())


def test_dollar_signs_are_no_formula(ax):
    plots.graph(nx.Graph([("$x", "y$_{")]), ax=ax)
    ax.figure.savefig(io.BytesIO(), format="png")
    assert set(texts(ax)) == {r"\$x", r"y\$_{"}


def test_no_line_of_a_hypergraph_lies_on_another():
    places = {"a": (0.0, 0.0), "b": (1.0, 1.0), "c": (2.0, 2.0), "d": (2.0, 0.0)}
    edges = [("a", "b"), ("b", "c"), ("a", "b", "c"), ("b", "d")]
    records = [{"hyperedge": edge, "share": 1.0, "label": str(k)} for k, edge in enumerate(edges)]
    ax = plots.hypergraph(records, positions=places, ax=Figure().subplots())
    lines = [line.get_transform().transform(line.get_xydata()) for line in ax.lines]
    assert len(lines) == 6  # three pairs, and three spokes, one of which has no length
    spokes = [line for line in lines[3:] if np.hypot(*(line[1] - line[0])) > 1]
    assert len(spokes) == 2
    for spoke in spokes:
        along = (spoke[1] - spoke[0]) / np.hypot(*(spoke[1] - spoke[0]))
        for pair in lines[:2]:
            off = pair - spoke[0]
            distance = np.abs(off[:, 0] * along[1] - off[:, 1] * along[0])
            assert distance.min() > 2.0  # pixels
