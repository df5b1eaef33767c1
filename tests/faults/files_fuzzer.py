"""Damaged, cut and made-up files: each is read, used, or refused in one sentence."""

from __future__ import annotations

import atexit
import gzip
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import zipfile
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np

import counterpane as cp
from counterpane.formats import native
from counterpane.models.mixture import is_classifier
from faults.outcomes import judge

NETWORKS = (".cp", ".bif", ".xmlbif", ".uai", ".net", ".xdsl", ".bn")
NUMBERS = (
    *b"0 -1 1e308 1e-320 nan inf -inf 65535 65536 2147483648 9223372036854775808 0.5 1".split(),
    *b'99999999999999999999 " { } [ ( , * v0_1 default < &lt; true null [] {}'.split(),
    b"", b"\x00", b"\xff", b"\xed\xa0\x80", b"\n",
)  # fmt: skip
WORDS = [word.decode() for word in NUMBERS if word.isascii()] + ["é", "\u202e", "1e400", "-0.0"]
BLOCKS = (".parquet", ".csv", ".tsv")  # files that a FileSource reads too
BINARY = (".cp", ".parquet", ".feather", ".xlsx")
VALUES = (0, -1, 1, 2, 255, 65_535, 65_536, 2**31, 2**53, 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 1.0, -1.0, 1e17, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan)


@cache
def scratch() -> Path:
    """A folder for the files of this process, in memory where there is such a place."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="faults-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def sound_files() -> tuple[tuple[str, bytes], ...]:
    """(name, bytes) of small sound files of all kinds."""
    table = cp.load_dataset("titanic")
    small = table.take(np.arange(0, table.n_rows, 40)) if hasattr(table, "take") else table
    folder, files = scratch() / "sound", []
    folder.mkdir(exist_ok=True)
    network = cp.ChowLiu().fit(table).model_
    models = {
        **{f"network{suffix}": network for suffix in NETWORKS},
        "pairwise.cp": cp.PairwiseMarkovLearner().fit(table).model_,
        "trees.cp": cp.DependencyNetworkLearner("tree").fit(table).model_,
        "hybrid.cp": cp.HybridRandomFieldLearner().fit(table).model_,
        "additive.cp": cp.InteractionClassifier().fit(table, "survived").model_,
        "average.cp": cp.OrderMCMC(n_samples=50, random_state=0).fit(table).model_,
        "gaps.cp": cp.ChowLiu()
        .fit(cp.read({"a": [1, 2, None, 1], "x": [0.5, 1.5, 2.5, 9.0]}, discretize="auto"))
        .model_,
    }
    models |= {"pairwise.mn": models["pairwise.cp"], "trees.dn": models["trees.cp"]}
    for name, model in models.items():
        if model is not None:
            model.save(folder / name)
            files.append((name, (folder / name).read_bytes()))
    frame = small.to_pandas().head(40)
    frame["age in years"] = np.linspace(1, 80, len(frame)).round(1)
    frame.loc[3, "sex"] = None
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(folder / "t.parquet")
    frame.to_parquet(folder / "t.plain.parquet", compression="none")
    texts = dict.fromkeys(frame.select_dtypes(exclude="number"), "DELTA_BYTE_ARRAY")
    frame.to_parquet(folder / "t.delta.parquet", use_dictionary=False, column_encoding=texts)
    frame.to_feather(folder / "t.feather")
    frame.to_feather(folder / "t.plain.feather", compression="uncompressed")
    frame.head(8).to_excel(folder / "t.xlsx", index=False)
    (folder / "t.arff").write_text(
        "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@data\nx,1.5\ny,?\nx,2\n"
    )
    (folder / "t.data").write_text("0,1,2\n1,0,*\n2.5|1,1,0\n")
    return (*files, *((path.name, path.read_bytes()) for path in sorted(folder.glob("t.*"))))


def mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """Bytes with a few changes: flipped, cut, moved, repeated, or replaced by odd words."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        if not out:
            break
        at, size = int(rng.integers(len(out))), int(rng.integers(1, 1 + min(64, len(out))))
        how = int(rng.integers(7))
        if how == 0:
            out[at] ^= 1 << int(rng.integers(8))
        elif how == 1:
            del out[at : at + size]
        elif how == 2:
            out[at:at] = out[at : at + size] * int(rng.integers(1, 30))
        elif how == 3:
            out[at : at + size] = bytes(rng.integers(0, 256, size, dtype=np.uint8))
        elif how == 4:
            del out[at:]
        elif how == 5:
            start = at
            while start and out[start - 1 : start].isalnum():
                start -= 1
            stop = at
            while stop < len(out) and out[stop : stop + 1].isalnum():
                stop += 1
            out[start:stop] = NUMBERS[int(rng.integers(len(NUMBERS)))]
        else:
            other = int(rng.integers(len(out)))
            out[at : at + size] = out[other : other + size]
    return bytes(out)


