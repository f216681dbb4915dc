"""One reading of a cluster after others: everything is read if the time allows it, else what is due;
the rest is carried over.

The order, each step bounded by a share of the time: lists of groups; client lists of every group at
every broker, routes meanwhile; then offsets, and clients, first those whose group changed, then
those that were asked longest ago. Each broker has a lane of its own with few requests under way, so
a silent or slow broker delays no other; what is not read is named.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from rmqalloc.remoting import RemotingError, ResponseError, one_line
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.remoting.client import MOST_RELAYED, Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.data_time import utc_text
from rmqalloc.snapshot.departures import KEPT_SECONDS
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.live._known_before import ClusterBefore, GroupBefore, Reported
from rmqalloc.snapshot.live._take import NAME_SERVER, Answer, ClusterReader, Wanted
from rmqalloc.snapshot.snapshot import Broker, Group, Snapshot, SourceError, Topic
from rmqalloc.snapshot.unknown import of_route

_SETTINGS_UNTIL, _LISTS_UNTIL, _INFOS_UNTIL, _ALL_UNTIL = 0.07, 0.6, 0.5, 0.9
"""Shares of a reading's time until which lists of groups, client lists, clients of unchanged groups, and all else are asked."""

_REGISTER_WITHIN = 35.0
"""Seconds for which a broker that answers and that no name server lists counts as listed: it registers every 30 s."""

_NO_TIME = "it was not queried in this reading for lack of time; requests of all groups take longer"

_TOO_LATE = "it did not answer within the time for which the rest of the reading waits"
_LEAST_FOR_SETTINGS = 0.5  # seconds

T = TypeVar("T")


class Pacing(NamedTuple):
    """How a reading fits into its time."""

    seconds: float
    """Time that the reading may take."""
    per_second: float
    """Requests that one server gets."""
    parallel: int
    """Requests under way at one server."""


class GroupClient(NamedTuple):
    """One client of one group."""

    group: str
    client_id: str


