"""Do the tests notice a wrong line? Twenty important lines, each changed for once.

`make mutations`, or `python tests/mutations.py [WORD …]` for those whose name holds a word, copies
the sources to a temporary folder, where the tests must pass. For each line it writes the change,
builds the core again if the line is C++, and runs the tests named: they must fail. It exits with 1
if a changed line survives, or if its text is not found once in its file: then update it here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from counterpane import _core

ROOT = Path(__file__).parents[1]
SECONDS = 600  # of the tests of one line
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
             "Verdict(p > self.alpha,", "Verdict(p < self.alpha,",
             (T + "unit/independence/test_independence_asymptotic.py",)),
    Mutation("CPDAG: which edges are compelled", C + "graphs/equivalence.hpp",
             "copy_from(all ? parents : Words(compelled[x]))",
             "copy_from(all ? Words(compelled[x]) : parents)",
             (T + "core/test_graphs.py",)),
    Mutation("edge strength: mean by chance", P + "independence/edge_strength.py",
             "max(information - mean, 0.0)", "max(information, 0.0)",
             (T + "unit/independence/test_edge_strength.py",)),
    Mutation("report: the strength that is listed", P + "report/content.py",
             "int(k.directed), six_digits(k.strength), share, bits",
             "int(k.directed), six_digits(2 * k.strength), share, bits",
             (T + "unit/report/test_report_strengths.py",)),
    Mutation("report: the strength that is drawn", P + "report/picture.py",
             '"s": float(f"{link.strength:.6g}")', '"s": float(f"{link.strength + 0.01:.6g}")',
             (T + "unit/report/test_report_strengths.py",)),
    Mutation("evidence: a set of states", P + "models/evidence.py",
             "weights[variable.code(state)] = 1.0", "weights[: variable.code(state) + 1] = 1.0",
             (T + "unit/models/test_evidence_ranges.py", T + "unit/models/test_models_queries.py")),
    Mutation("Gibbs: the conditional", C + "inference/gibbs.hpp",
             "std::exp(logits[s] - top) : 1.0", "std::exp(0.5 * (logits[s] - top)) : 1.0",
             (T + "core/test_approximate_inference.py",)),
    Mutation("classifier: softmax", P + "models/additive.py",
             "eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))",
             "eta - np.log(np.exp(eta).sum(axis=0, keepdims=True))",
             (T + "unit/models/test_additive.py",
              T + "unit/learn/classifiers/test_interaction_classifier.py")),
    Mutation("EM: rows without gaps", P + "learn/parameters.py",
             "expected += self.shown", "expected += 0 * self.shown",
             (T + "unit/learn/test_parameters.py",)),
    Mutation("missing cells: when rows are dropped", P + "learn/gap_policy.py",
             "if lost <= FEW_LOST:", "if lost > FEW_LOST:",
             (T + "unit/learn/test_gap_policy.py",)),
    Mutation("weights of rows", P + "data/table.py",
             "None if self.weights is None else self.weights[rows]",
             "None if self.weights is None else self.weights[: len(self.weights[rows])]",
             (T + "property/test_data_laws.py", T + "property/test_count_laws.py",
              T + "unit/counts/test_memory_counts.py")),
    Mutation("calibration: bins", P + "learn/classifiers/class_measures.py",
             "(np.cumsum(weights) - weights / 2) / weights.sum()",
             "np.cumsum(weights) * 0.5 / weights.sum()",
             (T + "unit/learn/classifiers/test_class_measures.py",)),
    Mutation("bootstrap: open directions", P + "learn/bootstrap.py",
             "shares = (arrows + lines / 2) / done", "shares = (arrows + lines) / done",
             (T + "unit/learn/test_bootstrap.py",)),
    Mutation("Ctrl-C: the best so far", P + "learn/driver.py",
             "except (Stopped, KeyboardInterrupt) as reason:", "except Stopped as reason:",
             (T + "unit/learn/test_driver.py",)),
    Mutation("model file: checksum", P + "models/formats/native.py",
             "if hashlib.sha256(data[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:",
             "if False:",
             (T + "unit/models/formats/test_formats_native.py",)),
    Mutation("command: exit code of an error", P + "cli/app.py",
             "return _with_option_names(error), 2", "return _with_option_names(error), 1",
             (T + "unit/cli/test_cli.py",)),
    Mutation("structure: distance counts directions", P + "evaluate/structure.py",
             "free * 1 + into.T * 2 + into * 3", "free * 1 + into.T * 2 + into * 2",
             (T + "unit/evaluate/test_evaluate_structure.py",)),
    Mutation("row scores: standard error", P + "evaluate/density.py",
             "math.sqrt(variance / total)", "math.sqrt(variance)",
             (T + "unit/evaluate/test_evaluate_density.py",)),
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
    build = folder / "build"
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
        subprocess.run(command, check=True, capture_output=True)
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
    missing = [name for name in mutation.tests if not (folder / name).is_file()]
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


def run_mutations(words: list[str]) -> int:
    """Try each line and print what became of it; 1 unless all are noticed."""
    chosen = [m for m in MUTATIONS if not words or any(w.lower() in m.name.lower() for w in words)]
    killed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_tree(folder)
        control = run_tests(folder, dict.fromkeys(t for m in chosen for t in m.tests))
        if control.returncode:
            print(f"tests fail before any change: {(control.stdout + control.stderr)[-2000:]}")
            return 1
        for mutation in chosen:
            began = time.monotonic()
            result = outcome(mutation, folder)
            killed += result == "killed"
            print(f"{result:10}  {mutation.name} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{killed} of {len(chosen)} changed lines were noticed.")
    return int(killed < len(chosen))


if __name__ == "__main__":
    sys.exit(run_mutations(sys.argv[1:]))
