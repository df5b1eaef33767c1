"""Pictures of graphs with circles and two-headed edges."""

import counterpane as cp
from counterpane.drawing.layout import lay_out_mixed
from counterpane.tools.pictures import write_picture


def test_marks_are_drawn_at_both_ends(tmp_path):
    kinds = ["->", "<->", "o->", "o-o", "--", "-o"]
    names = [f"{side}{k}" for k in range(len(kinds)) for side in "ab"]
    edges = [(f"a{k}", kind, f"b{k}") for k, kind in enumerate(kinds)]
    graph = cp.MixedGraph([*names, "<c>"], edges)
    write_picture(graph, tmp_path / "g.svg")
    svg = (tmp_path / "g.svg").read_text()
    assert svg.count("<circle") == 4  # o→, o–o twice, –o
    assert svg.count('Z" fill=') == 4  # →, ↔ twice, o→
    assert svg.count("stroke-dasharray") == 1
    assert "&lt;c&gt;" in svg
    write_picture(graph, tmp_path / "g.dot")
    dot = (tmp_path / "g.dot").read_text()
    assert '"a2" -> "b2" [dir=both, arrowtail=odot, arrowhead=normal];' in dot
    assert '"a1" -> "b1" [dir=both, arrowtail=normal, arrowhead=normal, style=dashed];' in dot


def test_two_edges_of_a_pair_are_two_lines(tmp_path):
    bow = cp.MixedGraph(["x", "y"], [("x", "->", "y"), ("x", "<->", "y")])
    layout, marks = lay_out_mixed(bow.names, bow.edges)
    assert set(layout.routes) == set(marks) == {("x", "y"), ("y", "x")}
    assert layout.routes["y", "x"][0] != layout.routes["x", "y"][-1]
    write_picture(bow, tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_text().count("->") == 2


def test_a_model_of_fci_is_drawn_with_its_marks(tmp_path):
    learner = cp.FCI().fit(cp.load_dataset("titanic"))
    learner.model_.save(tmp_path / "m.cp")
    write_picture(cp.load(tmp_path / "m.cp"), tmp_path / "m.svg")
    assert (tmp_path / "m.svg").read_text().count("<circle") == 12
    assert learner._repr_html_().count("<circle") == 12