class Retaker(ClusterReader):
    """One reading, which updates the findings of the readings before it."""

    def __init__(
        self, remote: Remote, wanted: Wanted, before: ClusterBefore, pacing: Pacing
    ) -> None:
        super().__init__(remote, wanted)
        self.before, self.pacing = before, pacing
        self.is_whole = True
        self.answering: dict[str, bool] = {}  # of brokers that no name server lists any more
        self.unregistered: dict[str, Broker] = {}  # those that answer, for a while
        self.routes: dict[str, Topic] = {}
        self.views: dict[str, dict[str, answers.Connections]] = {}
        self._routes_kept: set[str] = set()
        self._has_no_name_server = False
        self._n_stats_under_way = 0
        before.reading += 1
        self._began = asyncio.get_running_loop().time()

    async def take(self) -> Snapshot:
        """Read what is due."""
        self.remote.begin()
        await self._read_cluster()
        kept = (self.before.unlisted | self.brokers).values()
        await self.remote.keep_only([broker.address for broker in kept])
        names = await self._topic_names()
        if names is None:
            self.is_whole, names = False, self.before.topics
        self.before.topics = names
        self.before.keep_only(self.brokers, await self._group_names(names))
        wanted = self._wanted_topics(names)
        await self._read_lists(wanted)
        self.views = {}
        for name, group in self.before.groups.items():
            view = group.view(self.brokers)
            if self._is_wanted(view):
                self.views[name] = view
        subscribed = self._topics_of(self.views)
        await self._read_routes(subscribed - wanted)  # such as retry topics
        self._keep_routes(subscribed | wanted)
        self._observe()
        await self._read_offsets_and_infos()
        groups = [await self._updated_group(name, view) for name, view in self.views.items()]
        return self._snapshot(map(self._with_time, self.routes.values()), groups)

    def _with_time(self, route: Topic) -> Topic:
        """Return a route; one that was not given again says since when it is kept."""
        part = self.before.routes[route.name]
        is_kept = self._has_no_name_server and part.reading < self.before.reading
        if not is_kept and route.name not in self._routes_kept:
            return route
        at = utc_text(part.at)
        why = f"no name server gave it in this reading; its route of {at} is kept"
        return replace(route, unknown={**route.unknown, "routes": why})

    # --- Name servers and settings ---

    async def _read_cluster(self) -> None:
        """Read the brokers, and keep those that a restarted name server does not list yet."""
        known, now = self.before, time.monotonic()
        try:
            await super()._read_cluster()
        except (RemotingError, ResponseError) as error:
            if not known.brokers:
                raise
            code = ReadCode.GET_BROKER_CLUSTER_INFO
            self.errors.append(SourceError(NAME_SERVER, code.name, one_line(str(error))))
            self.is_whole, self._has_no_name_server = False, True
            self.brokers, self._own_topics = dict(known.brokers), set(known.own_topics)
            return
        known.listed_at |= dict.fromkeys(self.brokers, now)
        addresses = {broker.address for broker in self.brokers.values()}
        unlisted = {}
        for name, broker in (known.unlisted | known.brokers).items():
            is_listed = name in self.brokers or broker.address in addresses
            if not is_listed and now < known.listed_at[name] + KEPT_SECONDS:
                unlisted[name] = broker
        await self._probe(unlisted)
        for name, broker in unlisted.items():
            is_recent = now < known.listed_at[name] + _REGISTER_WITHIN
            if is_recent and self.answering.get(name, True):
                self.unregistered[name] = broker
        self.brokers |= self.unregistered
        self._own_topics = self._own_topics | self.unregistered.keys()
        known.brokers, known.own_topics = dict(self.brokers), self._own_topics
        known.unlisted = {name: unlisted[name] for name in unlisted.keys() - self.brokers.keys()}
        kept = known.brokers.keys() | known.unlisted.keys()
        known.listed_at = {name: at for name, at in known.listed_at.items() if name in kept}

    async def _probe(self, brokers: Mapping[str, Broker]) -> None:
        """Find out which brokers that no name server lists still answer."""

        async def probe(name: str, address: str) -> None:
            if not self.remote.is_signed_for(address):
                return
            try:
                async with asyncio.timeout_at(self._settings_end()):
                    code, read = ReadCode.GET_BROKER_CONFIG, answers.default_mode
                    await self.remote.ask(address, code, {}, read=read)
                self.answering[name] = True
            except (ResponseError, AnswerError):
                self.answering[name] = True
            except (RemotingError, TimeoutError):
                self.answering[name] = False

        async with asyncio.TaskGroup() as probes:
            for name, broker in brokers.items():
                probes.create_task(probe(name, broker.address))

    def _settings_end(self) -> float:
        """Return the loop's time up to which requests are waited for that all others wait for."""
        return max(self._at(_SETTINGS_UNTIL), self._began + _LEAST_FOR_SETTINGS)

    async def _settings(self, broker: str) -> Answer[dict[str, answers.GroupConfig]]:
        answer = Answer[dict[str, answers.GroupConfig]](None, is_known=False)
        try:
            async with asyncio.timeout_at(self._settings_end()):
                answer = await super()._settings(broker)
        except TimeoutError:  # all other requests wait for these, also for those of a frozen broker
            code = ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG
            self._skipped(f"broker {broker}", code.name, _TOO_LATE)
        if answer.is_known:
            self.before.settings[broker] = answer.value or {}
        self.is_whole &= answer.is_known
        return Answer(self.before.settings.get(broker), answer.is_known)

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
        """Ask for the items in order, ``n`` at a time; skip an item that has not begun when its
        time is over.
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

    def _reported(self, value: T, before: Reported[T] | None) -> Reported[T]:
        """Return a value that was just read; an equal value from before stays the same object."""
        if before is not None and before.value == value:
            value = before.value
        return Reported(value, time.time(), self.before.reading)

    async def _read_lists(self, topics: set[str]) -> None:
        """Ask every broker for the clients of every group, and the name server for due routes."""
        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(self._read_routes(topics))
            for broker in self.brokers:
                lanes.create_task(self._read_lists_of(broker))

    async def _read_lists_of(self, broker: str) -> None:
        groups, reading = self.before.groups, self.before.reading
        until = self._at(_LISTS_UNTIL)

        async def ask(name: str) -> None:
            answer = await self._list(name, broker)
            if answer.is_known:
                groups[name].listed(broker, answer.value, time.time(), reading)
            else:
                groups[name].not_listed.append(broker)

        def skip(name: str) -> None:
            code = ReadCode.GET_CONSUMER_CONNECTION_LIST
            self._skipped(f"broker {broker}", f"{code.name} {name}")
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
            answer = await self._route(name)
            if answer.is_known:
                before = routes.get(name)
                route = self._with_unregistered(answer.value, before.value if before else None)
                routes[name] = self._reported(route, before)
            elif name in routes:
                self._routes_kept.add(name)

        def skip(name: str) -> None:
            if name not in routes:
                self._skipped(NAME_SERVER, of_route(name))

        await self._lane(order[: max(fit, n_new)], self.pacing.parallel, ask, lambda _: until, skip)

    def _with_unregistered(self, route: Topic | None, before: Topic | None) -> Topic | None:
        """Return a route with the queues of brokers that answer and that no name server lists:
        after a restart of the name server they register within 30 s.
        """
        names = self.unregistered.keys()
        listed = {broker.broker_name for broker in route.brokers} if route else set()
        of_before = before.brokers if before else ()
        kept = [broker for broker in of_before if broker.broker_name in names - listed]
        if not kept or before is None:
            return route
        brokers = (*(route.brokers if route else ()), *kept)
        silent = named(sorted(f"broker {broker.broker_name}" for broker in kept))
        why = f"no name server lists {silent} any more, which still answers; what was listed before is kept"
        return Topic(before.name, brokers, {"routes": why})

    def _keep_routes(self, topics: set[str]) -> None:
        """Forget routes of other topics."""
        known = {name: part for name, part in self.before.routes.items() if name in topics}
        self.before.routes = known
        self.routes = {}
        for name in sorted(known):
            route = known[name].value
            if route is not None:
                self.routes[name] = route

    def _routes_of(self, name: str) -> tuple[Topic | None, ...]:
        """Return the routes of a group's topics; None for an unknown route."""
        topics = sorted(self._topics_of({name: self.views[name]}))
        return tuple(map(self.routes.get, topics))

    def _observe(self) -> None:
        for name, view in self.views.items():
            group = self.before.groups[name]
            group.observe(view, self._routes_of(name), self.before.reading)

    async def _read_offsets_and_infos(self) -> None:
        """Ask brokers for offsets, and clients, through brokers, for the queues that they own."""
        async with asyncio.TaskGroup() as lanes:
            by_broker: dict[str, list[str]] = defaultdict(list)
            for name, view in self.views.items() if self.wanted.lag else ():
                for broker in self._may_hold(name, view):
                    by_broker[broker].append(name)
            for broker, names in by_broker.items():
                lanes.create_task(self._read_stats_of(broker, names))
            by_relay: dict[str, list[GroupClient]] = defaultdict(list)
            for name, view in self.views.items():
                for client_id, broker in self._relays(view).items():
                    by_relay[broker].append(GroupClient(name, client_id))
            for broker, clients in by_relay.items():
                lanes.create_task(self._read_infos_by(broker, clients))

    def _may_hold(self, name: str, view: dict[str, answers.Connections]) -> set[str]:
        """Return brokers that may have offsets of a group; if the route of some topic was never
        read, all brokers that list the group are among them.
        """
        holders = self._holders(view, self.routes)
        if members.topics_of(view) - self.before.routes.keys():
            holders |= view.keys()
        before = self.before.groups[name]
        for gone in before.stats.keys() - holders:
            del before.stats[gone]
        return holders

    async def _read_stats_of(self, broker: str, names: list[str]) -> None:
        groups, until = self.before.groups, self._at(_ALL_UNTIL)

        async def ask(name: str) -> None:
            answer = await self._stats(name, broker)
            if answer.is_known:
                stats = groups[name].stats
                stats[broker] = self._reported(answer.value, stats.get(broker))

        def skip(name: str) -> None:
            self._skipped(f"broker {broker}", f"{ReadCode.GET_CONSUME_STATS.name} {name}")

        names.sort(key=lambda name: _reading(groups[name].stats.get(broker)))
        self._n_stats_under_way += 1
        await self._lane(names, self.pacing.parallel, ask, lambda _: until, skip)
        self._n_stats_under_way -= 1

    async def _read_infos_by(self, broker: str, clients: list[GroupClient]) -> None:
        """Ask clients through one broker, those of changed groups first, then those that were asked
        longest ago.
        """
        groups, reading = self.before.groups, self.before.reading
        until, moving_until = self._at(_INFOS_UNTIL), self._at(_ALL_UNTIL)

        def is_moving(client: GroupClient) -> bool:
            return groups[client.group].is_moving(reading)

        def order(client: GroupClient) -> tuple[bool, int]:
            last_info = groups[client.group].infos.get(client.client_id)
            return not is_moving(client), _reading(last_info)

        async def ask(client: GroupClient) -> None:
            client_id = client.client_id
            answer = await self._info(client.group, client_id, broker)
            infos = groups[client.group].infos
            if answer.value is not None:
                infos[client_id] = self._reported(answer.value, infos.get(client_id))
            elif answer.is_known:
                infos.pop(client_id, None)
            else:
                groups[client.group].silent.add(client_id)

        def ends(client: GroupClient) -> float:
            """Return the time after which a client is not asked: clients of unchanged groups make
            no reading longer than offsets do, or than half its time.
            """
            return moving_until if is_moving(client) or self._n_stats_under_way else until

        clients.sort(key=order)
        await self._lane(clients, MOST_RELAYED, ask, ends)

    def holders(self, name: str) -> set[str]:
        """Return brokers that have offsets of a group, as far as is known."""
        return self._holders(self.views[name], self.routes)

    # --- Groups ---

    async def _updated_group(self, name: str, view: dict[str, answers.Connections]) -> Group:
        """Return one group; the same object as before if everything that it is made from is equal."""
        before = self.before.groups[name]
        infos = before.current_infos()
        modes = await self._request_modes() if members.may_be_assigned(view, infos) else None
        stats = before.stats_of(self.before.reading)
        unknown = self._not_current(before, view)
        if modes is not None:
            unknown |= self._modes_missing()
        paused = tuple(self._paused.get(name, ()))
        lite_topic = self._lite.get(name)
        lists, routes = tuple(view.items()), self._routes_of(name)
        ours = before.of_rmqalloc()
        made_from = (lists, infos, routes, stats, modes, unknown, paused, lite_topic, ours)
        if before.group is not None and before.made_from == made_from:
            return before.group
        offsets = members.Offsets.of(stats)
        if before.lags != offsets.lags:
            before.lags = offsets.lags
        group = members.group(
            name,
            view,
            infos,
            self.routes,
            lags=before.lags,
            consume_tps=offsets.consume_tps,
            modes=modes,
            lite_topic=lite_topic,
            of_rmqalloc=ours,
        )
        unknown = self._not_answered(group, infos) | dict(group.unknown) | unknown
        before.group = replace(group, paused_brokers=paused, unknown=unknown)
        before.made_from = made_from
        return before.group

    def _not_current(
        self, before: GroupBefore, view: dict[str, answers.Connections]
    ) -> dict[str, str]:
        """Return what is not known of a group in this reading, and why."""
        unknown = {}
        if before.not_listed:
            silent = named(sorted(f"broker {broker}" for broker in before.not_listed))
            kept = [before.views[name].at for name in before.not_listed if name in view]
            lists = f"; its lists of {utc_text(min(kept))} are kept" if kept else ""
            unknown["clients"] = f"{silent} did not list them in this reading{lists}"
        outdated = before.outdated()
        never = [client_id for client_id in self._relays(view) if client_id not in before.infos]
        if outdated:
            unknown["owners"] = (
                f"the group changed since {named(outdated)} last reported their queues"
            )
        elif never:
            unknown["owners"] = f"{named(never)} have not reported their queues yet"
        return unknown


def _reading(part: Reported[T] | None) -> int:
    return -1 if part is None else part.reading


def oldest_time(parts: Mapping[str, Reported[T]], brokers: Collection[str]) -> float | None:
    """Return when the oldest part of the brokers was read; None if one never was, or without
    brokers.
    """
    if not all(broker in parts for broker in brokers):
        return None
    return min((parts[broker].at for broker in brokers), default=None)
