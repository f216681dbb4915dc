"""Runs of several halves and releases, side by side."""

import logging
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from java_driver import maven_classpath

from differential.comparing import PROJECT, Totals, compare


def run(
    halves: Sequence[str], versions: Sequence[str], n_sequences: int, seed: int, short: bool = False
) -> list[Totals]:
    """Totals of each half and release, in that order; every run is a process of its own, as many at
    a time as there are cores.

    Raises
    ------
    JavaMissing, JavaFailed
        As of `maven_classpath` and `compare`.
    """
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda version: maven_classpath(PROJECT, version), versions))
    wanted = [(half, version, n_sequences, seed, short) for half in halves for version in versions]
    # Nobody reads what the product logs, and to write it takes time.
    with ProcessPoolExecutor(
        cores, multiprocessing.get_context("spawn"), logging.disable
    ) as processes:
        return list(processes.map(compare, *zip(*wanted, strict=True)))
