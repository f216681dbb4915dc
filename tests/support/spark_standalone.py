"""Spark's own servers on this machine, of the installed pyspark, on loopback and free ports: a
cluster, Spark Connect.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
import tied
from programs import QUICK_START

SPARK_HOME = Path(pyspark.__file__).parent
START_SECONDS = 300
STOP_SECONDS = 60


@contextmanager
def standalone(where: Path, n_workers: int = 2, memory: str = "1g") -> Iterator[str]:
    """Run a master and workers of one core each while the block runs; logs and scratch files are in
    `where`.

    Yields
    ------
    str
        The address of the master, ``spark://127.0.0.1:port``.
    """
    with ExitStack() as stack:
        ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        command = ["spark-class", "org.apache.spark.deploy.master.Master", *ports]
        server = stack.enter_context(_server(where / "master", command))
        master = server.said(r"Starting Spark master at (spark://\S+)")[1]
        places = [where / f"worker-{number}" for number in range(n_workers)]
        command = [
            "spark-class",
            "org.apache.spark.deploy.worker.Worker",
            *ports,
            "--cores",
            "1",
            "--memory",
            memory,
        ]
        for worker in [
            stack.enter_context(_server(one, [*command, "--work-dir", str(one), master]))
            for one in places
        ]:
            worker.said("Successfully registered with master")
        yield master


@contextmanager
def connect_server(
    where: Path, master: str, settings: dict[str, str], **variables: str
) -> Iterator[str]:
    """Run a Spark Connect server while the block runs; `variables` are in its environment.

    Yields
    ------
    str
        Its address, ``sc://127.0.0.1:port``.
    """
    binding = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    binding["spark.ui.enabled"] = "false"
    command = [
        "spark-submit",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master",
        master,
    ]
    command += [f"--conf={key}={value}" for key, value in (binding | settings).items()]
    with _server(
        where, [*command, "spark-internal"], SPARK_DAEMON_MEMORY="1g", **variables
    ) as server:
        yield f"sc://{server.said(r'Spark Connect server started at: (127[.]0[.]0[.]1:[0-9]+)')[1]}"


@dataclass
class _Server:
    """One of Spark's programs that runs.

    Attributes
    ----------
    process : subprocess.Popen
    log : Path
        What it prints.
    """

    process: subprocess.Popen[bytes]
    log: Path

    def said(self, ready: str) -> re.Match[str]:
        """The words in the log that say it is ready; RuntimeError with the log's end if they do not
        come.
        """
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if said := re.search(ready, self._text()):
                return said
            time.sleep(0.1)
        raise RuntimeError(
            f"Spark did not say {ready!r} in {START_SECONDS} s:\n{self._text()[-3000:]}"
        )

    def _text(self) -> str:
        return self.log.read_text(errors="replace")


@contextmanager
def _server(where: Path, command: list[str], **variables: str) -> Iterator[_Server]:
    """Run one of Spark's programs to the end of the block."""
    where.mkdir(parents=True)
    log = where / "log"
    command = [str(SPARK_HOME / "bin" / command[0]), *command[1:]]
    with log.open("wb") as out:
        # The shell script turns into Java itself, so the process that is ended is the server.
        process = tied.popen(
            command, stdout=out, stderr=out, cwd=where, env=_environment(where) | variables
        )
    try:
        yield _Server(process, log)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(where: Path) -> dict[str, str]:
    """What a server knows: nothing of the Python that the tests run in, nor of a Spark that is
    configured here.
    """
    ours = ("SPARK", "PYSPARK", "PYTHON")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **inherited,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_CONF_DIR": str(where),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(where),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Dspark.master.rest.enabled=false {QUICK_START}",
        "SPARK_SUBMIT_OPTS": QUICK_START,
    }
