"""A snapshot of a running cluster: what is asked, in which order, and how partial answers are kept."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from sys import intern
from typing import Any, TypeVar
from zlib import crc32

from rmqalloc.model import RETRY_PREFIX
from rmqalloc.remoting import RemotingError, ResponseCode, ResponseError, one_line
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.results.and_more import first_of, named
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.snapshot.snapshot import Broker, Group, Lag, Snapshot, SourceError, Topic
from rmqalloc.snapshot.system_topics import is_system_topic
from rmqalloc.text import matcher

NAME_SERVER = "name server"
_NOT_THERE = (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.TOPIC_NOT_EXIST)
_NOT_KNOWN = ResponseCode.REQUEST_CODE_NOT_SUPPORTED

_OF_MODES = (ReadCode.GET_ALL_MESSAGE_REQUEST_MODE.name, ReadCode.GET_BROKER_CONFIG.name)

_ERROR_ORDER = attrgetter("source", "request", "message")
_MOST_LEFT_OUT = 20  # entries of one list that cannot be read and are named one by one

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a cluster is read."""

    # patterns with ``*``, ``?`` and ``[...]``. With patterns of topics only groups that subscribe
    # to such a topic are read
    groups: tuple[str, ...] = ("*",)
    topics: tuple[str, ...] = ("*",)
    lag: bool = True  # ask how far every queue has been consumed
    running_info: bool = True  # ask every client, through its broker, which queues it owns


def of_route(topic: str) -> str:
    """Return what the request for a route is called in errors."""
    return f"route of topic {topic}"


