"""``python -m spark_matrix [--quick] [--java N] [--releases 3.5,4.0] [--report F]``: what works on
which release of Spark.

Runs `feature_probes` on every release of `spark_releases`, each in an environment of its own, and
prints one table. Ends with 1 if an answer differs from that without Spark, unless `DIFFERENCES` has
it; and if something that is listed there works.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import spark_releases
from checkout import PROOFS, SUPPORT
from spark_releases import RELEASES

from spark_matrix.feature_probes import FEATURES, NEEDS

QUICK = (next(iter(RELEASES)), [*RELEASES][-1])
"""Releases of the quick form: the oldest, and the installed one."""

DIFFERENCES = {
    (
        "3.5",
        "sql_named_arguments",
    ): "arguments of Python functions have names in SQL from Spark 4.0 on",
    (
        "3.5",
        "live_plans",
    ): "its streams need pyarrow before 26, and say so; with that they are tested killed and restarted",
    ("3.5", "sql_null_struct"): "a struct of nulls instead",
    ("4.0", "sql_null_struct"): "a struct of nulls instead",
}
"""What is documented not to work; it must really fail."""

HEAD = """# Releases of Spark

`python -m spark_matrix` in proofs/. Every release runs the same program (`proofs/spark_matrix/feature_probes.py`) in an
environment of its own, on a fleet of good units and of units that are bad in every way a row can be. A number says how many
answers (rows, or values of a column) were compared with those without Spark, all equal; the sessions are `local[2]`.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the oldest and the installed release, without connectors",
    )
    parser.add_argument("--releases", help="only these, such as 3.5,4.0")
    parser.add_argument("--java", help="JAVA_HOME of another Java")
    parser.add_argument("--report", type=Path, help="write the table into this file, too")
    options = parser.parse_args()
    names = (
        options.releases.split(",") if options.releases else QUICK if options.quick else [*RELEASES]
    )
    if unknown := set(names) - RELEASES.keys():
        parser.error(
            f"unknown releases {', '.join(sorted(unknown))}; known are {', '.join(RELEASES)}"
        )
    answers, seconds = {}, {}
    for name in names:
        started = time.monotonic()
        answers[name] = asked(name, [], options.java)
        if not options.quick and connectors(name):
            answers[name] |= asked(name, connectors(name), options.java)
        seconds[name] = time.monotonic() - started
    wrong = list(failures(answers))
    text = "\n".join([*table(answers), "", *notes(answers), *wrong, times(seconds)])
    print(text)
    if options.report:
        options.report.write_text(f"{HEAD}\n{text}\n", encoding="utf-8")
    return int(bool(wrong))


def connectors(name):
    """Connectors that are published for a release."""
    return [one for one in ("delta", "iceberg") if getattr(RELEASES[name], one)]


def asked(name, with_connectors, java=None):
    """The answers of a release by feature; a release that does not get so far has one, to
    "session".
    """
    environment = spark_releases.variables(name, PROOFS, SUPPORT, SUPPORT.parent)
    if java is not None:
        environment |= {"JAVA_HOME": java, "PATH": f"{java}/bin{os.pathsep}{environment['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        settings = {}
        if with_connectors:
            settings = spark_releases.settings(
                name, *with_connectors, warehouse=Path(folder, "warehouse")
            )
        command = [
            "-m",
            "spark_matrix.feature_probes",
            folder,
            json.dumps(settings),
            *with_connectors,
        ]
        done = spark_releases.run(name, *command, timeout=1800, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = {line["feature"]: line for line in lines}
    if done.returncode:
        found["session"] = {"error": done.stderr.strip()[-600:]}
    return found


def failures(answers):
    """What is wrong: errors that are not listed, listed ones that are none, and answers that are
    missing.
    """
    for release, found in answers.items():
        for name in ["session", *(one.__name__ for one in FEATURES)]:
            listed, error = (release, name) in DIFFERENCES, found.get(name, {}).get("error")
            if error is not None and not listed:
                yield f"* **{release} {name}**: {' '.join(error.split())}"
            if name in found and error is None and listed:
                yield f"* **{release} {name}**: works, but is listed as a difference"


def table(answers):
    """Features by releases."""
    yield f"| | {' | '.join(RELEASES[name].version for name in answers)} |"
    yield "| --- |" + " ---: |" * len(answers)
    for feature in FEATURES:
        if all(feature.__name__ not in found for found in answers.values()):
            continue
        cells = [cell(name, feature.__name__, found) for name, found in answers.items()]
        yield f"| {feature.__doc__.splitlines()[0]} | {' | '.join(cells)} |"


def cell(release, name, found):
    """What the table says of a feature."""
    if name not in found:
        missing = name in NEEDS and not NEEDS[name] & set(connectors(release))
        return "none published" if missing else "not asked"
    if "error" not in found[name]:
        return f"{found[name]['compared']:,}"
    return "differs" if (release, name) in DIFFERENCES else "**fails**"


def notes(answers):
    """What the differences are."""
    titles = {feature.__name__: feature.__doc__.splitlines()[0] for feature in FEATURES}
    for (release, name), why in DIFFERENCES.items():
        if name in answers.get(release, {}):
            yield f"* {release}, {titles[name]}: {why}."


def times(seconds):
    """How long it took."""
    return "\nSeconds: " + ", ".join(f"{name} {took:.0f}" for name, took in seconds.items()) + "."


if __name__ == "__main__":
    sys.exit(main())
