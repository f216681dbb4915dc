"""Histories of random readings, judged at every moment by what the readings showed."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from proof import Report

from chaos.readings import NAMES, Cluster, Drawn, Ids, State, Truth, Verdict
from rmqalloc.evidence import Known
from rmqalloc.history import History, HistoryError, MomentUnknownError, PastOwners, Recorder
from rmqalloc.snapshot import Snapshot
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.watching import Observation, Observer, OwnersSeen

OBSERVED = 20
"""Of so many sequences one has observations of an `Observer`, which takes far longer than the rest."""

MOST_SHOWN = 10


class OpenHistory(History):
    """A history whose file is opened once, so that many moments take little time."""

    _kept: Any = None

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        if self._kept is not None:
            yield self._kept
        else:
            with super()._opened() as opened:
                yield opened

    @contextmanager
    def kept_open(self) -> Iterator[OpenHistory]:
        """Keep the file open meanwhile."""
        with super()._opened() as self._kept:
            yield self


def sequence(seed: int, path: Path, totals: Counter[str]) -> Iterator[str]:
    """Record the readings of a seed, judge the history, and yield what is wrong."""
    truth = recorded(seed, path, totals)
    totals["sequences"] += 1
    totals["readings"] += len(truth.readings)
    with OpenHistory(path).kept_open() as history:
        yield from _moments(history, truth, totals)
        yield from _events(history, truth, totals)


def recorded(seed: int, path: Path, totals: Counter[str]) -> Truth:
    """Write the readings of a seed into a history; return those that were written."""
    truth, recorder, is_gap = Truth(), Recorder(path), False
    observer = Observer() if seed % OBSERVED == 0 else None
    try:
        for drawn in Cluster(seed).readings():
            if drawn.is_restart:
                totals["second recorders refused"] += _is_refused(path)
                recorder.close()
                recorder, is_gap = Recorder(path), True
                observer = Observer() if observer else None
            reading = drawn.reading
            recorder.record(observer.observe(reading) if observer else _observed(drawn))
            began, at = round(reading.began_at * 1000), round(reading.read_at * 1000)
            if not truth.readings or at > truth.readings[-1].at:
                truth.take(drawn, began, at, is_gap)
                is_gap = False
            else:
                is_gap = True
    finally:
        recorder.close()
    return truth


def _is_refused(path: Path) -> bool:
    try:
        Recorder(path).close()
    except HistoryError as error:
        return "another recorder" in str(error)
    return False


def _observed(drawn: Drawn) -> Observation:
    reading = drawn.reading
    seen = {}
    for name in drawn.fresh:
        owners = {queue: (owner,) for queue, owner in (drawn.states[name].owners or {}).items()}
        seen[name] = OwnersSeen(reading.began_at, owners)
    known = Known.already(reading.snapshot)
    return Observation(reading, known, None, None, (), (), owners_seen=seen)


# --- Moments ---


def _moments(history: History, truth: Truth, totals: Counter[str]) -> Iterator[str]:
    for at in truth.moments():
        snapshot = _snapshot_at(history, at)
        for name in NAMES:
            found = _past_owners(history, name, at)
            if found is None:
                continue
            verdict = truth.verdict(name, at)
            told = {"owners_at": _of_owners(found), "snapshot_at": _of_group(snapshot, name)}
            for asked, state in told.items():
                totals["judged"] += 1
                totals["not known" if state is None else "known"] += 1
                wrong = _wrong(state, verdict)
                if wrong:
                    totals[wrong] += 1
                    yield f"{wrong}: {asked} {name} at {at}: {state}, not {verdict}"
            certain = truth.certain(name, at)
            if certain is not None:
                totals["certain clients"] += len(certain)
                if certain != _certain_ids(found):
                    totals["wrong certain clients"] += 1
                    yield f"certain clients of {name} at {at}: {found}, not {certain}"


def _wrong(state: State | None, verdict: Verdict) -> str | None:
    if state is None:
        return "missed" if verdict.is_due else None
    right = verdict.state
    if right is None or right.owners is None:
        return "invented"
    is_right = state.ids == (right.ids or frozenset()) and state.owners == right.owners
    return None if is_right else "invented"


def _past_owners(history: History, name: str, at: int) -> PastOwners | MomentUnknownError | None:
    """Return the owners, why nothing is known of the moment, or None for a group that no reading
    has shown.
    """
    try:
        return history.owners_at(name, at / 1000)
    except MomentUnknownError as error:
        return error
    except NoMatchError:
        return None


def _of_owners(found: PastOwners | MomentUnknownError) -> State | None:
    if isinstance(found, MomentUnknownError) or found.doubt is not None:
        return None
    owners = {queue: ids[0] for queue, ids in found.owners.items() if ids}
    return State(frozenset(found.client_ids), owners)


def _certain_ids(found: PastOwners | MomentUnknownError) -> Ids:
    return frozenset(() if isinstance(found, MomentUnknownError) else found.certain_ids)


def _snapshot_at(history: History, at: int) -> Snapshot | None:
    try:
        return history.snapshot_at(at / 1000)
    except MomentUnknownError:
        return None


def _of_group(snapshot: Snapshot | None, name: str) -> State | None:
    """Return the state of a group that a snapshot has without a doubt."""
    if snapshot is None or any(name in error.request.split() for error in snapshot.errors):
        return None
    for group in snapshot.groups:
        if group.name == name:
            owners = {
                queue: client.client_id for client in group.clients for queue in client.owned or ()
            }
            return None if group.unknown else State(frozenset(group.client_ids), owners)
    return State(frozenset(), {})


# --- Events ---


def _events(history: History, truth: Truth, totals: Counter[str]) -> Iterator[str]:
    """Yield clients that joined or left and are not reported so, and those that are for no reason."""
    rows = history.events().events.to_pylist()
    for name in NAMES:
        right = truth.members(name)
        told = set()
        for row in rows:
            if row["consumer_group"] == name and row["event"] in ("joined", "left"):
                last = truth.began_of(_ms(row["last_seen_before"]))
                told.add((row["event"], row["client_id"], last, _ms(row["first_seen_after"])))
        totals["events"] += len(told)
        for wrong, found in (("invented events", told - right), ("missed events", right - told)):
            totals[wrong] += len(found)
            yield from (f"{wrong}: {name} {event}" for event in sorted(found))


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


# --- All ---


COUNTS = (
    "sequences",
    "readings",
    "second recorders refused",
    "judged",
    "known",
    "not known",
    "invented",
    "missed",
    "certain clients",
    "wrong certain clients",
    "events",
    "invented events",
    "missed events",
)


def histories(report: Report, seeds: Iterable[int]) -> None:
    """Record and judge one history of each seed."""
    totals: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        for seed in seeds:
            path = Path(directory) / "h"
            wrong += (f"seed {seed}: {fault}" for fault in sequence(seed, path, totals))
            for file in Path(directory).iterdir():
                file.unlink()
    report.table(
        ("histories of random readings", "number"), [(name, totals[name]) for name in COUNTS]
    )
    for fault in wrong[:MOST_SHOWN]:
        report.fault(fault)
    if len(wrong) > MOST_SHOWN:
        report.fault(f"{len(wrong) - MOST_SHOWN:,} more")
