"""One reading of a cluster after others: everything is asked where that fits, else what is due; the
rest is carried over.

The order, each bounded by a share of the time: lists of groups; client lists of every group at
every broker, routes meanwhile; then offsets, and clients, those first whose group changed, then
those that were asked longest ago. Each broker has a lane of its own with few requests under way, so
one that is silent or slow holds up no other; what is not read is named.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from rmqalloc.remoting import RemotingError, ResponseError, one_line
from rmqalloc.remoting.client import MOST_RELAYED, Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.live._known_before import ClusterBefore, GroupBefore, Reported
from rmqalloc.snapshot.live._take import NAME_SERVER, ClusterReader, Wanted, of_route
from rmqalloc.snapshot.snapshot import Group, Lag, Snapshot, SourceError, Topic

_SETTINGS_UNTIL, _LISTS_UNTIL, _INFOS_UNTIL, _ALL_UNTIL = 0.07, 0.6, 0.5, 0.9
"""Shares of a reading's time until which lists of groups, client lists, clients of unchanged groups, and all else are asked."""

_REGISTER_WITHIN = 35.0
"""Seconds for which a broker that no name server lists any more is asked: one that was restarted lists them within 30 s."""

_NO_TIME = "it was not asked in this reading, for which there was no time left; requests of all groups take longer"

_TOO_LATE = "it did not answer within the time for which the rest of the reading waits"
_LEAST_FOR_SETTINGS = 0.5  # seconds

T = TypeVar("T")


class Pacing(NamedTuple):
    """How a reading fits into its time."""

    seconds: float
    """That the reading may take."""
    per_second: float
    """Requests that one server gets."""
    parallel: int
    """Requests under way at one server."""


