"""Memory and descriptors of the process that looks, over many readings while clients come and go."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import NamedTuple

from clusters.everyday.looking import Look, Looker
from clusters.everyday.script import GROUPS, Act
from clusters.everyday.stage import Stage

CHURNS_EVERY = 10
"""Readings between a join and the leave of the same client, and then the next join, each with an id of its own."""
WARM = 0.1
"""Share of the readings until everything is loaded and every cache is full."""
MORE_MIB = 8.0
MORE_SHARE = 0.05


class Sample(NamedTuple):
    """What the process holds after so many readings."""

    n_readings: int
    rss_mib: float
    n_descriptors: int


class Flatness(NamedTuple):
    """All samples, and what the readings were."""

    samples: tuple[Sample, ...]
    looks: tuple[Look, ...]
    n_churned: int

    @property
    def warm(self) -> Sample:
        """The sample after the warm-up."""
        return next(
            one for one in self.samples if one.n_readings >= WARM * self.samples[-1].n_readings
        )

    @property
    def wrong(self) -> list[str]:
        """What is not flat."""
        warm, last = self.warm, self.samples[-1]
        most = warm.rss_mib * (1 + MORE_SHARE) + MORE_MIB
        wrong = []
        if last.rss_mib > most:
            wrong.append(
                f"memory grew from {warm.rss_mib:.1f} to {last.rss_mib:.1f} MiB; {most:.1f} are allowed"
            )
        if last.n_descriptors > warm.n_descriptors:
            wrong.append(f"descriptors grew from {warm.n_descriptors} to {last.n_descriptors}")
        return wrong


def measured(looker: Looker, stage: Stage, n_readings: int) -> Flatness:
    """Wait for so many readings; every few a client joins or leaves."""
    looker.taken()
    samples, odd = [_sample(0)], list[Look]()
    n, n_churned, member = 0, 0, ""
    while n < n_readings:
        looker.wait_for(min(CHURNS_EVERY, n_readings - n))
        looks = looker.taken()
        n += len(looks)
        odd += [one for one in looks if one.failed or one.differences]
        stage.forget()
        samples.append(_sample(n))
        group = list(GROUPS)[n_churned // 2 % len(GROUPS)]
        act = (
            Act("leave", 0, group, member) if member else Act("join", 0, group, f"flat{n_churned}")
        )
        stage.do(-1, act, lambda _: None)
        member, n_churned = ("" if member else act.member), n_churned + 1
    return Flatness(tuple(samples), tuple(odd), n_churned)


def _sample(n_readings: int) -> Sample:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Sample(
        n_readings, pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(os.listdir("/proc/self/fd"))
    )