def take_snapshot(
    servers: list[str],
    access: Access | None = None,
    wanted: Wanted | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Snapshot:
    """Read a cluster through its name servers."""

    async def run() -> Snapshot:
        async with Remote(servers, access) as remote:
            taken = await ClusterReader(remote, wanted or Wanted(), on_progress).take()
            return replace(taken, source="name servers " + ";".join(servers))

    return asyncio.run(run())


@dataclass(slots=True)
class ClusterReader:
    """One reading of a cluster."""

    remote: Remote
    wanted: Wanted
    on_progress: Callable[[int, int], None] | None = None
    errors: list[SourceError] = field(default_factory=list)
    brokers: dict[str, Broker] = field(default_factory=dict)
    _paused: dict[str, list[str]] = field(default_factory=dict)
    _lite: dict[str, str] = field(default_factory=dict)
    _own_topics: set[str] = field(default_factory=set)
    _modes: asyncio.Task[dict[str, answers.Modes]] | None = None
    _failed_modes: list[str] | None = None
    _answered: int = 0
    _known: int = 0
    _has_topic: Callable[[str], Any] = field(init=False)

    def __post_init__(self) -> None:
        self._has_topic = matcher(tuple(self.wanted.topics))

    async def take(self) -> Snapshot:
        """Read everything that is wanted."""
        await self._read_cluster()
        names, _ = await self._topic_names()
        self._answered = self._known = 0  # how much there is, is only known from here on
        known = await self._group_names(names)
        asked = await asyncio.gather(*(self._known_to(group) for group in known))
        views = {
            group: view for group, view in zip(known, asked, strict=True) if self._is_wanted(view)
        }
        topics = self._topics_of(views) | self._wanted_topics(names)
        found = await asyncio.gather(*(self._route(topic) for topic in sorted(topics)))
        routes = {topic.name: topic for topic, _ in found if topic is not None}
        found_groups = await asyncio.gather(
            *(self._group(group, view, routes) for group, view in views.items())
        )
        return self._snapshot(routes.values(), found_groups)

    def _topics_of(self, views: Mapping[str, dict[str, answers.Connections]]) -> set[str]:
        """Return topics that groups subscribe to."""
        topics = {
            topic for view in views.values() for one in view.values() for topic in one.subscriptions
        }
        return topics.union(self._lite[group] for group in views if group in self._lite)

    def _wanted_topics(self, names: Iterable[str]) -> set[str]:
        """Return wanted topics, be they subscribed to or not."""
        return {name for name in names if self._is_user_topic(name) and self._has_topic(name)}

    def _snapshot(self, routes: Iterable[Topic], found: Iterable[Group]) -> Snapshot:
        """Return what was read, as a snapshot."""
        groups = filter(self._reads_wanted, found)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        errors = tuple(sorted(self.errors, key=_ERROR_ORDER))
        brokers = (
            replace(one, is_silent=not self.remote.is_up(one.address))
            for one in self.brokers.values()
        )
        unknown = {}
        if self.wanted.groups != ("*",):
            unknown["subscriptions"] = (
                f"only groups such as {', '.join(self.wanted.groups)} were read"
            )
        return Snapshot(
            tuple(routes), tuple(groups), errors, now, brokers=tuple(brokers), unknown=unknown
        )

    async def _read_cluster(self) -> None:
        """Read whom to ask; without that there is nothing to read."""
        code = ReadCode.GET_BROKER_CLUSTER_INFO
        read = self._listed(
            NAME_SERVER, code, lambda *given: (answers.brokers(*given), answers.clusters(*given))
        )
        try:
            brokers, clusters = await self.remote.ask_name_server(code, read=read)
        except AnswerError as error:
            raise RemotingError(f"no name server lists its brokers: {error}") from error
        self.brokers = {one.broker_name: one for one in await self._with_roles(brokers)}
        # Brokers and clusters have a topic each that bears their name.
        self._own_topics = {*self.brokers, *clusters}

    async def _with_roles(self, brokers: tuple[Broker, ...]) -> tuple[Broker, ...]:
        """Return the brokers with the roles that slaves of brokers without a master have: the name
        server decides that, too.
        """
        if all(one.role != "ACTING_MASTER" for one in brokers):
            return brokers
        code = ReadCode.GET_NAMESRV_CONFIG
        is_supported = await self._from_name_server(
            code, {}, code.name, answers.supports_acting_master
        )
        if is_supported:
            return brokers
        doubt = "the name server did not say whether it lets slaves stand in (supportActingMaster)"
        change: dict[str, Any] = (
            {"role_doubt": doubt} if is_supported is None else {"role": "SLAVE"}
        )
        return tuple(
            replace(one, **change) if one.role == "ACTING_MASTER" else one for one in brokers
        )

    def _listed(
        self, source: str, code: ReadCode, read: Callable[[Any, answers.OnLeftOut], T]
    ) -> Callable[[Any], T]:
        """Return a reader of a list that keeps what it leaves out as errors."""

        def listed(body: Any) -> T:
            left_out: list[str] = []
            found = read(body, lambda error: left_out.append(str(error)))
            self.errors += [
                SourceError(source, code.name, one_line(f"left out, for it cannot be read: {one}"))
                for one in first_of(left_out, _MOST_LEFT_OUT)
            ]
            return found

        return listed

    async def _topic_names(self) -> tuple[list[str], bool]:
        """Return topics that the name server lists, each once, and whether it said so."""
        code = ReadCode.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER
        read = self._listed(NAME_SERVER, code, answers.topic_names)
        names, is_said = await self._tried(
            NAME_SERVER, code.name, lambda: self.remote.ask_name_server(code, read=read)
        )
        return list(dict.fromkeys(names or ())), is_said

    async def _settings(self, broker: str) -> tuple[dict[str, answers.GroupConfig] | None, bool]:
        """Return the groups that a broker has settings for, and whether it said so."""
        code = ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG
        return await self._tried_broker(
            broker, code, {}, self._listed(f"broker {broker}", code, answers.groups)
        )

    async def _group_names(self, topics: list[str]) -> list[str]:
        """Return wanted groups: those that brokers have settings for, and those that have a retry
        topic.
        """
        found = {
            topic.removeprefix(RETRY_PREFIX) for topic in topics if topic.startswith(RETRY_PREFIX)
        }
        asked = await asyncio.gather(*map(self._settings, self.brokers))
        for broker, (groups, _) in zip(self.brokers, asked, strict=True):
            for name, settings in (groups or {}).items():
                found.add(name)
                if not settings.may_consume:
                    self._paused.setdefault(name, []).append(broker)
                if settings.lite_topic is not None:
                    self._lite.setdefault(name, settings.lite_topic)
        is_wanted = matcher(tuple(self.wanted.groups))
        return sorted(n for n in found if is_wanted(n) and not answers.is_system_group(n))

    async def _known_to(self, group: str) -> dict[str, answers.Connections]:
        """Return the group as every broker knows it; a broker that does not is left out."""
        found = zip(
            self.brokers,
            await asyncio.gather(*(self._list(group, one) for one in self.brokers)),
            strict=True,
        )
        return {name: view for name, (view, _) in found if view is not None}

    async def _list(self, group: str, broker: str) -> tuple[answers.Connections | None, bool]:
        """Return a group as one broker knows it, see `_tried`."""
        code, fields = ReadCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}
        return await self._tried_broker(broker, code, fields, answers.connections)

    async def _route(self, topic: str) -> tuple[Topic | None, bool]:
        """Return a topic, see `_tried`."""
        code, fields = (
            ReadCode.GET_ROUTE_INFO_BY_TOPIC,
            {"topic": topic, "acceptStandardJsonOnly": "true"},
        )
        read = partial(answers.route, topic)
        return await self._tried(
            NAME_SERVER, of_route(topic), lambda: self.remote.ask_name_server(code, fields, read)
        )

    async def _from_name_server(
        self, code: ReadCode, fields: Mapping[str, str], request: str, read: Callable[[Any], T]
    ) -> T | None:
        """Return what the name server answers, None if there is nothing or it failed."""
        return (
            await self._tried(
                NAME_SERVER, request, lambda: self.remote.ask_name_server(code, fields, read)
            )
        )[0]

    async def _group(
        self, name: str, view: dict[str, answers.Connections], routes: Mapping[str, Topic]
    ) -> Group:
        """Return one group with everything that is wanted of it."""
        infos, (lags, tps) = await asyncio.gather(
            self._infos(name, view), self._lags(name, view, routes)
        )
        modes = await self._request_modes() if members.may_be_assigned(view, infos) else None
        group = members.group(name, view, infos, routes, lags, tps, modes, self._lite.get(name))
        missing = {} if modes is None else self._modes_missing()
        unknown = self._not_answered(group, infos) | missing | dict(group.unknown)
        return replace(group, paused_brokers=tuple(self._paused.get(name, ())), unknown=unknown)

    def _not_answered(
        self, group: Group, infos: Mapping[str, answers.RunningInfo]
    ) -> dict[str, str]:
        """Return what is not known of a group because clients did not answer while others did, or
        because none is there.
        """
        asked = {one.client_id: one for one in group.clients if not is_behind_proxy(one.client_id)}
        silent = [one for one in asked if one not in infos] if infos else []
        return (
            {"subscriptions": f"{named(silent)} did not say what they subscribe to"}
            if silent
            else {}
        )

    def _modes_missing(self) -> dict[str, str]:
        """Return that it is not known whether brokers share the queues of a group that they assign."""
        if (
            self._failed_modes is None
        ):  # once: all of them have been asked, and there may be an error for every group
            self._failed_modes = [one.source for one in self.errors if one.request in _OF_MODES]
        failed = self._failed_modes
        return (
            {"brokers": f"{named(failed)} did not say whether clients share queues (POP)"}
            if failed
            else {}
        )

    async def _infos(
        self, group: str, view: dict[str, answers.Connections]
    ) -> dict[str, answers.RunningInfo]:
        """Return what every client says of itself; each is asked once, and which broker it goes
        through is spread evenly.

        Clients behind a proxy never answer and are not asked.
        """
        through = self._relays(view)
        found = await asyncio.gather(
            *(self._info(group, one, broker) for one, broker in through.items())
        )
        return {
            one: info for one, (info, _) in zip(through, found, strict=True) if info is not None
        }

    def _relays(self, view: dict[str, answers.Connections]) -> dict[str, str]:
        """Return, by the client ids to ask, the broker that each is asked through."""
        if not self.wanted.running_info:
            return {}
        listing: dict[str, list[str]] = defaultdict(list)
        for broker, known in view.items():
            for client_id in dict.fromkeys(
                c.client_id for c in known.connections if not is_behind_proxy(c.client_id)
            ):
                listing[client_id].append(broker)
        return {one: self._relay(one, brokers) for one, brokers in listing.items()}

    async def _info(
        self, group: str, client_id: str, broker: str
    ) -> tuple[answers.RunningInfo | None, bool]:
        """Return what one client says of itself, see `_tried`."""
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        return await self._tried_broker(
            broker, ReadCode.GET_CONSUMER_RUNNING_INFO, fields, answers.running_info
        )

    def _relay(self, client_id: str, brokers: list[str]) -> str:
        """Return the broker, of those that list a client, through which it is asked."""
        able = [
            name for name in brokers if self.remote.is_asked(self.brokers[name].address)
        ] or brokers
        return able[crc32(client_id.encode()) % len(able)]

    async def _request_modes(self) -> dict[str, answers.Modes]:
        """Return what brokers go by when they assign queues, asked once and only if some group
        needs it.
        """
        if self._modes is None:
            self._modes = asyncio.create_task(self._asked_modes())
        return await self._modes

    async def _asked_modes(self) -> dict[str, answers.Modes]:
        found = await asyncio.gather(*map(self._modes_of, self.brokers))
        return {
            name: modes
            for name, modes in zip(self.brokers, found, strict=True)
            if modes is not None
        }

    async def _modes_of(self, broker: str) -> answers.Modes | None:
        code = ReadCode.GET_ALL_MESSAGE_REQUEST_MODE
        # Brokers before 5.0 do not know the request and assign nothing.
        given = await self._ask_broker(
            broker, code, {}, answers.request_modes, (*_NOT_THERE, _NOT_KNOWN)
        )
        if given is None:
            return None
        default = await self._ask_broker(
            broker, ReadCode.GET_BROKER_CONFIG, {}, answers.default_mode
        )
        return answers.Modes(given, default)

    async def _lags(
        self, group: str, view: dict[str, answers.Connections], routes: Mapping[str, Topic]
    ) -> tuple[tuple[Lag, ...], float | None]:
        """Return how far every queue has been consumed, and messages per second; None where nobody
        was asked.

        Of a group without clients no broker knows the topics, so all are asked what it committed
        there.
        """
        if not self.wanted.lag:
            return (), None
        asked = (self._stats(group, name) for name in sorted(self._holders(view, routes)))
        found = [part for part, _ in await asyncio.gather(*asked) if part is not None]
        lags = sorted((lag for part, _ in found for lag in part), key=lambda lag: lag.queue)
        return tuple(lags), sum(tps for _, tps in found) if found else None

    def _holders(
        self, view: dict[str, answers.Connections], routes: Mapping[str, Topic]
    ) -> set[str]:
        """Return brokers that may have offsets of a group."""
        topics = {topic for one in view.values() for topic in one.subscriptions}
        holders = {
            b.broker_name for topic in topics if topic in routes for b in routes[topic].brokers
        }
        return holders & self.brokers.keys() if view else {*self.brokers}

    async def _stats(self, group: str, broker: str) -> tuple[tuple[list[Lag], float] | None, bool]:
        """Return the offsets of a group at one broker, and messages per second, see `_tried`."""
        return await self._tried_broker(
            broker, ReadCode.GET_CONSUME_STATS, {"consumerGroup": group}, answers.lags
        )

    async def _ask_broker(
        self,
        broker: str,
        code: ReadCode,
        fields: Mapping[str, str],
        read: Callable[[Any], T],
        no_errors: Collection[int] = _NOT_THERE,
    ) -> T | None:
        """Return what a broker answers; None if it does not know of it, or if it could not be asked
        (then also an error).
        """
        return (await self._tried_broker(broker, code, fields, read, no_errors))[0]

    async def _tried_broker(
        self,
        broker: str,
        code: ReadCode,
        fields: Mapping[str, str],
        read: Callable[[Any], T],
        no_errors: Collection[int] = _NOT_THERE,
    ) -> tuple[T | None, bool]:
        """Return what a broker answers, see `_tried`."""

        async def ask() -> T:
            found: T = (
                await self.remote.ask(self.brokers[broker].address, code, fields, read=read)
            )[0]
            return found

        asked = ", ".join(value for key, value in fields.items() if key != "jstackEnable")
        return await self._tried(f"broker {broker}", f"{code.name} {asked}".strip(), ask, no_errors)

    async def _tried(
        self,
        source: str,
        request: str,
        ask: Callable[[], Awaitable[T]],
        no_errors: Collection[int] = _NOT_THERE,
    ) -> tuple[T | None, bool]:
        """Return an answer, None if there is none, and whether that is known; a failure is kept as
        an error of the snapshot.
        """
        self._known += 1
        try:
            return await ask(), True
        except (RemotingError, ResponseError, AnswerError) as error:
            if isinstance(error, ResponseError) and error.code in no_errors:
                return None, True
            self.errors.append(SourceError(source, request, intern(one_line(str(error)))))
            return None, False
        finally:
            self._answered += 1
            if self.on_progress is not None:
                self.on_progress(self._answered, self._known)

    def _is_wanted(self, view: dict[str, answers.Connections]) -> bool:
        """Return whether a group may read a wanted topic; of one without clients only its offsets
        say it.
        """
        if self.wanted.topics == ("*",) or not view:
            return True
        return any(self._has_topic(topic) for one in view.values() for topic in one.subscriptions)

    def _reads_wanted(self, group: Group) -> bool:
        """Return whether a group without clients has offsets of a wanted topic; others were chosen
        by their subscriptions.
        """
        is_chosen = self.wanted.topics == ("*",) or bool(group.clients)
        return is_chosen or any(map(self._has_topic, group.subscriptions))

    def _is_user_topic(self, name: str) -> bool:
        """Return whether it is not one of those that RocketMQ makes for itself."""
        return name not in self._own_topics and not is_system_topic(name)
