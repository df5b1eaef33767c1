"""One learner of each family on every kind of source: the same model, scans and seconds.

A table of 20,000 rows and 8 columns is drawn from a network, and stored in files, an object store
(moto's server), Delta, Iceberg, DuckDB, and on Dask and Spark, in this process and over Connect.
Models are compared byte by byte with those of memory. `python benchmarks/sources.py`
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import counterpane as cp
from counterpane.models.arrays import arrays_of
from counterpane.tools import model_links
from harness import commit, publish

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from contract import spark_cluster

ROWS, CLASS = 20_000, "x3"
FAMILIES: dict[str, Callable[[], Any]] = {
    "network": lambda: cp.StructureSearch("bic", random_state=0),
    "posterior": lambda: cp.ExactPosterior("bdeu"),
    "classifier": lambda: cp.TAN(),
    "independence": lambda: cp.GSIMN(test="g2"),
    "markov": lambda: cp.PairwiseMarkovLearner(k=2),
    "dependency": lambda: cp.DependencyNetworkLearner(min_count=20),
    "hybrid": lambda: cp.HybridRandomFieldLearner(),
}


def draw_rows() -> pa.Table:
    """Rows of a network of eight columns with two or three states."""
    rng = np.random.default_rng(0)
    cards, parents = (2, 3, 2, 3, 2, 2, 3, 2), ((), (0,), (0, 1), (2,), (1,), (3, 4), (5,), (2, 6))
    codes = np.zeros((len(cards), ROWS), dtype=np.int32)
    for v, (card, above) in enumerate(zip(cards, parents, strict=True)):
        place = np.zeros(ROWS, dtype=int)
        for u in above:
            place = place * cards[u] + codes[u]
        shares = rng.dirichlet(np.ones(card), place.max() + 1)[place]
        codes[v] = (rng.random(ROWS)[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return pa.table({f"x{v}": pa.array(c) for v, c in enumerate(codes)})


def fitted(make: Callable[[], Any], source: Any) -> dict[str, Any]:
    """What a learner finds, as bytes."""
    learner = make()
    learner.fit(source, CLASS) if hasattr(learner, "predict_proba") else learner.fit(source)
    arrays = {name: a.tobytes() for name, a in arrays_of(learner.model_).items()}
    return {"schema": learner.model_.schema, "links": repr(model_links(learner.model_)), **arrays}


@contextmanager
def object_store(rows: pa.Table) -> Iterator[str]:
    """The URL of a folder of two parquet files on moto's server."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ.update(
        AWS_ACCESS_KEY_ID="reader", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1",
        AWS_ENDPOINT_URL=f"http://{host}:{port}", AWS_EC2_METADATA_DISABLED="true",
    )  # fmt: skip
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
    client.create_bucket(Bucket="visits")
    for i in range(2):
        body = io.BytesIO()
        pq.write_table(rows.slice(i * ROWS // 2, ROWS // 2), body, row_group_size=5000)
        client.put_object(Bucket="visits", Key=f"rows/{i}.parquet", Body=body.getvalue())
    yield "s3://visits/rows"
    server.stop()


def sources(rows: pa.Table, folder: Path, stack: ExitStack) -> Iterator[tuple[str, Any]]:
    """Names of sources, and what makes a fresh one."""
    import dask.dataframe as dd
    import deltalake
    import duckdb
    from pyiceberg.catalog.sql import SqlCatalog

    files = folder / "files"
    files.mkdir()
    for i in range(2):
        part = rows.slice(i * ROWS // 2, ROWS // 2)
        pq.write_table(part, files / f"{i}.parquet", row_group_size=5000)
    yield "memory", lambda: cp.MemoryCounts(cp.Table.from_frame(rows))
    yield "parquet files", lambda: cp.FileSource(files, cache=False)
    yield "Arrow dataset", lambda: cp.FrameSource(ds.dataset(files), cache=False)
    url = stack.enter_context(object_store(rows))
    yield "S3", lambda: cp.FileSource(url, cache=False)
    deltalake.write_deltalake(folder / "delta", rows)
    delta = deltalake.DeltaTable(folder / "delta")
    yield "Delta", lambda: cp.FrameSource(delta, cache=False)
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    iceberg = catalog.create_table("n.rows", schema=rows.schema)
    iceberg.append(rows)
    yield "Iceberg", lambda: cp.FrameSource(iceberg, cache=False)
    connection = duckdb.connect()
    connection.register("visits", rows)
    yield "DuckDB relation", lambda: cp.FrameSource(connection.table("visits"), cache=False)
    frame = dd.from_pandas(rows.to_pandas(), npartitions=4)
    yield "Dask", lambda: cp.DaskSource(frame)
    spark = stack.enter_context(spark_cluster.cluster())
    plain = spark.read.parquet(str(files)).where("x0 >= 0")
    yield "Spark, data frame", lambda: cp.SparkSource(plain)
    yield "Spark, files", lambda: cp.SparkSource(files, spark=spark)
    remote = spark_cluster.connect(spark)
    stack.callback(remote.stop)
    far = remote.read.parquet(str(files)).where("x0 >= 0")
    yield "Spark Connect, data frame", lambda: cp.SparkSource(far)
    yield "Spark Connect, files", lambda: cp.SparkSource(files, spark=remote)


def main() -> None:
    """Measure, and write the results."""
    warnings.simplefilter("ignore")
    commit()  # of the tree as it is now
    rows, expected, details, different = draw_rows(), {}, [], 0
    for learner in FAMILIES.values():  # imports are not timed
        fitted(learner, cp.MemoryCounts(cp.Table.from_frame(rows)))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name, make in sources(rows, Path(folder), stack):
            line: dict[str, Any] = {"source": name, "same": 0}
            for family, learner in FAMILIES.items():
                began = time.perf_counter()
                source = make()
                model = fitted(learner, source)
                line[f"{family} s"] = round(time.perf_counter() - began, 2)
                if hasattr(source, "n_scans"):
                    line[f"{family} scans"] = source.n_scans
                same = model == expected.setdefault(family, model)
                line["same"] += same
                different += not same
            details.append(line)
            print(line, flush=True)
    publish(
        "sources",
        [
            {"what": "families of learners", "value": len(FAMILIES), "unit": ""},
            {"what": "kinds of sources", "value": len(details), "unit": ""},
            {"what": "models that differ from memory's", "value": different, "unit": "",
             "limit": 0},
        ],
        details,
    )  # fmt: skip


if __name__ == "__main__":
    main()
