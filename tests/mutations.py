"""Do the tests notice a wrong line? Forty important lines, each changed for once.

`make mutations`, or `python tests/mutations.py [WORD …]` for those whose name holds a word, copies
the sources to two temporary folders, where the tests must pass. For each line it writes the change,
builds the core again if the line is C++, and runs the tests named, without the slow ones: they must
fail. It exits with 1 if a changed line survives, or if its text is not found once in its file: then
update it here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from counterpane import _core

ROOT = Path(__file__).parents[1]
SECONDS = 300  # of the tests of one line
# The copy comes first on the path, and the finder of an editable install is removed.
RUN = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
sys.path.insert(0, "src")
import pytest
import counterpane
assert counterpane.__file__.startswith({root!r}), counterpane.__file__
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *{tests!r}]))
"""


class Mutation(NamedTuple):
    """A line of `file` with another text, and the tests that must notice it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


P, C, T = "src/counterpane/", "src/core/", "tests/"
MUTATIONS = (
    Mutation("BIC: half of ln N", P + "scores/likelihood.py",
             "0.5 * math.log(total)", "0.25 * math.log(total)",
             (T + "contract/test_scores_contract.py", T + "golden/test_bnlearn_scores.py")),
    Mutation("likelihood: sign of the parents' term", C + "scores/tables.hpp",
             "total -= clogc(row, logs);", "total += clogc(row, logs);",
             (T + "core/test_scores.py",)),
    Mutation("BDeu: weight of the prior", P + "scores/dirichlet.py",
             "return Form(EQUIVALENT, self.equivalent_sample_size)",
             "return Form(EQUIVALENT, 2 * self.equivalent_sample_size)",
             (T + "contract/test_scores_contract.py", T + "golden/test_bnlearn_scores.py")),
    Mutation("G²: degrees of freedom", C + "independence/tests.hpp",
             "(occurring(rows) - 1) * (occurring(columns) - 1)",
             "(occurring(rows) - 1) * occurring(columns)",
             (T + "core/test_independence.py",)),
    Mutation("independence: side of alpha", P + "independence/count_tests.py",
             "independent = p_values > self.alpha\n", "independent = p_values < self.alpha\n",
             (T + "unit/independence/test_independence_asymptotic.py",)),
    Mutation("CPDAG: which edges are compelled", C + "graphs/equivalence.hpp",
             "copy_from(all ? parents : Words(compelled[x]))",
             "copy_from(all ? Words(compelled[x]) : parents)",
             (T + "core/test_graphs.py",)),
    Mutation("edge strength: mean by chance", P + "independence/edge_strength.py",
             "max(information - mean, 0.0)", "max(information, 0.0)",
             (T + "unit/independence/test_edge_strength.py",)),
    Mutation("report: the strength of an edge", P + "report/drawn_links.py",
             "strength = float(f\"{link.strength:.6g}\")",
             "strength = float(f\"{2 * link.strength:.6g}\")",
             (T + "unit/report/test_report_strengths.py",)),
    Mutation("evidence: a set of states", P + "models/evidence.py",
             "weights[variable.code(state)] = 1.0", "weights[: variable.code(state) + 1] = 1.0",
             (T + "unit/models/test_evidence_ranges.py", T + "unit/models/test_models_queries.py")),
    Mutation("Gibbs: the conditional", C + "inference/gibbs.hpp",
             "std::exp(logits[s] - top) : 1.0", "std::exp(0.5 * (logits[s] - top)) : 1.0",
             (T + "core/test_approximate_inference.py",)),
    Mutation("classifier: softmax", P + "additive/classifier.py",
             "eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))",
             "eta - np.log(np.exp(eta).sum(axis=0, keepdims=True))",
             (T + "unit/models/test_additive.py",
              T + "unit/learners/classifiers/test_interaction_classifier.py")),
    Mutation("EM: rows without gaps", P + "learners/parameters.py",
             "expected += self.shown", "expected += 0 * self.shown",
             (T + "unit/learners/test_parameters.py",)),
    Mutation("missing cells: when rows are dropped", P + "learners/gap_policy.py",
             "if lost <= FEW_LOST:", "if lost > FEW_LOST:",
             (T + "unit/learners/test_gap_policy.py",)),
    Mutation("weights of rows", P + "data/table.py",
             "None if self.weights is None else self.weights[rows]",
             "None if self.weights is None else self.weights[: len(self.weights[rows])]",
             (T + "property/test_data_laws.py", T + "property/test_count_laws.py",
              T + "unit/counts/test_memory_counts.py")),
    Mutation("calibration: bins", P + "evaluate/measures.py",
             "(np.cumsum(sizes) - sizes / 2) / sizes.sum()",
             "np.cumsum(sizes) * 0.5 / sizes.sum()",
             (T + "unit/evaluate/test_measures.py",)),
    Mutation("bootstrap: open directions", P + "learners/bootstrap.py",
             "shares = (arrows + lines / 2) / done", "shares = (arrows + lines) / done",
             (T + "unit/learners/test_bootstrap.py",)),
    Mutation("Ctrl-C: the best so far", P + "learners/driver.py",
             "except (Stopped, KeyboardInterrupt) as reason:", "except Stopped as reason:",
             (T + "unit/learners/test_driver.py",)),
    Mutation("model file: checksum", P + "formats/native.py",
             "if hashlib.sha256(data[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:",
             "if False:",
             (T + "unit/formats/test_formats_native.py",)),
    Mutation("command: exit code of an error", P + "cli/app.py",
             "return with_option_names(error), 2", "return with_option_names(error), 1",
             (T + "unit/cli/test_cli.py",)),
    Mutation("structure: distance counts directions", P + "evaluate/structure.py",
             "free * 1 + into.T * 2 + into * 3", "free * 1 + into.T * 2 + into * 2",
             (T + "unit/evaluate/test_evaluate_structure.py",)),
    Mutation("row scores: standard error", P + "evaluate/density.py",
             "math.sqrt(variance / total)", "math.sqrt(variance)",
             (T + "unit/evaluate/test_evaluate_density.py",)),
    Mutation("cells: side of a cut point", P + "data/encoding.py",
             "np.searchsorted(np.array(variable.cuts), values, side=\"right\")",
             "np.searchsorted(np.array(variable.cuts), values, side=\"left\")",
             (T + "unit/data/test_data_discretize.py", T + "property/test_data_laws.py")),
    Mutation("cells: unknown is not missing", P + "data/encoding.py",
             "codes[unknown] = missing if unseen == \"missing\" else variable.card",
             "codes[unknown] = missing",
             (T + "contract/test_classifiers_contract.py::"
              "test_training_is_what_the_docstring_says",)),
    Mutation("rows: negative weights", P + "data/weights.py",
             "bad = ~np.isfinite(values) | (values < 0)", "bad = ~np.isfinite(values)",
             (T + "unit/data/test_data_frames.py",)),
    Mutation("numbers: decimal mark", P + "data/number_formats.py",
             "body.replace(self.decimal, \".\")", "body.replace(self.decimal, \"\")",
             (T + "unit/data/test_number_formats.py",)),
    Mutation("dates: day or month first", P + "data/dates.py",
             "(first, second) if day_first else (second, first)",
             "(second, first) if day_first else (first, second)",
             (T + "unit/data/test_data_dates.py",)),
    Mutation("words for missing cells: two columns", P + "data/prepare.py",
             "if any(one.isdisjoint(other) for one, other in combinations(others, 2)):",
             "if others:",
             (T + "unit/data/test_gap_words.py",)),
    Mutation("intervals: when a cut is worth it", P + "data/intervals.py",
             "(np.log2(total - 1) + delta) / total", "delta / total",
             (T + "unit/data/test_data_discretize.py",)),
    Mutation("d-separation: colliders", C + "graphs/separation.hpp",
             "(new_down[w] & observed[w])", "(new_down[w] & ~observed[w])",
             (T + "core/test_graphs.py",)),
    Mutation("orientation: no new collider", P + "graphs/orientation.py",
             "if any(c not in joined[b] for c in parents[a]):",
             "if any(c in joined[b] for c in parents[a]):",
             (T + "unit/learners/independence/test_pc.py::"
              "test_an_oracle_gives_the_class_of_a_random_graph",)),
    Mutation("adjustment: not for what the treatment changes", P + "causes/adjustment.py",
             "observed - treated - asked - forbidden", "observed - treated - asked",
             (T + "unit/causes/test_adjustment.py",)),
    Mutation("interventions: edges into them are cut", P + "models/interventions.py",
             "() if v in codes else model.dag.parents(v)", "model.dag.parents(v)",
             (T + "unit/models/test_interventions.py",)),
    Mutation("search: tiers", P + "learners/bayesian/constraints.py",
             "sorted(set(level.values()), reverse=True)", "sorted(set(level.values()))",
             (T + "unit/learners/bayesian/test_network_search.py",)),
    Mutation("network files: order of parents", P + "formats/network.py",
             "table.transpose([*np.argsort(parents), len(parents)])", "table",
             (T + "unit/formats/test_formats_networks.py",)),
    Mutation("folds: every class in each", P + "learners/classifiers/folds.py",
             "order = order[np.argsort(labels[copies[order]], kind=\"stable\")]", "pass",
             (T + "unit/learners/classifiers/test_folds.py",)),
    Mutation("baseline: shares of the other folds", P + "evaluate/measures.py",
             "rest = counts - tested if not inside.all() else counts", "rest = counts",
             (T + "unit/evaluate/test_measures.py::test_the_prior_stands_beside",)),
    Mutation("AUC: ties count half", P + "evaluate/measures.py",
             "(np.cumsum(outside) - outside / 2) / rest", "np.cumsum(outside) / rest",
             (T + "unit/evaluate/test_measures.py::test_auc_counts_ties_half",)),
    Mutation("report: baseline", P + "report/measures.py",
             "own = (prior.log_loss, prior.auc,", "own = (0.0, prior.auc,",
             (T + "unit/report/test_report.py",)),
    Mutation("predict: classes of the rows measured", P + "workflow/predictions.py",
             "ClassMeasures(logs, codes[rows].astype(np.int64)",
             "ClassMeasures(logs, codes[rows][::-1].astype(np.int64)",
             (T + "unit/cli/test_cli_classify.py::test_learn_then_predict",)),
    Mutation("bootstrap: rows are drawn by weight", P + "learners/bootstrap.py",
             "rng.multinomial(size, rows.weights / total)",
             "rng.multinomial(size, np.full(rows.n_rows, 1 / rows.n_rows))",
             (T + "unit/learners/test_bootstrap.py",)),
    Mutation("stability: no shares of few samples", P + "models/edges.py",
             "if edges and (edges[0].samples or 0) >= LEAST_SAMPLES else None", "or None",
             (T + "unit/models/test_edges.py",)),
    Mutation("checkpoint: of this learner and these rows", P + "learners/checkpoint.py",
             "content.schema != schema or not same", "content.schema != schema",
             (T + "unit/learners/test_driver.py",)),
)  # fmt: skip


def copy_tree(folder: Path) -> None:
    """Copy sources, tests and the compiled core of this interpreter."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.so", ".hypothesis")
    for name in ("src", "tests", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    for name in ("CMakeLists.txt", "pyproject.toml", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copy(_core.__file__, folder / "src" / "counterpane")


def build_core(folder: Path) -> None:
    """Build the core of the copy, with what was built before, into its package."""
    build = folder / "build" / "mutations"  # as deep as other builds, for a cache of the compiler
    where = ["-S", str(folder), "-B", str(build)]
    settings = [
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    commands = [["cmake", "--build", str(build)]]
    if not (build / "build.ninja").exists():
        commands.insert(0, ["cmake", *where, *settings])
    for command in commands:
        environment = os.environ | {"CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1"}
        subprocess.run(command, check=True, capture_output=True, env=environment)
    for path in build.glob("_core*.so"):
        shutil.copy(path, folder / "src" / "counterpane" / Path(_core.__file__).name)


def run_tests(folder: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run tests on the copy, until the first failure."""
    script = RUN.format(root=str(folder), tests=list(tests))
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        timeout=SECONDS,
        capture_output=True,
        text=True,
    )


def outcome(mutation: Mutation, folder: Path) -> str:
    """ "killed", "survived", or why the line could not be tried; the copy is restored."""
    path = folder / mutation.file
    text = path.read_text()
    if text.count(mutation.old) != 1:
        return f"text found {text.count(mutation.old)} times in {mutation.file}"
    missing = [name for name in mutation.tests if not (folder / name.split("::")[0]).is_file()]
    if missing:
        return f"no file {missing[0]}"
    core = folder / "src" / "counterpane" / Path(_core.__file__).name
    sound = core.read_bytes()
    path.write_text(text.replace(mutation.old, mutation.new))
    try:
        if path.suffix == ".hpp":
            build_core(folder)
        done = run_tests(folder, mutation.tests)
    except subprocess.TimeoutExpired:
        return "killed"  # an endless loop is noticed
    except subprocess.CalledProcessError as error:
        return f"no build: {error.stderr[-300:]!r}"
    finally:
        path.write_text(text)
        core.write_bytes(sound)
    if done.returncode in (0, 1, 2):  # 2: Ctrl-C, or an import failed
        return "survived" if done.returncode == 0 else "killed"
    return f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]!r}"


def try_mutations(folder: Path, take: Callable[[], Mutation]) -> Iterator[bool]:
    """Whether each line that is taken is noticed, with a line printed for each."""
    copy_tree(folder)
    with suppress(IndexError):
        while True:
            mutation, began = take(), time.monotonic()
            result = outcome(mutation, folder)
            print(f"{result:10}  {mutation.name} ({time.monotonic() - began:.0f} s)", flush=True)
            yield result == "killed"


def run_mutations(words: list[str]) -> int:
    """Try each line and print what became of it; 1 unless all are noticed.

    One copy begins with the lines of C++, which need builds, and the other with the last ones.
    """
    chosen = [m for m in MUTATIONS if not words or any(w.lower() in m.name.lower() for w in words)]
    waiting = deque(sorted(chosen, key=lambda m: not m.file.startswith(C)))
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        first, second = (Path(name).resolve() / part for part in ("first", "second"))
        copy_tree(control := Path(name).resolve() / "control")
        sound = pool.submit(run_tests, control, dict.fromkeys(t for m in chosen for t in m.tests))
        takes = ((first, waiting.popleft), (second, waiting.pop))
        done = list(pool.map(lambda each: list(try_mutations(*each)), takes))
        if sound.result().returncode:
            done = sound.result()
            print(f"tests fail before any change: {(done.stdout + done.stderr)[-2000:]}")
            return 1
    killed = sum(map(sum, done))
    print(f"{killed} of {len(chosen)} changed lines were noticed.")
    return int(killed < len(chosen))


if __name__ == "__main__":
    sys.exit(run_mutations(sys.argv[1:]))
