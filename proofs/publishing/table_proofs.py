"""Plans in Delta and Iceberg tables: drivers in threads of one session (`table_runs`), and drivers that are processes."""

import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import spark_releases
from checkout import PROOFS, SUPPORT

CATALOGS = {"delta": "default", "iceberg": "ice.db"}
FEW = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # A table of a few files has no need of fifty tasks to be looked at.
    "spark.databricks.delta.snapshotPartitions": "1",
}
PROGRAM = Path(__file__).with_name("table_runs.py")
FOLDERS = (PROOFS, SUPPORT, SUPPORT.parent)
WHOLE = [[40], [2]]
NOTHING = [[], []]


class Release:
    """One release of Spark with the connectors that there are for it, and tables of its own."""

    def __init__(self, name, where):
        self.name, self.where = name, Path(where) / name
        self.connectors = [one for one in CATALOGS if getattr(spark_releases.RELEASES[name], one)]
        self.where.mkdir()
        settings = spark_releases.settings(name, *self.connectors, warehouse=self.where) | FEW
        (self.where / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def run(self, *arguments):
        """The program to its end: what it prints last, or None if it was killed."""
        command = [PROGRAM, self.where / "settings.json", *arguments]
        how = {"capture_output": False, "stdout": subprocess.PIPE, "cwd": self.where, "timeout": 7200}
        with open(self.where / "log.txt", "a", encoding="utf-8") as log:
            done = spark_releases.run(self.name, *command, folders=FOLDERS, stderr=log, **how)
        if done.returncode not in (0, -signal.SIGKILL):
            raise RuntimeError(f"{done.stdout}{causes((self.where / 'log.txt').read_text(encoding='utf-8'))}")
        *notes, answer = done.stdout.splitlines() or [""]
        print(*notes, sep="\n", end="\n" if notes else "", flush=True)
        return json.loads(answer) if not done.returncode else None


def causes(log):
    """What ended a program of Java: each cause once, which is often far from the end, and then the end."""
    found = dict.fromkeys(line.strip()[:500] for line in log.splitlines() if line.lstrip().startswith("Caused by: "))
    return "\n".join([*found, log[-3000:]])


def prove(proof, names, every, every_process):
    """Add to a proof what is found on some releases; ``every_process`` 0 leaves out the drivers that are processes."""
    for name in names:
        release = Release(name, proof.where)
        catalogs = [CATALOGS[one] for one in release.connectors]
        told = release.run("threads", str(every), *catalogs)
        for connector, found in zip(release.connectors, told["found"], strict=True):
            label = f"{connector.capitalize()} on Spark {name}"
            proof.lost += found["lost"]
            proof.half += found["half"]
            proof.twice += found["twice"]
            proof.looks += found["looks"]
            proof.rows += [(f"{label}: {what}", n, seconds) for what, n, seconds in found["rows"]]
        if every_process:
            for connector in release.connectors:
                _killed(proof, release, connector, range(1, len(told["steps"]) + 1, every_process))
                _at_once(proof, release, connector)


def _killed(proof, release, connector, points):
    """The driver's process is killed at a step, and the same command runs again."""
    started = time.monotonic()
    for at in points:
        table = f"{CATALOGS[connector]}.p{at}"
        assert release.run("driver", table, str(at)) is None
        again = release.run("driver", table, "0")
        proof.half += again["before"] not in (NOTHING, WHOLE)
        proof.lost += again["after"] != WHOLE
        proof.looks += 2
    proof.note(
        f"{connector.capitalize()} on Spark {release.name}: the driver's process killed (SIGKILL)", len(points), started
    )


def _at_once(proof, release, connector):
    """Two drivers, each with a session of its own; Delta's log on a disk is not made for that, as Iceberg's is."""
    if connector == "delta":
        return
    started = time.monotonic()
    table = f"{CATALOGS[connector]}.both"
    with ThreadPoolExecutor(2) as pool:
        for told in pool.map(lambda _: release.run("driver", table, "0"), range(2)):
            proof.lost += told["after"] != WHOLE
            proof.half += told["before"] not in (NOTHING, WHOLE)
    proof.looks += 2
    proof.note(f"Iceberg on Spark {release.name}: two drivers' processes at once", 1, started)
