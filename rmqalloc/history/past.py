"""Reading a history: `History`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from rmqalloc.history._database import BROKERS, GROUP, TOPIC, in_ms, opened_to_read, told
from rmqalloc.history._documents import brokers_of, group_of, topic_of
from rmqalloc.history._kept_states import KeptState
from rmqalloc.history._past_events import gap_events, state_events, written_events
from rmqalloc.history._past_timeline import PastTimeline, Standing
from rmqalloc.history._rows import MOST_MS, HistoryConnection
from rmqalloc.history._spans import ALL_GROUPS
from rmqalloc.history._texts import HistoryTexts, decoded, encoded
from rmqalloc.history.history_events import HistoryEvents, events_in_order
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.results.and_more import named
from rmqalloc.snapshot import Snapshot
from rmqalloc.snapshot.matching import ALL, chosen, no_match
from rmqalloc.snapshot.proxy import with_shared
from rmqalloc.snapshot.snapshot import Broker, Group, SourceError, with_fields
from rmqalloc.snapshot.unknown import of_route

_HIDDEN = ("clients", "owners")


class PastOwners(NamedTuple):
    """Owners of the queues of a group at a moment.

    Attributes
    ----------
    owners : mapping of MessageQueue to tuple of str
        Client ids, () for an unowned queue; a queue with an unknown owner is missing.
    client_ids : tuple of str
    doubt : str or None
        Reason why the state is unknown; then ``owners`` and ``client_ids`` are the last known values.
    certain_ids : tuple of str
        Clients that are certain, even if the group as a whole is unknown.
    known_before, known_after : float or None
        The last known moment up to this moment, and the first known moment from it on, in seconds
        of the Unix clock; None if the history has none.
    """

    owners: Mapping[MessageQueue, tuple[str, ...]]
    client_ids: tuple[str, ...]
    certain_ids: tuple[str, ...]
    doubt: str | None
    known_before: float | None
    known_after: float | None


class History:
    """A history that a `Recorder` has written or is writing; read only.

    Parameters
    ----------
    path : path

    Raises
    ------
    HistoryError
        The file does not exist, is not a history, or is damaged or newer. Every method may raise
        it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        with self._opened():
            pass

    @contextmanager
    def _opened(self) -> Iterator[tuple[HistoryConnection, PastTimeline]]:
        """Read what is one moment of the file, whatever is written meanwhile."""
        with told(self._path), closing(opened_to_read(self._path)) as connection:
            connection.execute("BEGIN")
            yield connection, PastTimeline(connection)

    @property
    def first_reading(self) -> float | None:
        """The first known moment, in seconds of the Unix clock; None if there is none."""
        with self._opened() as (_, timeline):
            return (
                max(timeline.spans[0].began, timeline.kept_since) / 1000 if timeline.spans else None
            )

    @property
    def last_reading(self) -> float | None:
        """When the cluster was last read, in seconds of the Unix clock; None if never."""
        with self._opened() as (connection, _):
            last = connection.row("SELECT max(last) FROM spans")
        return None if last is None or last[0] is None else last[0] / 1000

    def owners_at(self, group: str, moment: float) -> PastOwners:
        """Return the owners of the queues of a group at a moment.

        Raises
        ------
        MomentUnknownError
            The state of the whole cluster at the moment is unknown.
        NoMatchError
            The history has no such group.
        """
        at = in_ms(moment)
        with self._opened() as (connection, timeline):
            row = connection.row(
                "SELECT id FROM subjects WHERE kind=? AND name=?", (GROUP, encoded(group))
            )
            if row is None:
                raise no_match(group, _subjects(connection, GROUP), "group of the history")
            timeline.check(at)
            found = timeline.standing(row[0], at)
        state = found.state or KeptState()
        ids, certain = tuple(state.clients), found.certain_ids
        if found.is_settled:
            return PastOwners(state.owners, ids, certain, None, moment, moment)
        before, after = found.known_before, found.known_after
        return PastOwners(
            state.owners,
            ids,
            certain,
            found.doubt,
            None if before is None else before / 1000,
            None if after is None else after / 1000,
        )

    def snapshot_at(self, moment: float) -> Snapshot:
        """Return the cluster at a moment: clients, routes, and the queues that clients reported.

        A group with an unknown state has its last known state, and ``unknown`` and ``errors`` give
        the reason, as in any partial snapshot. Lag is not recorded.

        Raises
        ------
        MomentUnknownError
            The state of the whole cluster at the moment is unknown.
        """
        at = in_ms(moment)
        with self._opened() as (connection, timeline):
            timeline.check(at)
            topics, groups, errors = [], [], []
            brokers: tuple[Broker, ...] = ()
            for number, kind, encoded_name in connection.rows(
                "SELECT id, kind, name FROM subjects ORDER BY kind, name"
            ):
                name, standing = decoded(encoded_name), timeline.standing(number, at)
                if (kind, name) == ALL_GROUPS:
                    continue
                topic = group = None
                if kind == TOPIC and standing.state:
                    topic = topic_of(name, standing.state, timeline.texts)
                elif kind == GROUP:
                    group = _group_at(name, standing, timeline.texts)
                elif kind == BROKERS and standing.state:
                    brokers = brokers or brokers_of(standing.state, timeline.texts)
                if topic:
                    topics.append(topic)
                if group:
                    groups.append(group)
                if kind != BROKERS and standing.doubt is not None:
                    errors.append(self._error(kind, name, standing))
        when = datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
        source = f"history {self._path}"
        return with_shared(
            Snapshot(tuple(topics), tuple(groups), tuple(errors), when, source, brokers)
        )

    def _error(self, kind: int, name: str, standing: Standing) -> SourceError:
        request = of_route(name)
        if kind == GROUP:
            request = f"{ReadCode.GET_CONSUMER_CONNECTION_LIST.name} {name}"
        why = str(standing.doubt)
        if standing.certain_ids:
            why += f"; certain: {named(standing.certain_ids, 3)}"
        return SourceError(f"history {self._path}", request, why)

    def events(
        self, groups: Sequence[str] = ALL, since: float | None = None, until: float | None = None
    ) -> HistoryEvents:
        """Return events in the order of time.

        Parameters
        ----------
        groups : sequence of str
            Patterns as in `fnmatch.fnmatchcase`; topics, brokers and gaps of the whole cluster are
            listed with all groups.
        since, until : float, optional
            Seconds of the Unix clock; an event counts by ``first_seen_after``, a gap if any part of
            it lies between them.
        """
        begin = 0 if since is None else in_ms(since)
        end = MOST_MS if until is None else in_ms(until)
        with self._opened() as (connection, timeline):
            begin = max(begin, timeline.kept_since)
            mine = chosen(groups, _subjects(connection, GROUP), "group of the history")
            names = {number: name for name, number in mine.items()}
            named = [(GROUP, name, number) for name, number in mine.items()]
            if tuple(groups) == ALL:
                all_groups = _subjects(connection, GROUP).items()
                names |= {number: "" for name, number in all_groups if not name}
                for kind in (TOPIC, BROKERS):
                    of_kind = _subjects(connection, kind).items()
                    named += [(kind, name, number) for name, number in of_kind]
            of_states = (
                state_events(timeline, kind, name, number, since=begin, until=end)
                for kind, name, number in named
            )
            written = written_events(connection, timeline, names, begin, end)
            gaps = gap_events(connection, timeline, names, begin, end)
            rows = chain(chain.from_iterable(of_states), written, gaps)
            return HistoryEvents(events_in_order(rows, connection.budget.keep))


def _subjects(connection: HistoryConnection, kind: int) -> dict[str, int]:
    rows = connection.rows("SELECT name, id FROM subjects WHERE kind=? ORDER BY name", (kind,))
    return {decoded(name): number for name, number in rows}


def _group_at(name: str, standing: Standing, texts: HistoryTexts) -> Group | None:
    """Return a group as it was; where it is in doubt, its facts are marked unknown."""
    doubt = standing.doubt
    group = None if standing.state is None else group_of(name, standing.state, texts)
    if group is None:
        if doubt is None or standing.known_before is None:
            return None
        return Group(name, unknown=dict.fromkeys((*_HIDDEN, "subscriptions"), doubt))
    if doubt is None:
        return group
    return with_fields(group, unknown={**group.unknown, **dict.fromkeys(_HIDDEN, doubt)})
