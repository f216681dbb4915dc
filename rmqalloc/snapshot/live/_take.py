"""Reading a running cluster: which requests are sent, in which order, and how partial answers are
kept.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from sys import intern
from typing import Any, Generic, NamedTuple, TypeVar
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
from rmqalloc.snapshot.snapshot import Broker, Group, Snapshot, SourceError, Topic
from rmqalloc.snapshot.system_topics import is_system_topic
from rmqalloc.snapshot.unknown import LEFT_OUT, of_route
from rmqalloc.text import matcher

NAME_SERVER = "name server"
_NOT_THERE = (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.TOPIC_NOT_EXIST)
_NOT_KNOWN = ResponseCode.REQUEST_CODE_NOT_SUPPORTED

_OF_MODES = (ReadCode.GET_ALL_MESSAGE_REQUEST_MODE.name, ReadCode.GET_BROKER_CONFIG.name)

_ERROR_ORDER = attrgetter("source", "request", "message")
_MOST_LEFT_OUT = 20  # entries of one list that cannot be read and are named one by one

T = TypeVar("T")


class Answer(NamedTuple, Generic[T]):
    """The answer to one request: None where there is nothing, or where the request failed."""

    value: T | None
    is_known: bool  # False where the request failed


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts of a cluster to read."""

    # patterns with ``*``, ``?`` and ``[...]``. With patterns of topics only groups that subscribe
    # to such a topic are read
    groups: tuple[str, ...] = ("*",)
    topics: tuple[str, ...] = ("*",)
    lag: bool = True  # ask how far every queue has been consumed
    running_info: bool = True  # ask every client, through its broker, which queues it owns


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
        names = await self._topic_names() or []
        self._answered = self._known = 0  # how much there is, is only known from here on
        known = await self._group_names(names)
        asked = await asyncio.gather(*(self._known_to(group) for group in known))
        views = {
            group: view for group, view in zip(known, asked, strict=True) if self._is_wanted(view)
        }
        topics = self._topics_of(views) | self._wanted_topics(names)
        found = await asyncio.gather(*(self._route(topic) for topic in sorted(topics)))
        routes = {answer.value.name: answer.value for answer in found if answer.value is not None}
        reads = [self._group(group, view, routes) for group, view in views.items()]
        return self._snapshot(routes.values(), await asyncio.gather(*reads))

    def _topics_of(self, views: Mapping[str, dict[str, answers.Connections]]) -> set[str]:
        """Return topics that groups subscribe to."""
        topics = {self._lite[group] for group in views if group in self._lite}
        return topics.union(*map(members.topics_of, views.values()))

    def _wanted_topics(self, names: Iterable[str]) -> set[str]:
        """Return wanted topics, with or without a subscription."""
        return {name for name in names if self._is_user_topic(name) and self._has_topic(name)}

    def _snapshot(self, routes: Iterable[Topic], found: Iterable[Group]) -> Snapshot:
        """Return everything that was read."""
        groups = tuple(filter(self._reads_wanted, found))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        errors = tuple(sorted(self.errors, key=_ERROR_ORDER))
        brokers = []
        for broker in self.brokers.values():
            is_silent = not self.remote.is_up(broker.address)
            brokers.append(replace(broker, is_silent=is_silent))
        unknown = {}
        if self.wanted.groups != ("*",):
            patterns = ", ".join(self.wanted.groups)
            unknown["subscriptions"] = f"only groups such as {patterns} were read"
        return Snapshot(tuple(routes), groups, errors, now, brokers=tuple(brokers), unknown=unknown)

    async def _read_cluster(self) -> None:
        """Read the brokers, which all other requests need."""
        code = ReadCode.GET_BROKER_CLUSTER_INFO

        def brokers_and_clusters(
            body: Any, on_left_out: answers.OnLeftOut
        ) -> tuple[tuple[Broker, ...], list[str]]:
            return answers.brokers(body, on_left_out), answers.clusters(body, on_left_out)

        read = self._listed(NAME_SERVER, code, brokers_and_clusters)
        try:
            brokers, clusters = await self.remote.ask_name_server(code, read=read)
        except AnswerError as error:
            raise RemotingError(f"no name server lists its brokers: {error}") from error
        self.brokers = {broker.broker_name: broker for broker in await self._with_roles(brokers)}
        # Every broker and every cluster has a topic of its own name.
        self._own_topics = {*self.brokers, *clusters}

    async def _with_roles(self, brokers: tuple[Broker, ...]) -> tuple[Broker, ...]:
        """Return the brokers with the roles of slaves whose broker has no master; a setting of the
        name server decides about them, too.
        """
        if all(broker.role != "ACTING_MASTER" for broker in brokers):
            return brokers
        code, read = ReadCode.GET_NAMESRV_CONFIG, answers.supports_acting_master
        answer = await self._tried_name_server(code, {}, code.name, read)
        if answer.value:
            return brokers
        doubt = (
            "the name server did not report whether slaves may act as master (supportActingMaster)"
        )
        change: dict[str, Any] = (
            {"role_doubt": doubt} if answer.value is None else {"role": "SLAVE"}
        )
        return tuple(
            replace(broker, **change) if broker.role == "ACTING_MASTER" else broker
            for broker in brokers
        )

    def _listed(
        self, source: str, code: ReadCode, read: Callable[[Any, answers.OnLeftOut], T]
    ) -> Callable[[Any], T]:
        """Return a reader of a list that keeps what it leaves out as errors."""

        def listed(body: Any) -> T:
            left_out: list[str] = []
            found = read(body, lambda error: left_out.append(str(error)))
            for reason in first_of(left_out, _MOST_LEFT_OUT):
                message = one_line(f"{LEFT_OUT}: {reason}")
                self.errors.append(SourceError(source, code.name, message))
            return found

        return listed

    async def _topic_names(self) -> list[str] | None:
        """Return topics that the name server lists, each once; None if the request failed."""
        code = ReadCode.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER
        read = self._listed(NAME_SERVER, code, answers.topic_names)
        answer = await self._tried(
            NAME_SERVER, code.name, lambda: self.remote.ask_name_server(code, read=read)
        )
        return list(dict.fromkeys(answer.value or ())) if answer.is_known else None

    async def _settings(self, broker: str) -> Answer[dict[str, answers.GroupConfig]]:
        """Return the groups that a broker has settings for."""
        code = ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG
        read = self._listed(f"broker {broker}", code, answers.groups)
        return await self._tried_broker(broker, code, {}, read)

    async def _group_names(self, topics: list[str]) -> list[str]:
        """Return wanted groups: those that brokers have settings for, and those that have a retry
        topic.
        """
        found = {
            topic.removeprefix(RETRY_PREFIX) for topic in topics if topic.startswith(RETRY_PREFIX)
        }
        asked = await asyncio.gather(*map(self._settings, self.brokers))
        for broker, answer in zip(self.brokers, asked, strict=True):
            for name, settings in (answer.value or {}).items():
                found.add(name)
                if not settings.may_consume:
                    self._paused.setdefault(name, []).append(broker)
                if settings.lite_topic is not None:
                    self._lite.setdefault(name, settings.lite_topic)
        is_wanted = matcher(tuple(self.wanted.groups))
        names = [name for name in found if is_wanted(name)]
        return sorted(name for name in names if not answers.is_system_group(name))

    async def _known_to(self, group: str) -> dict[str, answers.Connections]:
        """Return a group as each broker knows it, without brokers that do not."""
        asked = await asyncio.gather(*(self._list(group, broker) for broker in self.brokers))
        view = {}
        for broker, answer in zip(self.brokers, asked, strict=True):
            if answer.value is not None:
                view[broker] = answer.value
        return view

    async def _list(self, group: str, broker: str) -> Answer[answers.Connections]:
        """Return a group as one broker knows it."""
        code, fields = ReadCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}
        return await self._tried_broker(broker, code, fields, answers.connections)

    async def _route(self, topic: str) -> Answer[Topic]:
        code = ReadCode.GET_ROUTE_INFO_BY_TOPIC
        fields = {"topic": topic, "acceptStandardJsonOnly": "true"}
        read = partial(answers.route, topic)
        return await self._tried_name_server(code, fields, of_route(topic), read)

    async def _group(
        self, name: str, view: dict[str, answers.Connections], routes: Mapping[str, Topic]
    ) -> Group:
        """Return one group with everything that is wanted of it."""
        infos, offsets = await asyncio.gather(
            self._infos(name, view), self._offsets(name, view, routes)
        )
        modes = await self._request_modes() if members.may_be_assigned(view, infos) else None
        group = members.group(
            name,
            view,
            infos,
            routes,
            lags=offsets.lags,
            consume_tps=offsets.consume_tps,
            modes=modes,
            lite_topic=self._lite.get(name),
        )
        missing = {} if modes is None else self._modes_missing()
        unknown = self._not_answered(group, infos) | missing | dict(group.unknown)
        return replace(group, paused_brokers=tuple(self._paused.get(name, ())), unknown=unknown)

    def _not_answered(
        self, group: Group, infos: Mapping[str, answers.RunningInfo]
    ) -> dict[str, str]:
        """Return what is not known of a group because some of its clients did not answer."""
        if not infos:
            return {}
        client_ids = dict.fromkeys(client.client_id for client in group.clients)
        asked = [client_id for client_id in client_ids if not is_behind_proxy(client_id)]
        silent = [client_id for client_id in asked if client_id not in infos]
        if not silent:
            return {}
        return {"subscriptions": f"{named(silent)} did not report their subscriptions"}

    def _modes_missing(self) -> dict[str, str]:
        """Return which brokers did not report whether clients share queues that brokers assign."""
        if self._failed_modes is None:
            # Once: all brokers have been asked, and there may be an error for every group.
            failed = [error.source for error in self.errors if error.request in _OF_MODES]
            self._failed_modes = failed
        if not self._failed_modes:
            return {}
        silent = named(self._failed_modes)
        return {"brokers": f"{silent} did not report whether clients share queues (POP)"}

    async def _infos(
        self, group: str, view: dict[str, answers.Connections]
    ) -> dict[str, answers.RunningInfo]:
        """Return the running info of each client, which is requested once and through one broker,
        so that requests are spread evenly.

        Clients behind a proxy never answer and are not asked.
        """
        relays = self._relays(view)
        reads = [self._info(group, client_id, broker) for client_id, broker in relays.items()]
        infos = {}
        for client_id, answer in zip(relays, await asyncio.gather(*reads), strict=True):
            if answer.value is not None:
                infos[client_id] = answer.value
        return infos

    def _relays(self, view: dict[str, answers.Connections]) -> dict[str, str]:
        """Return, by client id, the broker through which the client is asked."""
        if not self.wanted.running_info:
            return {}
        listing: dict[str, list[str]] = defaultdict(list)
        for broker, known in view.items():
            for client_id in dict.fromkeys(client.client_id for client in known.connections):
                if not is_behind_proxy(client_id):
                    listing[client_id].append(broker)
        return {
            client_id: self._relay(client_id, brokers) for client_id, brokers in listing.items()
        }

    async def _info(self, group: str, client_id: str, broker: str) -> Answer[answers.RunningInfo]:
        code = ReadCode.GET_CONSUMER_RUNNING_INFO
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        return await self._tried_broker(broker, code, fields, answers.running_info)

    def _relay(self, client_id: str, brokers: list[str]) -> str:
        """Return the broker, of those that list a client, through which it is asked."""
        able = [name for name in brokers if self.remote.is_asked(self.brokers[name].address)]
        able = able or brokers
        return able[crc32(client_id.encode()) % len(able)]

    async def _request_modes(self) -> dict[str, answers.Modes]:
        """Return the settings by which brokers assign queues, requested once, and only if a group
        needs them.
        """
        if self._modes is None:
            self._modes = asyncio.create_task(self._asked_modes())
        return await self._modes

    async def _asked_modes(self) -> dict[str, answers.Modes]:
        found = await asyncio.gather(*map(self._modes_of, self.brokers))
        pairs = zip(self.brokers, found, strict=True)
        return {name: modes for name, modes in pairs if modes is not None}

    async def _modes_of(self, broker: str) -> answers.Modes | None:
        code, read = ReadCode.GET_ALL_MESSAGE_REQUEST_MODE, answers.request_modes
        # Brokers before 5.0 do not know the request and assign nothing.
        given = await self._tried_broker(broker, code, {}, read, (*_NOT_THERE, _NOT_KNOWN))
        if given.value is None:
            return None
        config = ReadCode.GET_BROKER_CONFIG
        default = await self._tried_broker(broker, config, {}, answers.default_mode)
        return answers.Modes(given.value, default.value)

    async def _offsets(
        self, group: str, view: dict[str, answers.Connections], routes: Mapping[str, Topic]
    ) -> members.Offsets:
        """Return the offsets of a group from all brokers that may have some.

        No broker knows the topics of a group without clients, so all brokers are asked for what it
        committed there.
        """
        if not self.wanted.lag:
            return members.Offsets()
        holders = sorted(self._holders(view, routes))
        asked = await asyncio.gather(*(self._stats(group, broker) for broker in holders))
        found = [answer.value for answer in asked if answer.value is not None]
        return members.Offsets.of(found)

    def _holders(
        self, view: dict[str, answers.Connections], routes: Mapping[str, Topic]
    ) -> set[str]:
        """Return brokers that may have offsets of a group."""
        if not view:
            return {*self.brokers}
        return members.brokers_of(members.topics_of(view), routes) & self.brokers.keys()

    async def _stats(self, group: str, broker: str) -> Answer[answers.ConsumeStats]:
        """Return the offsets of a group at one broker."""
        code, fields = ReadCode.GET_CONSUME_STATS, {"consumerGroup": group}
        return await self._tried_broker(broker, code, fields, answers.lags)

    async def _tried_broker(
        self,
        broker: str,
        code: ReadCode,
        fields: Mapping[str, str],
        read: Callable[[Any], T],
        no_errors: Collection[int] = _NOT_THERE,
    ) -> Answer[T]:
        """Return the answer of a broker, see `_tried`."""
        address = self.brokers[broker].address

        async def ask() -> T:
            content: T
            content, _ = await self.remote.ask(address, code, fields, read=read)
            return content

        asked = ", ".join(value for key, value in fields.items() if key != "jstackEnable")
        return await self._tried(f"broker {broker}", f"{code.name} {asked}".strip(), ask, no_errors)

    async def _tried_name_server(
        self, code: ReadCode, fields: Mapping[str, str], request: str, read: Callable[[Any], T]
    ) -> Answer[T]:
        """Return the answer of a name server, see `_tried`."""
        return await self._tried(
            NAME_SERVER, request, lambda: self.remote.ask_name_server(code, fields, read)
        )

    async def _tried(
        self,
        source: str,
        request: str,
        ask: Callable[[], Awaitable[T]],
        no_errors: Collection[int] = _NOT_THERE,
    ) -> Answer[T]:
        """Return the answer to a request; a failure is kept as an error of the snapshot."""
        self._known += 1
        try:
            return Answer(await ask(), is_known=True)
        except (RemotingError, ResponseError, AnswerError) as error:
            if isinstance(error, ResponseError) and error.code in no_errors:
                return Answer(None, is_known=True)
            self.errors.append(SourceError(source, request, intern(one_line(str(error)))))
            return Answer(None, is_known=False)
        finally:
            self._answered += 1
            if self.on_progress is not None:
                self.on_progress(self._answered, self._known)

    def _is_wanted(self, view: dict[str, answers.Connections]) -> bool:
        """Check that a group may read a wanted topic; one without clients may, until its offsets
        are known.
        """
        if self.wanted.topics == ("*",) or not view:
            return True
        return any(map(self._has_topic, members.topics_of(view)))

    def _reads_wanted(self, group: Group) -> bool:
        """Check that a group without clients has offsets of a wanted topic; other groups were
        chosen by their subscriptions.
        """
        is_chosen = self.wanted.topics == ("*",) or bool(group.clients)
        return is_chosen or any(map(self._has_topic, group.subscriptions))

    def _is_user_topic(self, name: str) -> bool:
        """Check that a topic is not one that RocketMQ makes for itself."""
        return name not in self._own_topics and not is_system_topic(name)
