"""A running ``rmqalloc serve``, and all that it shows at a moment."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import chromium
import tied
from programs import environment

from rmqalloc.history import History

EVERY = 2.0
"""Seconds between readings of the service."""
FAKED = "/usr/lib/*/faketime/libfaketimeMT.so.1"
"""The library that gives one process another clock: the Debian package faketime."""
_SAMPLE = re.compile(r"(rmqalloc_\w+)\{([^}]*)\} (\S+)")
_STATE = re.compile(r'<p id="state">(.*?)</p>', re.S)
_TAG = re.compile(r"<[^>]*>")


class Answer(NamedTuple):
    """An answer over HTTP."""

    status: int
    text: str

    @property
    def document(self) -> Any:
        """The answer as JSON."""
        return json.loads(self.text)


class Shown(NamedTuple):
    """All that the service shows at one moment, in short."""

    page: str
    metrics: str
    ready: str
    status: str
    findings: frozenset[str]
    guard: str
    after: str
    history: str
    down: frozenset[str]
    departed: frozenset[tuple[str, str]]


class Watched:
    """A service with a history, at a port of loopback.

    Parameters
    ----------
    port : int
    history, clock : path
        The file of its history, and the file that says how far its clock is off.
    """

    def __init__(self, port: int, history: Path, clock: Path) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._history, self._clock = history, clock
        self._n_events = 0

    def ask(self, path: str) -> Answer:
        """Ask the service."""
        try:
            with urllib.request.urlopen(self._url + path, timeout=60) as answer:
                return Answer(answer.status, answer.read().decode())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read().decode())

    def set_clock(self, seconds: int) -> None:
        """Put the clock of the service ahead of the machine's, or behind it."""
        self._clock.write_text(f"{seconds:+d}\n", encoding="utf-8")

    def wait_for(self, n_readings: int) -> None:
        """Wait until so many more readings have ended, well or not."""

        def n() -> int:
            answer = self.ask("/v1/status")
            document = answer.document if answer.status == 200 else {}
            return int(document.get("n_read", 0)) + int(document.get("n_failed", 0))

        wanted, deadline = n() + n_readings, time.monotonic() + 120
        while n() < wanted and time.monotonic() < deadline:
            time.sleep(EVERY / 4)

    def shown(self, client_id: str) -> Shown:
        """Return all that it shows now."""
        status = self.ask("/v1/status").document
        samples = _SAMPLE.findall(self.ask("/metrics").text)
        found = self.ask("/v1/check").document
        ready = self.ask("/readyz")
        guard = self.ask(f"/v1/guard?stop={client_id}").document
        departed = self.ask("/v1/snapshot").document.get("departed", ())
        down = frozenset(
            _label(labels, "source")
            for name, labels, value in samples
            if name == "rmqalloc_source_up" and float(value) == 0
        )
        return Shown(
            page=self._page(),
            metrics=_metrics(samples),
            ready=f"{ready.status}{'' if ready.status == 200 else ' ' + ready.document['detail']}",
            status=str(status.get("error")),
            findings=frozenset(finding["rule"] for finding in found["findings"]),
            guard=guard.get("verdict", guard.get("detail", "")),
            after="",
            history=self._events(),
            down=down,
            departed=frozenset((left["kind"], left["cause"]) for left in departed),
        )

    def _page(self) -> str:
        """Return the line of the page that says from when the data are."""
        browser = chromium.find()
        if browser is None:
            return "no browser"
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000")
        command = [browser, *flags, "--dump-dom", self._url]
        out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        line = _STATE.search(out.stdout)
        return _TAG.sub(" ", line[1]).replace("Reload", "").strip() if line else "nothing"

    def _events(self) -> str:
        """Return the new events of the history, without those of clients and their queues."""
        rows = History(self._history).events().events.to_pylist()
        new, self._n_events = rows[self._n_events :], len(rows)
        texts = []
        for row in new:
            if row["event"] not in ("joined", "left", "moved", "settled"):
                subject = row["rule"] or row["broker_name"] or row["topic"] or row["message"] or ""
                texts.append(f"{row['event']} {subject}".strip())
        return ", ".join(dict.fromkeys(texts))


def _label(labels: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', labels)
    return found[1] if found else ""


def _metrics(samples: list[tuple[str, str, str]]) -> str:
    """Return the samples that say how fresh the data are, and what is down or left."""
    found = []
    for name, labels, value in samples:
        if name == "rmqalloc_reading_age_seconds":
            found.append(f"age {float(value):.0f}")
        elif name == "rmqalloc_source_up" and float(value) == 0:
            found.append(f"down {_label(labels, 'source')}")
        elif name == "rmqalloc_present":
            found.append(
                f"left {_label(labels, 'kind')} {_label(labels, 'name')} ({_label(labels, 'cause')})"
            )
    return "; ".join(found)


@contextmanager
def serving(name_server: str, home: Path) -> Iterator[Watched]:
    """Run a service of a cluster; its clock can be set where libfaketime is installed."""
    history, clock = home / "day.history", home / "clock"
    clock.write_text("+0\n", encoding="utf-8")
    more = {}
    if library := next(Path("/").glob(FAKED.lstrip("/")), None):
        more = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
    command = [
        sys.executable, "-m", "rmqalloc", "serve", "-n", name_server, "--port", "0",
        "--every", f"{EVERY:g}s", "--history", str(history),
    ]  # fmt: skip
    process = tied.popen(
        command,
        env=environment(**more),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stderr.readline()
        port = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        if port is None:
            raise AssertionError(line + process.stderr.read())
        yield Watched(int(port[1]), history, clock)
    finally:
        process.kill()
        process.communicate()
