"""Unknown facts of a snapshot: facts listed in ``unknown``, and answers of requests that failed.

The rule: a missing answer proves nothing. A fact is known, known in part or unknown, and
conclusions from an unknown fact are unknown. So code that draws a conclusion from an absence (a
group without clients, a topic without subscribers, a queue that no client reports) checks here
first whether the absence is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from typing import NamedTuple

from rmqalloc.lazy import lazy_property
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import Group, Snapshot, SourceError, Topic
from rmqalloc.text import printable

KINDS = ("clients", "subscriptions", "owners", "lags", "routes", "brokers")
"""Kinds of facts that a snapshot may lack."""

_ALL = ""
_BROKER = "broker "
_OF_ROUTE = "route of topic "
_OF_GROUP = re.compile(r"([A-Z_]+) ([^,]+)(?:, (.*))?", re.DOTALL)
"""Request about one group, perhaps about one client of it."""
_OF_SERVER = re.compile(r"[A-Z_]+")  # about all that a server knows

_HIDES: dict[str, tuple[str, ...]] = {
    ReadCode.GET_CONSUMER_CONNECTION_LIST.name: ("clients", "subscriptions"),
    ReadCode.GET_CONSUMER_RUNNING_INFO.name: ("owners", "subscriptions"),
    ReadCode.GET_CONSUME_STATS.name: ("lags",),
    ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG.name: ("subscriptions",),
    ReadCode.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER.name: ("subscriptions", "routes"),
    ReadCode.GET_ALL_MESSAGE_REQUEST_MODE.name: (),  # whose readers are not known by it, the reader of clusters says
    ReadCode.GET_BROKER_CONFIG.name: (),
    ReadCode.GET_NAMESRV_CONFIG.name: (),  # the role of a broker says itself that it is in doubt
}
"""Kinds of facts that a request answers: of a group if it names one, else of any."""


LEFT_OUT = "left out, for it cannot be read"
"""Begins the message of an error about one entry of a list that was read."""


def of_route(topic: str) -> str:
    """Return the name of a request for a route in errors."""
    return f"{_OF_ROUTE}{topic}"


def without_brokers(errors: Iterable[SourceError]) -> SourceError | None:
    """Return the error that no name server listed the brokers, None if one did.

    Examples
    --------
    >>> failed = SourceError("name server", "GET_BROKER_CLUSTER_INFO", "timeout")
    >>> without_brokers([failed]) is failed
    True
    >>> without_brokers([SourceError("name server", "GET_BROKER_CLUSTER_INFO", f"{LEFT_OUT}: no address")])
    """
    name = ReadCode.GET_BROKER_CLUSTER_INFO.name
    failed = (error for error in errors if error.request == name)
    return next((error for error in failed if not error.message.startswith(LEFT_OUT)), None)


class NotKnown(NamedTuple):
    """A fact that is not known, or known only in part."""

    kind: str  # one of `KINDS`
    # the consumer group, for routes the topic, for brokers the broker; empty where any may be there
    # that is not
    subject: str
    reason: str  # why it is not known
    is_scope: bool = False  # whether it only says what was given: that there may be more of which nothing here depends


def words_by_kind(found: Iterable[NotKnown]) -> list[str]:
    """Return unknown facts as the end of a sentence for each kind of fact.

    Examples
    --------
    >>> facts = [NotKnown("routes", "T", "timeout"), *(NotKnown("clients", name, "no list is given") for name in "ab")]
    >>> words_by_kind([*facts, NotKnown("clients", "c", "timeout")])
    ['clients of a, b (no list is given), of c (timeout)', 'routes of T (timeout)']
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for fact in found:
        reasons.setdefault(fact.kind, {}).setdefault(fact.reason, []).append(fact.subject)
    found_words = []
    for kind in KINDS:
        if kind in reasons:
            words = starmap(_subjects_words, reasons[kind].items())
            found_words.append(f"{kind} {', '.join(words)}")
    return found_words


def _subjects_words(reason: str, subjects: Sequence[str]) -> str:
    names = [printable(subject) for subject in subjects if subject]
    return f"of {named(names)} ({printable(reason)})" if names else f"({printable(reason)})"


