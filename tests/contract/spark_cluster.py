"""A Spark cluster of one's own: a driver and two executors, on loopback, while it is needed.

Spark's `local-cluster` starts executors as processes of their own, which can die and are replaced.
All that is written goes to one temporary folder: Spark would put the executors' files beside its
own program, so it is told that its home is a folder of links. When this process ends, in whatever
way, the pipe to the driver's JVM closes, and that ends the executors.
"""

from __future__ import annotations

import importlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import counterpane


def reason_for_absence() -> str | None:
    """Why no cluster can be started here, if none can."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed: extra [spark]"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=None if home is None else f"{home}/bin")
    return "Java is not installed: 17 or later" if java is None else None


def reason_without_connect() -> str | None:
    """Why no session over Spark Connect can be opened here, if none can."""
    for package in ("grpc", "grpc_status", "google.rpc", "zstandard"):
        try:
            importlib.import_module(package)
        except ImportError:
            return f"{package} is not installed: extra [spark]"
    return None


def free_port() -> int:
    """A port of this machine that nothing listens to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def connect(spark: Any) -> Any:
    """A session over Spark Connect to the cluster of a session, which serves both."""
    from pyspark.sql.connect.session import SparkSession

    port = spark.conf.get("spark.connect.grpc.binding.port")
    return SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()


@contextmanager
def cluster(master: str = "local-cluster[2,1,1024]") -> Iterator[Any]:
    """A session of a fresh cluster, all of which is gone at the end."""
    import pyspark
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="counterpane-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for entry in Path(pyspark.__file__).parent.iterdir():
            if entry.name in ("bin", "jars", "python", "RELEASE"):
                (folder / entry.name).symlink_to(entry)
        packages = [Path(counterpane.__file__).parents[1], Path(__file__).parents[1]]
        # Short work is faster without the second compiler and with one collector's thread.
        java = f"-Djava.io.tmpdir={folder} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        options = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.driver.extraJavaOptions": java,
            "spark.executor.extraJavaOptions": java,
            "spark.local.dir": name,
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.files.maxPartitionBytes": "200000",  # small files are split too
            "spark.sql.files.openCostInBytes": "0",
            "spark.log.level": "OFF",
            "spark.task.maxFailures": "2",  # enough for one worker that dies, and soon given up
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, packages)),
        }
        if reason_without_connect() is None:
            options |= {
                "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
                "spark.connect.grpc.binding.address": "127.0.0.1",
                "spark.connect.grpc.binding.port": str(free_port()),
            }
        builder = SparkSession.builder.master(master)
        for key, value in options.items():
            builder = builder.config(key, value)
        python = {"PYSPARK_PYTHON": sys.executable}
        with patch.dict(os.environ, SPARK_HOME=name, SPARK_LOCAL_IP="127.0.0.1", **python):
            session = builder.getOrCreate()
        try:
            yield session
        finally:
            _end(session)


def _end(session: Any) -> None:
    """Stop a session and the JVM that Spark would keep until this process ends."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)
    SparkContext._gateway = SparkContext._jvm = None
