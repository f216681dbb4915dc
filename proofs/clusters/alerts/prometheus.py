"""A real Prometheus on loopback, with the rules of ``deploy/``, which scrapes the service.

The program is that of the PATH, or of Debian's package, which is unpacked and not installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

import cache
import tied
import yaml
from checkout import ROOT
from live_proofs import wait_for
from server_ports import free_ports
from tools import program

RULES = ROOT / "deploy" / "prometheus" / "rules.yaml"
CONFIG = ROOT / "deploy" / "prometheus" / "prometheus.yaml"
DURATION = re.compile(r"\b(\d+)([smh])\b")
SECONDS = {"s": 1, "m": 60, "h": 3600}
READY_WITHIN = 60


class Span(NamedTuple):
    """A time in which an alert was in a state, in seconds of the Unix clock."""

    alert: str
    state: str
    labels: Mapping[str, str]
    begin: float
    end: float


class Prometheus:
    """A Prometheus that scrapes one target and evaluates the rules of ``deploy/``.

    Parameters
    ----------
    target : str
        Host and port of the service.
    pace : int
        How many times faster than in ``deploy/`` time goes: each duration is divided by it.
    """

    def __init__(self, target: str, pace: int) -> None:
        self._stack = ExitStack()
        home = Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(prefix="rmqalloc-prometheus-"))
        )
        rules = paced(RULES.read_text(encoding="utf-8"), pace)
        (home / "rules.yaml").write_text(rules, encoding="utf-8")
        config = configuration(target, pace)
        self.step = seconds_of(config["global"]["evaluation_interval"])
        (home / "prometheus.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        port = free_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        self._log = self._stack.enter_context((home / "log").open("wb"))
        self._process = tied.popen(
            [
                executable("prometheus"),
                f"--config.file={home}/prometheus.yaml",
                f"--storage.tsdb.path={home}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            cwd=home,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        wait_for(self._is_ready, "Prometheus is ready", READY_WITHIN)
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._stack.close()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False

    def series(self, query: str, begin: float, end: float) -> list[dict[str, Any]]:
        """Return the series that a query has in a time, a value for each evaluation."""
        asked = urllib.parse.urlencode(
            {"query": query, "start": begin, "end": end, "step": self.step}
        )
        url = f"{self._url}/api/v1/query_range?{asked}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    def firing(self) -> list[dict[str, str]]:
        """Return the labels of all alerts that fire now."""
        with urllib.request.urlopen(f"{self._url}/api/v1/alerts", timeout=60) as answer:
            alerts = json.load(answer)["data"]["alerts"]
        return [alert["labels"] for alert in alerts if alert["state"] == "firing"]

    def spans(self, begin: float, end: float) -> list[Span]:
        """Return when each alert was pending and when it fired."""
        found = []
        for row in self.series("ALERTS", begin, end):
            labels = dict(row["metric"])
            del labels["__name__"]
            name, state = labels.pop("alertname"), labels.pop("alertstate")
            for first, last in unbroken([float(at) for at, _ in row["values"]], self.step):
                found.append(Span(name, state, labels, first, last))
        return sorted(found, key=lambda span: span.begin)


def unbroken(times: list[float], step: float) -> list[tuple[float, float]]:
    """Return first and last time of each run without a gap."""
    runs: list[tuple[float, float]] = []
    for at in times:
        if runs and at - runs[-1][1] <= 1.5 * step:
            runs[-1] = runs[-1][0], at
        else:
            runs.append((at, at))
    return runs


def paced(text: str, pace: int) -> str:
    """Return rules whose expressions and waiting times have each duration divided by a number."""
    rules = yaml.safe_load(text)
    for group in rules["groups"]:
        for rule in group["rules"]:
            for key in ("expr", "for"):
                rule[key] = DURATION.sub(lambda found: _shorter(found, pace), rule[key])
    return str(yaml.safe_dump(rules))


def _shorter(found: re.Match[str], pace: int) -> str:
    return f"{round(1000 * seconds_of(found[0]) / pace)}ms"


def seconds_of(duration: str) -> float:
    """Return the seconds of a duration such as ``3m`` or ``500ms``."""
    if duration.endswith("ms"):
        return int(duration[:-2]) / 1000
    found = DURATION.fullmatch(duration)
    assert found is not None, duration
    return int(found[1]) * SECONDS[found[2]]


def configuration(target: str, pace: int) -> dict[str, Any]:
    """Return the configuration of ``deploy/`` with another target, and faster; loopback needs no
    token.
    """
    config: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    for name, interval in config["global"].items():
        config["global"][name] = f"{round(1000 * seconds_of(interval) / pace)}ms"
    [job] = config["scrape_configs"]
    del job["authorization"]
    job["static_configs"] = [{"targets": [target]}]
    return config


def executable(name: str) -> str:
    """Return the path of ``prometheus`` or ``promtool``."""
    found = program(name)
    return found or str(cache.folder("prometheus", ["debian"], _unpack) / "usr" / "bin" / name)


def _unpack(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as download:
        subprocess.run(["apt-get", "download", "-qq", "prometheus"], cwd=download, check=True)
        [package] = Path(download).glob("*.deb")
        subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)
