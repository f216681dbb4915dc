"""The recipes of docs/spark-sql.md through beeline: ``python -m sql_transcript [--quick] [--report
FILE]``.

A server of `spark_udfs.sql_server` is started on a fleet, and every statement is given to the real
beeline. Fails if one fails or answers nothing. The program ``spark-sql`` is asked once, without the
server.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark
import tied
from checkout import ROOT
from page_blocks import blocks_of
from programs import QUICK_START, environment
from server_ports import free_ports

from rmqalloc.cli import main as rmqalloc
from spark_udfs.sql_server import statements

PAGE = ROOT / "docs" / "spark-sql.md"
HEAD = """# SQL recipes through beeline

The statements of [SQL recipes](../../docs/spark-sql.md) and what beeline, Spark's client of JDBC, prints at
`python -m spark_udfs.sql_server` on PySpark {version}. Made by `make evidence` (`proofs/sql_transcript.py`), which fails
if a statement fails or answers nothing.
"""
SPARK_SQL = "SELECT rmq_allocate(4, 3, 'AVG')"
QUICK = 4
MANY = 12
"""Lines of an answer that are shown at most; columns of a plan are many, so lines are cut as well."""


def recipes():
    """Statements of the page with the heading that each stands under."""
    text, found = PAGE.read_text(encoding="utf-8"), []
    for block in blocks_of(text):
        if block.language == "sql":
            heading = text[: block.start].rpartition("\n## ")[2].partition("\n")[0]
            found += [(heading, statement) for statement in statements(block.text)]
    return found


def program(name, *words, **how):
    """Run one of Spark's own programs."""
    home = Path(pyspark.__file__).parent
    variables = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": QUICK_START,
    }
    command = [str(home / "bin" / name), *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=variables, **how
    )


@contextlib.contextmanager
def served(folder, port, *words):
    """A server that works in a folder, once it listens; terminated at the end, as a service is."""
    command = [
        sys.executable,
        "-m",
        "spark_udfs.sql_server",
        "--master",
        "local[2]",
        "--port",
        str(port),
        *words,
    ]
    command += ["--conf", "spark.driver.memory=1g", "--conf", "spark.sql.shuffle.partitions=2"]
    log = folder / "server.log"
    with (
        log.open("w") as errors,
        tied.popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()
        ) as server,
    ):
        try:
            said = server.stdout.readline()
            assert said.startswith("listening"), said + log.read_text(encoding="utf-8")
            yield server
        finally:
            server.terminate()
            server.wait(60)


def transcript(folder, asked):
    """Statements and their answers, as lines of a page."""
    assert (
        rmqalloc(
            [
                "generate",
                "--units",
                "500",
                "--seed",
                "1",
                "--files",
                "1",
                "--out",
                str(folder / "fleet"),
            ]
        )
        == 0
    )
    port = free_ports(1)
    with served(folder, port):
        address, last = f"jdbc:hive2://127.0.0.1:{port}/", None
        for heading, statement in asked:
            done = program(
                "beeline",
                "-u",
                address,
                "--silent=true",
                "--outputformat=table",
                "-e",
                f"{statement};",
            )
            assert done.returncode == 0, f"{statement}\n{done.stdout}{done.stderr}"
            assert statement.startswith("CREATE") or done.stdout.count("\n|") > 1, (
                f"no answer: {statement}"
            )
            if heading != last:
                yield f"\n## {heading}\n"
            last = heading
            yield f"\n```text\nbeeline> {statement};\n{shortened(done.stdout)}```\n"
    yield "\n## The program spark-sql\n\nIt runs no Python driver that could register a function:\n"
    done = program("spark-sql", "--driver-memory", "1g", "-e", SPARK_SQL, cwd=folder)
    said = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if "[" in line and "resolve" in line.lower()
    ]
    assert done.returncode != 0 and said, done.stdout + done.stderr
    yield f'\n```text\n$ spark-sql -e "{SPARK_SQL}"\n{said[0]}\n```\n'


def shortened(answer):
    """At most `MANY` lines of an answer, each as wide as a page."""
    lines = [
        line if len(line) <= 150 else f"{line[:147]}..." for line in answer.strip("\n").splitlines()
    ]
    more = [f"... {len(lines) - MANY} lines more"] if len(lines) > MANY else []
    return "".join(f"{line}\n" for line in lines[:MANY] + more if line)


def _main():
    parser = argparse.ArgumentParser(
        prog="python -m sql_transcript", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK} statements")
    parser.add_argument("--report", type=Path, help="page to write")
    given = parser.parse_args()
    asked = recipes()[: QUICK if given.quick else None]
    with tempfile.TemporaryDirectory() as folder:
        page = HEAD.format(version=pyspark.__version__) + "".join(transcript(Path(folder), asked))
    if given.report:
        given.report.write_text(page, encoding="utf-8")
    print(page if not given.report else f"{len(asked)} statements answered")


if __name__ == "__main__":
    _main()
