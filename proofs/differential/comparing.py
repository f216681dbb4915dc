"""Runs sequences of one half through one release and through the product, and compares after every
event.
"""

import importlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Queue
from random import Random
from threading import Thread
from typing import Any

import tied
from java_driver import PROJECT as WITNESS
from java_driver import JavaFailed, command, maven_classpath

from differential.compared_releases import RELEASES, Release
from differential.corner import Seen
from differential.tolerated import TOLERATED

PROJECT = WITNESS / "differential"
AHEAD = 64
"""Sequences that wait for Java at a time."""
FEW = 5
"""Differences that are kept as text."""


@dataclass
class Totals:
    """What came of a run of one half against one release; `met` counts tolerated corners by name."""

    half: str
    version: str
    sequences: int = 0
    events: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    differences: int = 0
    first: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)


def compare(half: str, version: str, n_sequences: int, seed: int, short: bool = False) -> Totals:
    """Sequences of the seeds ``seed`` to ``seed + n_sequences - 1``; a difference ends its
    sequence.

    Those of the client half come in two lengths.

    Raises
    ------
    JavaFailed
        The Java side could not go on, or is not there.
    """
    module, release = (
        importlib.import_module(f"differential.{half.replace(' ', '_')}_half"),
        RELEASES[version],
    )
    totals = Totals(half, version)
    made: Queue[tuple[int, dict[str, Any]]] = Queue(AHEAD)
    with java(half, version) as process:
        Thread(
            target=_feed,
            args=(process, module, release, range(seed, seed + n_sequences), short, made),
            daemon=True,
        ).start()
        for _ in range(n_sequences):
            number, sequence = made.get()
            answer = json.loads(process.stdout.readline() or '{"failure": "the process has ended"}')
            if "failure" in answer:
                raise JavaFailed(f"{half} half of {version}, seed {number}: {answer['failure']}")
            _compare_sequence(
                totals, module.Twin(sequence["config"], release), number, sequence, answer["after"]
            )
    return totals


@contextmanager
def java(half: str, version: str) -> Iterator[Any]:
    """The Java side, waiting for lines."""
    # BrokerController names many classes that are not here: to be verified it would need them all.
    loose = ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]
    small = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m"]
    arguments = [*loose, *small, "-cp", maven_classpath(PROJECT, version)]
    process = tied.popen(
        [command("java"), *arguments, "io.rmqalloc.differential.Main", half.split()[-1]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="ascii",
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                continue


def _feed(
    process: Any,
    module: Any,
    release: Release,
    seeds: range,
    short: bool,
    made: Queue[tuple[int, dict[str, Any]]],
) -> None:
    """A thread of its own: neither side may wait for the other with both pipes full."""
    for seed in seeds:
        sequence = module.sequence(Random(seed), release, short)
        made.put((seed, sequence))
        try:
            process.stdin.write(json.dumps({"seed": seed, **sequence}) + "\n")
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            continue  # it has ended, which whoever waits for the answer tells


def _compare_sequence(
    totals: Totals, twin: Any, seed: int, sequence: dict[str, Any], answers: list[Any]
) -> None:
    totals.sequences += 1
    for index, (event, java_side) in enumerate(zip(sequence["events"], answers, strict=True)):
        if "cut" in java_side:
            totals.cut[java_side["cut"]] += 1
            return
        totals.events += 1
        totals.kinds[event["kind"]] += 1
        product = twin.after(event)
        if java_side == product:
            continue
        release = RELEASES[totals.version]
        seen = Seen(release, sequence["config"], sequence["events"], index, java_side, product)
        passed, ends = _let_pass(totals, seen)
        if not passed:
            totals.differences += 1
            if len(totals.first) < FEW:
                totals.first.append(_told(totals, seed, seen))
        if ends or not passed:
            return


def _let_pass(totals: Totals, seen: Seen) -> tuple[bool, bool]:
    """Whether tolerated corners explain all of a difference, and whether one of them ends the
    sequence.
    """
    met = []
    for corner in TOLERATED:
        if not corner.may_be_met(totals.half, totals.version):
            continue
        java_side, product = corner.evened(seen)
        if (java_side, product) != (seen.java, seen.product):
            met.append(corner)
            seen = seen._replace(java=java_side, product=product)
        if java_side == product:
            totals.met.update(one.name for one in met)
            return True, any(one.ends for one in met)
    return False, True


def _told(totals: Totals, seed: int, seen: Seen) -> str:
    """A difference as text; of two dicts, the keys in which they differ."""
    if isinstance(seen.java, dict) and isinstance(seen.product, dict):
        keys = [
            key for key in seen.java | seen.product if seen.java.get(key) != seen.product.get(key)
        ]
        seen = seen._replace(
            java={key: seen.java.get(key) for key in keys},
            product={key: seen.product.get(key) for key in keys},
        )
    return (
        f"{totals.half} half, {totals.version}, seed {seed}, event {seen.index}: {json.dumps(seen.event)}\n"
        f"  config: {json.dumps(seen.config)}\n"
        f"  Java:    {json.dumps(seen.java)}\n"
        f"  product: {json.dumps(seen.product)}"
    )
