"""Kafka's own assignors on the same histories, and their times: the programs of ``java``."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from java_driver import JavaFailed, JavaMissing, command, jars, maven_classpath, run

from movement.groups import History
from movement.replay import Owners

PROJECT = Path(__file__).resolve().parent / "java"


def why_missing() -> str | None:
    """Why the programs cannot run on this machine; None if they can."""
    try:
        maven_classpath(PROJECT)
    except JavaMissing as missing:
        return str(missing)
    return None


def version() -> str:
    """Release of the jars."""
    name = next(Path(jar).name for jar in jars(PROJECT) if "kafka-clients" in jar)
    return name.removeprefix("kafka-clients-").removesuffix(".jar")


def kafka_owners(assignor: str, n_queues: int, histories: Sequence[History]) -> Iterator[Owners]:
    """Owners of each history as the assignor gives them, each history from its own start: as
    `replay.engine_owners`.
    """
    command_line = _command("Replay", assignor)
    given = b"".join([_numbers([len(histories)]), *(_encoded(n_queues, one) for one in histories)])
    done = subprocess.run(command_line, input=given, capture_output=True)
    if done.returncode:
        raise JavaFailed(
            f"Kafka's {assignor} failed; its last lines:\n{done.stderr.decode()[-2000:]}"
        )
    answers, start = np.frombuffer(done.stdout, ">i4"), 0
    for history in histories:
        size = len(history.steps) * n_queues
        yield answers[start : start + size].reshape(-1, n_queues).astype(np.int32)
        start += size


def kafka_times(
    assignor: str, shapes: Sequence[str], warm_seconds: float, rounds: int
) -> dict[str, tuple[float, float]]:
    """Nanoseconds of one call by shape: of members that own nothing, and after one of them has
    left.
    """
    text = run(
        _command("Speed", str(warm_seconds), str(rounds), assignor, *shapes),
        f"timing Kafka's {assignor}",
    )
    rows = (line.split() for line in text.splitlines())
    return {shape: (float(first), float(leave)) for shape, first, leave in rows}


def _command(program: str, *arguments: str) -> list[str]:
    return [
        command("java"),
        "-cp",
        maven_classpath(PROJECT),
        f"io.rmqalloc.movement.{program}",
        *arguments,
    ]


def _numbers(numbers: Sequence[int]) -> bytes:
    return np.array(numbers, ">i4").tobytes()


def _encoded(n_queues: int, history: History) -> bytes:
    """A history as ``Replay.java`` reads it."""
    texts = [one.encode() for one in history.client_ids]
    ids = b"".join(len(text).to_bytes(2, "big") + text for text in texts)
    steps = [number for clients in history.steps for number in (len(clients), *clients)]
    return _numbers([n_queues, len(texts)]) + ids + _numbers([len(history.steps), *steps])