class Unknowns:
    """Facts that a snapshot does not know, by kind and subject.

    Examples
    --------
    >>> lost = SourceError("broker b", "GET_CONSUMER_CONNECTION_LIST orders", "timeout")
    >>> unknown = Unknowns(Snapshot(errors=(lost,)))
    >>> unknown.why("clients", "orders"), unknown.why("clients", "refunds")
    ('broker b: GET_CONSUMER_CONNECTION_LIST orders: timeout', None)
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._errors = snapshot, snapshot.errors
        self._reasons: dict[tuple[str, str], str] = {}
        self._silent: dict[str, list[str]] = {}
        self.anything: str | None = None
        """Why any fact may be missing: a request failed of which it is not known what it answers."""
        for error in snapshot.errors:
            self._keep_error(error)
        self._scope = dict(snapshot.unknown)
        self._keep(snapshot.unknown, _ALL)
        for group in snapshot.groups:
            if group.unknown:
                self._keep(group.unknown, group.name)
        for topic in snapshot.topics:
            if topic.unknown:
                self._keep(topic.unknown, topic.name)
        for broker in snapshot.brokers:
            if broker.is_silent:
                self._keep({"brokers": "it does not answer"}, broker.broker_name)

    @property
    def is_empty(self) -> bool:
        """Whether every fact is known.

        Examples
        --------
        >>> failed = SourceError("broker b", "NEW_REQUEST", "timeout")
        >>> Unknowns(Snapshot()).is_empty, Unknowns(Snapshot(errors=(failed,))).is_empty
        (True, False)
        """
        return not (self._reasons or self.anything)

    @lazy_property
    def _brokers(self) -> set[str]:
        brokers = chain.from_iterable(topic.brokers for topic in self._snapshot.topics)
        return {broker.broker_name for broker in brokers}

    @lazy_property
    def _topics(self) -> set[str]:
        return {topic.name for topic in self._snapshot.topics}

    def _keep(self, reasons: Mapping[str, str], subject: str) -> None:
        for kind, reason in reasons.items():
            self._reasons.setdefault((kind, subject), reason)

    def _keep_error(self, error: SourceError) -> None:
        reason, request = f"{error.source}: {error.request}: {error.message}", error.request
        if request.startswith(_OF_ROUTE):
            self._keep({"routes": reason}, request.removeprefix(_OF_ROUTE))
            return
        asked = _OF_GROUP.fullmatch(request)
        name, subject = (asked[1], asked[2]) if asked else (request, _ALL)
        if asked and asked[3] and name == ReadCode.GET_CONSUMER_RUNNING_INFO.name:
            self._silent.setdefault(subject, []).append(asked[3])
        if name not in _HIDES:
            self.anything = self.anything or reason
        self._keep(dict.fromkeys(_HIDES.get(name, ()), reason), subject)

    def __iter__(self) -> Iterator[NotKnown]:
        """Yield all unknown facts: those of failed requests first, then those that the snapshot
        lists itself.
        """
        for (kind, subject), reason in self._reasons.items():
            yield NotKnown(kind, subject, reason)

    def why(self, kind: str, subject: str) -> str | None:
        """Return why a fact of a group, topic or broker is not known, or not whole; None if it is."""
        return self._reasons.get((kind, subject)) or self.anything

    def why_more(self, kind: str) -> str | None:
        """Return why there may be groups (``subscriptions``) or topics (``routes``) that the
        snapshot does not have.
        """
        return self._reasons.get((kind, _ALL)) or self.anything

    def scope(self) -> Iterator[NotKnown]:
        """Yield the parts of the cluster that the snapshot leaves out by its own account."""
        for kind, reason in self._scope.items():
            yield NotKnown(kind, _ALL, reason, is_scope=True)

    def hides_group(self, name: str) -> bool:
        """Check whether a group may exist that the snapshot does not have."""
        return bool(self.why_more("subscriptions") or self.why("clients", name))

    def hides_clients(self, group: str) -> bool:
        """Check whether a group may have more clients."""
        return self.why("clients", group) is not None

    def why_route(self, topic: str) -> str | None:
        """Return why the route of a topic is not known, or only in part; None if it is known, or
        known not to exist.
        """
        why = self.why("routes", topic)
        return why or (self.why_more("routes") if topic not in self._topics else None)

    def hides_topic(self, name: str) -> bool:
        """Check whether a topic, or more of its brokers, may exist that the snapshot does not have."""
        return self.why_route(name) is not None

    def silent_broker_of(self, topics: Iterable[str]) -> str | None:
        """Return a broker with queues of some topics that does not answer; None if all of them do."""
        if not self._silent_brokers:
            return None
        for topic in topics:
            if topic in self._silent_brokers:
                return self._silent_brokers[topic][0]
        return None

    @lazy_property
    def _silent_brokers(self) -> dict[str, list[str]]:
        """Brokers with queues that do not answer, by topic."""
        silent = {broker.broker_name for broker in self._snapshot.brokers if broker.is_silent}
        found: dict[str, list[str]] = {}
        for topic in self._snapshot.topics if silent else ():
            for broker in topic.brokers:
                has_queues = broker.is_readable and broker.read_queue_nums > 0
                if has_queues and broker.broker_name in silent:
                    found.setdefault(topic.name, []).append(broker.broker_name)
        return found

    def silent_clients(self, group: str) -> tuple[str, ...]:
        """Return ids of a group's clients that did not answer which queues they own."""
        return tuple(self._silent.get(group, ()))

    # --- The requests themselves ---

    def touching(self, group: Group, topics: Iterable[Topic]) -> list[str]:
        """Return unknown facts that concern a group, given the topics that it reads: kinds of facts
        with the reason, and failed requests; a request about nothing known concerns all groups.
        """
        found = [f"{kind}: {reason}" for kind, reason in group.unknown.items()]
        if not self._errors:
            return found
        for subject in dict.fromkeys(_subjects(group, topics)):
            found += self._failed.get(subject, ())
        return found

    @lazy_property
    def _failed(self) -> dict[_Subject, list[str]]:
        """Failed requests by subject."""
        found: dict[_Subject, list[str]] = {}
        for error in self._errors:
            text = f"{error.request} of {error.source}: {error.message}"
            found.setdefault(self._subject(error), []).append(text)
        return found

    def _subject(self, error: SourceError) -> _Subject:
        if error.request.startswith(_OF_ROUTE):
            return _Subject("topic", error.request.removeprefix(_OF_ROUTE))
        asked = _OF_GROUP.fullmatch(error.request)
        if asked:
            return _Subject("group", asked[2])
        name = error.source.removeprefix(_BROKER)
        if _OF_SERVER.fullmatch(error.request) and name in self._brokers:
            return _Subject("broker", name)
        return _Subject("all")


class _Subject(NamedTuple):
    """The subject of a request: a topic, a group, a broker, or all of them."""

    kind: str
    name: str = ""


def _subjects(group: Group, topics: Iterable[Topic]) -> Iterator[_Subject]:
    yield _Subject("group", group.name)
    for name in group.subscriptions:
        yield _Subject("topic", name)
    for topic in topics:
        for broker in topic.brokers:
            yield _Subject("broker", broker.broker_name)
    yield _Subject("all")
