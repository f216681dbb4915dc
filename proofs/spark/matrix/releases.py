"""Every feature answers on every release of Spark as it does without Spark, unless `DIFFERENCES` has
it; what is listed there must really fail.

Runs `feature_probes` on every release of `spark_releases`, each in an environment of its own.
"""

import json
import tempfile
from pathlib import Path

import spark_releases
from checkout import PROOFS, SUPPORT
from spark_releases import RELEASES

from spark.matrix.feature_probes import FEATURES, NEEDS

QUICK = (next(iter(RELEASES)), [*RELEASES][-1])
"""Releases of the quick form: the oldest, and the installed one."""

DIFFERENCES = {
    (
        "3.5",
        "sql_named_arguments",
    ): "arguments of Python functions have names in SQL from Spark 4.0 on",
    ("3.5", "data_source"): "Python data sources came with Spark 4.0",
    ("3.5", "sql_null_struct"): "a struct of nulls instead",
    ("4.0", "sql_null_struct"): "a struct of nulls instead",
}
"""What is documented not to work; it must really fail."""


def matrix(report, is_quick):
    """Ask all releases, and print one table."""
    answers = {}
    for name in QUICK if is_quick else RELEASES:
        answers[name] = asked(name, [])
        if not is_quick and connectors(name):
            answers[name] |= asked(name, connectors(name))
    report.head(("", *(RELEASES[name].version for name in answers)))
    for feature in FEATURES:
        if any(feature.__name__ in found for found in answers.values()):
            cells = [cell(name, feature.__name__, found) for name, found in answers.items()]
            report.row(feature.__doc__.splitlines()[0], *cells)
    for text in failures(answers):
        report.fault(text)


def connectors(name):
    """Connectors that are published for a release."""
    return [one for one in ("delta", "iceberg") if getattr(RELEASES[name], one)]


def asked(name, with_connectors):
    """The answers of a release by feature; a release that does not get so far has one, to
    "session".
    """
    environment = spark_releases.variables(name, PROOFS, SUPPORT, SUPPORT.parent)
    with tempfile.TemporaryDirectory() as folder:
        settings = {}
        if with_connectors:
            settings = spark_releases.settings(
                name, *with_connectors, warehouse=Path(folder, "warehouse")
            )
        command = [
            "-m",
            "spark.matrix.feature_probes",
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
                yield f"{release} {name}: {' '.join(error.split())}"
            if name in found and error is None and listed:
                yield f"{release} {name}: works, but is listed as a difference"


def cell(release, name, found):
    """What the table says of a feature."""
    if name not in found:
        missing = name in NEEDS and not NEEDS[name] & set(connectors(release))
        return "none published" if missing else "not asked"
    if "error" not in found[name]:
        return f"{found[name]['compared']:,}"
    return "differs" if (release, name) in DIFFERENCES else "**fails**"