class Retaker(ClusterReader):
    """One reading, with what those before found, which it brings up to date."""

    def __init__(
        self, remote: Remote, wanted: Wanted, before: ClusterBefore, pacing: Pacing
    ) -> None:
        super().__init__(remote, wanted)
        self.before, self.pacing = before, pacing
        self.is_whole = True
        self.routes: dict[str, Topic] = {}
        self.views: dict[str, dict[str, answers.Connections]] = {}
        self._n_stats_under_way = 0
        before.reading += 1
        self._began = asyncio.get_running_loop().time()

    async def take(self) -> Snapshot:
        """Read what is due."""
        self.remote.begin()
        await self._read_cluster()
        await self.remote.keep_only([one.address for one in self.brokers.values()])
        names, is_said = await self._topic_names()
        if not is_said:
            self.is_whole, names = False, self.before.topics
        self.before.topics = names
        groups = await self._group_names(names)
        self.before.keep_only(self.brokers, groups)
        await self._read_lists(self._wanted_topics(names))
        found = {name: one.view(self.brokers) for name, one in self.before.groups.items()}
        self.views = {name: view for name, view in found.items() if self._is_wanted(view)}
        topics = self._topics_of(self.views) | self._wanted_topics(names)
        await self._read_routes({one for one in topics if one not in self.before.routes})
        known = {name: part for name, part in self.before.routes.items() if name in topics}
        self.before.routes = known
        routes = ((name, known[name].value) for name in sorted(known))
        self.routes = {name: route for name, route in routes if route is not None}
        self._observe()
        await self._read_offsets_and_infos()
        return self._snapshot(
            self.routes.values(),
            [await self._made(name, view) for name, view in self.views.items()],
        )

    # --- What there is ---

    async def _read_cluster(self) -> None:
        """Read whom to ask; brokers that a name server has just forgotten, as one does that was
        restarted, are asked, too.
        """
        known, now = self.before, time.monotonic()
        try:
            await super()._read_cluster()
        except (RemotingError, ResponseError) as error:
            if not known.brokers:
                raise
            code = ReadCode.GET_BROKER_CLUSTER_INFO
            self.errors.append(SourceError(NAME_SERVER, code.name, one_line(str(error))))
            self.is_whole = False
            self.brokers, self._own_topics = dict(known.brokers), set(known.own_topics)
            return
        known.listed_at |= dict.fromkeys(self.brokers, now)
        taken = {one.address for one in self.brokers.values()}
        forgotten = {
            name: one
            for name, one in known.brokers.items()
            if name not in self.brokers
            and one.address not in taken
            and now < known.listed_at.get(name, now) + _REGISTER_WITHIN
        }
        self.brokers |= forgotten
        known.brokers, known.own_topics = dict(self.brokers), self._own_topics | forgotten.keys()
        self._own_topics = known.own_topics

    async def _settings(self, broker: str) -> tuple[dict[str, answers.GroupConfig] | None, bool]:
        found, is_said = None, False
        try:
            async with asyncio.timeout_at(
                max(self._at(_SETTINGS_UNTIL), self._began + _LEAST_FOR_SETTINGS)
            ):
                found, is_said = await super()._settings(broker)
        except TimeoutError:  # everybody waits for these, so a frozen broker must not make it long
            self._skipped(
                f"broker {broker}", ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG.name, _TOO_LATE
            )
        if is_said:
            self.before.settings[broker] = found or {}
        self.is_whole &= is_said
        return self.before.settings.get(broker), is_said

    async def _modes_of(self, broker: str) -> answers.Modes | None:
        n_errors = len(self.errors)
        found = await super()._modes_of(broker)
        if found is not None:
            self.before.modes[broker] = found
        elif len(self.errors) == n_errors:
            self.before.modes.pop(broker, None)
        return self.before.modes.get(broker)

    # --- Lanes ---

    def _at(self, share: float) -> float:
        """Return the loop's time at which this share of the reading's time is over."""
        return self._began + share * self.pacing.seconds

    async def _lane(
        self,
        items: Iterable[T],
        n: int,
        ask: Callable[[T], Awaitable[None]],
        until: Callable[[T], float],
        skip: Callable[[T], None] = lambda _: None,
    ) -> None:
        """Ask for one thing after the other, for ``n`` at once; what has not begun when its time is
        over is skipped.
        """
        loop, left = asyncio.get_running_loop(), iter(items)

        async def work() -> None:
            for item in left:
                if loop.time() < until(item):
                    await ask(item)
                else:
                    skip(item)

        async with asyncio.TaskGroup() as workers:
            for _ in range(n):
                workers.create_task(work())

    def _skipped(self, source: str, request: str, why: str = _NO_TIME) -> None:
        self.errors.append(SourceError(source, request, why))

    async def _read_lists(self, topics: set[str]) -> None:
        """Ask every broker for the clients of every group, and the name server for routes that are
        due.
        """
        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(self._read_routes(topics))
            for broker in self.brokers:
                lanes.create_task(self._read_lists_of(broker))

    async def _read_lists_of(self, broker: str) -> None:
        groups, reading = self.before.groups, self.before.reading
        until = self._at(_LISTS_UNTIL)

        async def ask(name: str) -> None:
            view, is_said = await self._list(name, broker)
            if is_said:
                groups[name].listed(broker, view, time.time(), reading)
            else:
                groups[name].not_listed.append(broker)

        def skip(name: str) -> None:
            self._skipped(
                f"broker {broker}", f"{ReadCode.GET_CONSUMER_CONNECTION_LIST.name} {name}"
            )
            groups[name].not_listed.append(broker)

        order = sorted(groups, key=lambda name: _reading(groups[name].views.get(broker)))
        await self._lane(order, self.pacing.parallel, ask, lambda _: until, skip)

    async def _read_routes(self, topics: set[str]) -> None:
        """Ask for routes: those that were never read, then as many of the oldest as fit."""
        routes, until = self.before.routes, self._at(_LISTS_UNTIL)
        order = sorted(topics, key=lambda name: (_reading(routes.get(name)), name))
        fit = max(int(self.pacing.seconds * self.pacing.per_second * _LISTS_UNTIL / 2), 1)
        n_new = sum(name not in routes for name in order)

        async def ask(name: str) -> None:
            found, is_said = await self._route(name)
            if is_said:
                before = routes.get(name)
                same = before is not None and before.value == found
                value = before.value if same and before is not None else found
                routes[name] = Reported(value, time.time(), self.before.reading)

        def skip(name: str) -> None:
            if name not in routes:
                self._skipped(NAME_SERVER, of_route(name))

        await self._lane(order[: max(fit, n_new)], self.pacing.parallel, ask, lambda _: until, skip)

    def _observe(self) -> None:
        for name, view in self.views.items():
            routes = tuple(self.routes.get(one) for one in sorted(self._topics_of({name: view})))
            self.before.groups[name].observe(view, routes, self.before.reading)

    async def _read_offsets_and_infos(self) -> None:
        """Ask brokers for offsets, and clients, through brokers, what they own."""
        async with asyncio.TaskGroup() as lanes:
            by_broker: dict[str, list[str]] = defaultdict(list)
            for name, view in self.views.items() if self.wanted.lag else ():
                for broker in self._may_hold(name, view):
                    by_broker[broker].append(name)
            for broker, names in by_broker.items():
                lanes.create_task(self._read_stats_of(broker, names))
            by_relay: dict[str, list[tuple[str, str]]] = defaultdict(list)
            for name, view in self.views.items():
                for client_id, broker in self._relays(view).items():
                    by_relay[broker].append((name, client_id))
            for broker, clients in by_relay.items():
                lanes.create_task(self._read_infos_by(broker, clients))

    def _may_hold(self, name: str, view: dict[str, answers.Connections]) -> set[str]:
        """Return brokers that may have offsets of a group: all that list it while a route was never
        read.
        """
        holders = self._holders(view, self.routes)
        topics = {topic for one in view.values() for topic in one.subscriptions}
        if any(topic not in self.before.routes for topic in topics):
            holders |= view.keys()
        before = self.before.groups[name]
        for gone in before.stats.keys() - holders:
            del before.stats[gone]
        return holders

    async def _read_stats_of(self, broker: str, names: list[str]) -> None:
        groups, until = self.before.groups, self._at(_ALL_UNTIL)

        async def ask(name: str) -> None:
            found, is_said = await self._stats(name, broker)
            if is_said:
                before = groups[name].stats.get(broker)
                same = before is not None and before.value == found
                value = before.value if same and before is not None else found
                groups[name].stats[broker] = Reported(value, time.time(), self.before.reading)

        def skip(name: str) -> None:
            self._skipped(f"broker {broker}", f"{ReadCode.GET_CONSUME_STATS.name} {name}")

        names.sort(key=lambda name: _reading(groups[name].stats.get(broker)))
        self._n_stats_under_way += 1
        await self._lane(names, self.pacing.parallel, ask, lambda _: until, skip)
        self._n_stats_under_way -= 1

    async def _read_infos_by(self, broker: str, clients: list[tuple[str, str]]) -> None:
        """Ask clients through one broker: those of groups that changed first and longer, then those
        asked longest ago.
        """
        groups, reading = self.before.groups, self.before.reading
        until, moving_until = self._at(_INFOS_UNTIL), self._at(_ALL_UNTIL)

        def is_moving(one: tuple[str, str]) -> bool:
            return groups[one[0]].is_moving(reading)

        async def ask(one: tuple[str, str]) -> None:
            name, client_id = one
            info, is_said = await self._info(name, client_id, broker)
            infos = groups[name].infos
            if info is not None:
                before = infos.get(client_id)
                value = before.value if before is not None and before.value == info else info
                infos[client_id] = Reported(value, time.time(), reading)
            elif is_said:
                infos.pop(client_id, None)

        clients.sort(
            key=lambda one: (not is_moving(one), _reading(groups[one[0]].infos.get(one[1])))
        )

        def ends(one: tuple[str, str]) -> float:
            """Return when it is too late: clients of unchanged groups make no reading longer than
            offsets, or half its time.
            """
            return moving_until if is_moving(one) or self._n_stats_under_way else until

        await self._lane(clients, MOST_RELAYED, ask, ends)

    def holders(self, name: str) -> set[str]:
        """Return brokers that have offsets of a group, as far as is known."""
        return self._holders(self.views[name], self.routes)

    # --- Groups ---

    async def _made(self, name: str, view: dict[str, answers.Connections]) -> Group:
        """Return one group; the same object as before where everything that it is made from is
        equal.
        """
        before = self.before.groups[name]
        infos = before.current_infos()
        modes = await self._request_modes() if members.may_be_assigned(view, infos) else None
        routes = {one: self.routes.get(one) for one in sorted(self._topics_of({name: view}))}
        stats = tuple(part.value for part in before.stats.values() if part.value is not None)
        unknown = self._not_current(before, view) | ({} if modes is None else self._modes_missing())
        paused = tuple(self._paused.get(name, ()))
        made_from = (
            tuple(view.items()),
            infos,
            tuple(routes.values()),
            stats,
            modes,
            unknown,
            paused,
            self._lite.get(name),
        )
        if before.group is not None and before.made_from == made_from:
            return before.group
        lags = tuple(sorted((lag for part, _ in stats for lag in part), key=_queue))
        before.lags = before.lags if before.lags == lags else lags
        tps = sum(tps for _, tps in stats) if stats else None
        group = members.group(
            name, view, infos, self.routes, before.lags, tps, modes, self._lite.get(name)
        )
        unknown = self._not_answered(group, infos) | dict(group.unknown) | unknown
        before.group, before.made_from = (
            replace(group, paused_brokers=paused, unknown=unknown),
            made_from,
        )
        return before.group

    def _not_current(
        self, before: GroupBefore, view: dict[str, answers.Connections]
    ) -> dict[str, str]:
        """Return what is not known of a group in this reading, and why."""
        unknown = {}
        if before.not_listed:
            silent = named(sorted(f"broker {one}" for one in before.not_listed))
            unknown["clients"] = (
                f"{silent} did not list them in this reading; what was known before is kept"
            )
        if outdated := before.outdated():
            unknown["owners"] = f"the group changed since {named(outdated)} last said what they own"
        elif never := [one for one in self._relays(view) if one not in before.infos]:
            unknown["owners"] = f"{named(never)} have not said yet what they own"
        return unknown


def _reading(part: Reported[T] | None) -> int:
    return -1 if part is None else part.reading


def _queue(lag: Lag) -> tuple[str, str, int]:
    return lag.queue


def ages_of(part_times: Mapping[str, Reported[T]], brokers: Iterable[str]) -> float | None:
    """Return when the oldest of several parts was read, None if one never was, or there is none."""
    times = [part_times[one].at if one in part_times else None for one in brokers]
    return None if not times or None in times else min(one for one in times if one is not None)
