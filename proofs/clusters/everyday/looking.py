"""Readings of the cluster every second, by what the service uses; what each shows is kept, the
snapshots are not.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

from rmqalloc.service.readings import Keeper, Readings
from rmqalloc.snapshot.live.rereading import Rereader
from rmqalloc.watching import Change, Observer

EVERY = 1.0
STALLS_AFTER = 120.0


class Look(NamedTuple):
    """What one reading showed, or why it failed."""

    began_at: float
    read_at: float
    members: tuple[Change[Any, Any], ...] = ()
    moves: tuple[Change[Any, Any], ...] = ()
    failed: str = ""


class Looker:
    """Looks every second in a thread of its own."""

    def __init__(self, name_server: str, keepers: tuple[Keeper, ...] = ()) -> None:
        self._reader = Rereader(name_server, every=EVERY)
        self._readings = Readings(self._reader, Observer(), EVERY, keepers)
        self.looks: list[Look] = []
        self._news = threading.Condition()
        self._is_ended = False
        self._thread = threading.Thread(target=self._run, name="everyday-looks")
        self._thread.start()

    def close(self) -> None:
        """End looking."""
        self._is_ended = True
        self._thread.join()
        self._reader.close()

    def wait_for(self, n: int) -> None:
        """Wait until so many readings more have begun and ended."""
        since, deadline = time.time(), time.monotonic() + STALLS_AFTER
        with self._news:
            while sum(one.began_at >= since and not one.failed for one in self.looks[-n - 5 :]) < n:
                self._news.wait(5)
                if time.monotonic() > deadline or not self._thread.is_alive():
                    raise AssertionError(
                        f"no {n} readings in {STALLS_AFTER:g} s; the last: {self.looks[-1:]}"
                    )

    def taken(self) -> list[Look]:
        """Return the looks so far, and forget them."""
        with self._news:
            found, self.looks = self.looks, []
        return found

    def _run(self) -> None:
        while not self._is_ended:
            begun = time.monotonic()
            look = self._look()
            with self._news:
                self.looks.append(look)
                self._news.notify_all()
            time.sleep(max(0.0, EVERY - (time.monotonic() - begun)))

    def _look(self) -> Look:
        begun = time.time()
        is_read = self._readings.read_once()
        state, error = self._readings.state, self._readings.status.error
        if not is_read or state is None:
            return Look(begun, time.time(), failed=str(error))
        seen = state.observation
        reading = seen.reading
        return Look(
            reading.began_at,
            reading.read_at,
            tuple(seen.members),
            tuple(seen.moves),
            failed="" if error is None else str(error),
        )
