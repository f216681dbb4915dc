"""Java consumers that join and leave on command: one Java process with many of them, which can also
be killed.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import tied
from java_driver import JavaFailed, command, maven_classpath
from live_cluster import PROJECT, SMALL, without_logging
from programs import environment

from rmqalloc import MessageQueue

QUICK = (
    "-Drocketmq.client.rebalance.waitInterval=1000",
    "-Drocketmq.client.rebalance.minInterval=200",
    "-Drocketmq.client.rebalance.lockInterval=1000",
    "-Drmqalloc.lookEvery=1000",
)
"""Settings of a Java client that make it look around every second rather than every twenty or thirty."""

ANSWERS_WITHIN = 180
"""Seconds to the answer of a command; it takes less than one where the machine is not busy."""

ENDS_WITHIN = 180
"""Seconds to the end of a process whose consumers all leave first."""

CLIENTS = {"4.9.8": PROJECT / "clients" / "v4", "5.3.3": PROJECT / "clients" / "v5"}
"""Where consumers of other releases are built, see ``Plain.java``."""


class Consumers:
    """A Java process whose consumers join and leave on command, see ``Consumers.java``.

    Parameters
    ----------
    name_server : str
    options : sequence of str
        Options of the Java machine, such as `QUICK`.
    project : path
        Where the program is built; `CLIENTS` has others, of other releases.
    program : str
        Its class.
    more_classes : str
        What else is on the class path.
    version : str, optional
        Release of the clients: 4.9.8, or by default what the pom says.
    """

    def __init__(
        self,
        name_server: str,
        options: Sequence[str] = QUICK,
        project: Path = PROJECT,
        program: str = "Consumers",
        more_classes: str = "",
        version: str | None = None,
    ) -> None:
        classes = os.pathsep.join([maven_classpath(project, version), more_classes])
        self._home = Path(tempfile.mkdtemp(prefix="rmqalloc-consumers-"))
        self._run([
            command("java"), *SMALL, "-Xmx512m", f"-Duser.home={self._home}", "-Drocketmq.client.logUseSlf4j=false", *options,
            "-cp", classes, f"io.rmqalloc.live.{program}", name_server,
        ])  # fmt: skip

    def _run(self, arguments: list[str], **more: Any) -> None:
        """Start the program and wait until it says that it is ready."""
        self._log = (self._home / "consumers.log").open("wb")
        self.process = tied.popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            **more,
        )
        self.changes: list[dict[str, Any]] = []
        """Every change of a consumer's queues: ``at`` (ms since the epoch) and ``owns``."""
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            self._answer()
        except JavaFailed:
            self.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def do(self, what: str, **arguments: Any) -> Any:
        """Give a command and return its answer.

        Raises
        ------
        JavaFailed
            If the command failed, or no answer came within `ANSWERS_WITHIN`.
        """
        line = json.dumps({"do": what, **arguments}) + "\n"
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode())
        answer = self._answer()
        if "failed" in answer:
            raise JavaFailed(f"{what} {arguments}: {answer['why']}")
        return answer["answer"]

    def join(self, group: str, member: str, topics: Sequence[str], **told: Any) -> str:
        """Start a consumer; returns its client id."""
        return str(
            self.do(
                "join",
                name=f"{group}/{member}",
                instance=member,
                group=group,
                topics=list(topics),
                **told,
            )
        )

    def leave(self, group: str, member: str) -> None:
        """Shut a consumer down in good order."""
        self.do("leave", name=f"{group}/{member}")

    def leave_all(self) -> None:
        """Shut every consumer down."""
        for name in self.do("show"):
            self.do("leave", name=name)

    def owns(self, group: str) -> dict[str, list[MessageQueue]]:
        """Queues of a group's consumers now, by client id."""
        shown = {name: one for name, one in self.do("show").items() if name.startswith(f"{group}/")}
        return {
            one["client_id"]: sorted(MessageQueue(*queue) for queue in one["queues"])
            for one in shown.values()
        }

    def log_lines(self) -> list[str]:
        """Return what its members have logged; Java's client writes files of its own."""
        files = [self._home / "consumers.log", *sorted(self._home.glob("logs/rocketmqlogs/*.log"))]
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
        return [line for text in texts for line in text.splitlines()]

    def kill(self) -> None:
        """End the process at once, as a machine that loses power."""
        self.process.kill()
        self._cleaned()

    def close(self) -> None:
        """End the process in good order: every consumer leaves."""
        if self.process.poll() is None and self.process.stdin is not None:
            self.process.stdin.close()
            try:
                self.process.wait(ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._cleaned()

    def _cleaned(self) -> None:
        self.process.wait(ENDS_WITHIN)
        self._listener.join(ENDS_WITHIN)
        for stream in (self.process.stdin, self.process.stdout, self._log):
            if stream is not None:
                stream.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            if "owns" in said:
                self.changes.append(said)
            else:
                self._answers.put(said)

    def _answer(self) -> dict[str, Any]:
        try:
            return self._answers.get(timeout=ANSWERS_WITHIN)
        except queue.Empty:
            log = without_logging((self._home / "consumers.log").read_text(errors="replace"))[
                -2000:
            ]
            raise JavaFailed(f"the Java consumers do not answer; they said last:\n{log}") from None


class WireConsumers(Consumers):
    """A Python process whose consumers join and leave on command, spoken to as the Java ones, see
    ``wire_consumers.py``.

    Parameters
    ----------
    name_server : str
    **settings
        Of every consumer, as `rmqalloc.client.PushConsumer` takes them.
    """

    def __init__(self, name_server: str, **settings: Any) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="rmqalloc-consumers-"))
        program = Path(__file__).with_name("wire_consumers.py")
        more = {
            "env": environment(HOME=str(self._home))
        }  # offsets of broadcasting members are kept below it
        self._run([sys.executable, str(program), name_server, json.dumps(settings)], **more)