def mutated_text(rng: np.random.Generator, data: bytes) -> bytes:
    """A text in which a few words or lines are others, missing, repeated or swapped."""
    parts = re.split(r"(\W|(?<=\n))", data.decode("utf-8", "replace"))
    for _ in range(int(rng.integers(1, 4))):
        at, other = rng.integers(len(parts), size=2).tolist()
        how = int(rng.integers(6))
        if how == 0:
            parts[at] = WORDS[int(rng.integers(len(WORDS)))]
        elif how == 1:
            parts[at], parts[other] = parts[other], parts[at]
        elif how == 2:
            parts[at] = parts[at] * int(rng.integers(0, 40))
        elif how == 3:
            parts[at] = parts[other]
        elif how == 4:  # a stretch moves
            stretch = parts[other : other + int(rng.integers(1, 40))]
            parts[at:at] = stretch
        else:
            del parts[at : at + int(rng.integers(1, 40))]
        if not parts:
            break
    return "".join(parts).encode("utf-8", "replace")


def mutated_archive(rng: np.random.Generator, data: bytes) -> bytes:
    """A zip file in which the text of one part is another, or a part is missing."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheets = [name for name in parts if "sheet" in name or "String" in name]
    name = str(rng.choice(sheets if rng.random() < 0.7 else list(parts)))
    if rng.random() < 0.1:
        del parts[name]
    else:
        parts[name] = (mutated_text if rng.random() < 0.7 else mutated)(rng, parts[name])
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return out.getvalue()


def mutated_native(rng: np.random.Generator, data: bytes) -> bytes:
    """A native file with other contents, lengths and checksum sound: what is in it is checked."""
    _, version, size, _ = native.PREFIX.unpack_from(data)
    start = native.PREFIX.size
    header = json.loads(data[start : start + size])
    body = bytearray(data[start + size : -native.DIGEST_BYTES])
    for _ in range(int(rng.integers(1, 4))):
        how = int(rng.integers(4))
        if how == 0 and header["arrays"]:
            entry = header["arrays"][int(rng.integers(len(header["arrays"])))]
            change = int(rng.integers(3))
            if change == 0:
                entry["dtype"] = "<i8" if entry["dtype"] == "<f8" else "<f8"
            elif change == 1 and entry["shape"]:
                entry["shape"] = [*entry["shape"][::-1], 1][: int(rng.integers(1, 4))]
            else:
                entry["name"] = str(rng.choice(["tables", "parents", "total", "x", "0.faces"]))
        elif how == 1 and len(body) >= 8:
            values = np.frombuffer(body, dtype="<i8").copy()
            for _ in range(int(rng.integers(1, 4))):
                at = int(rng.integers(values.size))
                if rng.random() < 0.5:
                    values[at] = VALUES[int(rng.integers(len(VALUES)))]
                else:
                    values.view("<f8")[at] = REALS[int(rng.integers(len(REALS)))]
            body = bytearray(values.tobytes())
        elif how == 2:
            header = json.loads(mutated_json(rng, json.dumps(header)))
            break
        else:
            cut = 8 * int(rng.integers(1 + len(body) // 8))
            body = body[:cut] if rng.random() < 0.5 else body + bytes(8)
            break
    text = json.dumps(header).encode()
    total = start + len(text) + len(body) + native.DIGEST_BYTES
    whole = native.PREFIX.pack(native.MAGIC, version, len(text), total) + text + bytes(body)
    return whole + hashlib.sha256(whole).digest()


def mutated_json(rng: np.random.Generator, text: str) -> str:
    """A JSON text in which one value is another."""
    odd = [None, True, 1, -1, 2.5, "", "x", [], {}, [None], 10**30, "\x1b[2J", "é" * 300]

    def change(value: object, left: list[int]) -> object:
        left[0] -= 1
        if left[0] == 0:
            return odd[int(rng.integers(len(odd)))]
        if isinstance(value, dict):
            return {k: change(v, left) for k, v in value.items()}
        return [change(v, left) for v in value] if isinstance(value, list) else value

    record = json.loads(text)
    return json.dumps(change(record, [int(rng.integers(1, 60))]))


def use_model(path: Path) -> str | None:
    """What is wrong with a model that was read: it must answer in probabilities, and be saved."""
    model: object = cp.load(path)
    if hasattr(model, "query"):
        names = model.schema.names
        target = names[-1] if is_classifier(model) else names[0]
        answer = model.query(target)
        shares = np.asarray(answer.probabilities, dtype=float)
        if not np.isfinite(shares).all() or abs(shares.sum() - 1) > 1e-6 or shares.min() < 0:
            return f"P({target!r}) = {shares}"
        joint = not is_classifier(model) and hasattr(model, "sample")
        if joint and model.sample(2, random_state=0).n_rows != 2:
            return "a sample of two rows has another number of rows"
    cp.tools.model_links(model)
    repr(model)
    model.save(path.with_name("again.cp"))
    cp.load(path.with_name("again.cp"))
    return None


def use_table(path: Path) -> str | None:
    """What is wrong with a table that was read."""
    if path.suffix in BLOCKS and path.stat().st_size % 3 == 0:
        with suppress(cp.CounterpaneError):
            cp.FileSource(path, discretize="quantile").counts([[0]])
    table = cp.read(path)
    if isinstance(table, cp.Table):
        codes, cards = table.codes, table.schema.cards
        if (codes > cards[:, None]).any() or codes.shape[1] != table.n_rows:
            return "codes beyond their states"
        repr(table)
    else:
        table.counts([[0]])
    return None


def made_up(seed: int) -> tuple[str, bytes]:
    """The name and the bytes of one made-up file."""
    rng = np.random.default_rng([seed, 7])
    files = sound_files()
    name, data = files[int(rng.integers(len(files)))]
    if name.endswith(".cp") and rng.random() < 0.85:
        data = mutated_native(rng, data)
    elif name.endswith(".xlsx") and rng.random() < 0.9:
        data = mutated_archive(rng, data)
    elif not name.endswith(BINARY) and rng.random() < 0.75:
        data = mutated_text(rng, data)
    else:
        data = mutated(rng, data)
    if rng.random() < 0.05 and not name.endswith((".parquet", ".feather", ".xlsx")):
        name, data = f"{name}.gz", gzip.compress(data, 1)
        data = mutated(rng, data) if rng.random() < 0.3 else data
    return name, data


def try_once(seed: int) -> str | None:
    """What is wrong with how one made-up file is treated; None if nothing is."""
    name, data = made_up(seed)
    path = scratch() / name
    path.write_bytes(data)
    use = use_table if name.startswith("t.") else use_model
    label = f"file {name}, seed {seed}"
    began = time.process_time()
    fault = judge(label, lambda: use(path))
    if fault is not None and "takes more than" in fault and time.process_time() - began < 5:
        # Other programs had the processor: a second time with more patience.
        fault = judge(label, lambda: use(path), 120.0)
    return fault
