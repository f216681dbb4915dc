"""Why a client owns a queue: the very sums that the client does, with their numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import IO, Any, ClassVar

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.assigner import MAX_POINTS
from rmqalloc.evidence import Known, Verb
from rmqalloc.evidence.method import Rooms
from rmqalloc.evidence.views.group_views import GroupViews, ViewReader
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.evidence.views.view import View
from rmqalloc.evidence.views.view_rows import differ
from rmqalloc.model import MAX_OF_ROW, MessageQueue
from rmqalloc.ownership.present_states import present_states
from rmqalloc.ownership.queue_states import COMPUTED, UNKNOWN
from rmqalloc.results import TableResult
from rmqalloc.results.and_more import named
from rmqalloc.results.table_result import checked_top
from rmqalloc.results.tabular import Rows
from rmqalloc.results.wrapping import fields, wrapped
from rmqalloc.snapshot.matching import by_name, no_match
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.snapshot.units import batch_of, unit_pairs
from rmqalloc.strategies import Strategy, sort_client_ids, sort_queues
from rmqalloc.strategies.by_name import rule
from rmqalloc.strategies.ordering import utf16
from rmqalloc.text import counted, literal, nearest, printable


@dataclass(frozen=True, repr=False)
class Explanation(TableResult):
    """The owner of a queue and the reasoning.

    Attributes
    ----------
    consumer_group : str
    queue : MessageQueue
    strategy : str
        RocketMQ's name of it.
    owner : str or None
        Client id, the first in Java's order if there are several; None if the queue is unowned or
        the owner is not known.
    n_queues, n_clients : int
        Number of queues of the topic and of clients of the group.
    queue_place : int
        Number of the queue in Java's sort order, from 0.
    steps : tuple of str
        The steps of the reasoning, one sentence each.
    facts : mapping
        Its numbers, for programs.
    others : tuple of str
        Further owners, if the group's clients differ. The steps are then listed by view.
    known : {"reported", "computed", "unknown"}
        How the present owner is known.
    computed : tuple of str
        Client ids that take the queue by these steps, independent of reports.
    detail : str
        Why the owner is not known; empty if it is known.
    """

    TABLES: ClassVar = ()

    consumer_group: str
    queue: MessageQueue
    strategy: str
    owner: str | None
    n_queues: int
    n_clients: int
    queue_place: int
    steps: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    known: str = COMPUTED
    computed: tuple[str, ...] = ()
    detail: str = ""

    def lines(self, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
        """Yield the steps in order, and their result. ``top`` does not shorten them."""
        checked_top(top)
        names = [
            printable(name)
            for name in (self.consumer_group, self.queue.topic, self.queue.broker_name)
        ]
        group, topic, broker = names
        queue = f"queue {broker}:{self.queue.queue_id}"
        yield from fields(
            [f"Group {group}", f"topic {topic}", queue, printable(self.strategy)], file
        )
        where = f"number {self.queue_place} of {self.n_queues:,} (from 0) in Java's sort order"
        yield from wrapped(f"It is queue {where}; {counted(self.n_clients, 'client')}.", file)
        for i, step in enumerate(self.steps, start=1):
            yield from wrapped(f"  {i}. {printable(step)}", file, "     ")
        yield from wrapped(self._conclusion(), file)

    def _in_short(self) -> str:
        queue = f"{self.queue.broker_name}:{self.queue.queue_id} of {self.queue.topic}"
        owner = "unowned" if self.owner is None else f"owned by {self.owner}"
        if self.known == UNKNOWN:
            owner = "owner unknown"
        return f"Explanation of queue {queue} in group {self.consumer_group}: {owner}"

    def _first_rows(self, most: int) -> tuple[Rows, int]:
        rows = [
            {"step": number, "reason": reason}
            for number, reason in enumerate(self.steps[:most], start=1)
        ]
        return rows, len(self.steps)

    def _conclusion(self) -> str:
        """Return who owns the queue: by report if any client reports, else as computed."""
        by_steps = f"{printable(self.strategy)} gives it to {_shown(self.computed)}"
        if self.known == UNKNOWN:
            return f"So {by_steps}; its present owner is not known: {printable(self.detail)}."
        owners = () if self.owner is None else (self.owner, *self.others)
        owned = f"{_shown(owners)} {'own' if len(owners) > 1 else 'owns'} it"
        if self.known == COMPUTED:
            return f"So {owned}."
        if owners == self.computed:
            return f"So {owned}, as the clients report."
        return f"The clients report that {owned}, although {by_steps}."

    def main_table(self) -> pa.Table:
        """Return one row, without the facts."""
        row = self.to_dict()
        return pa.Table.from_pylist(
            [{**row.pop("queue"), **{name: row[name] for name in row if name != "facts"}}]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for ``json.dump``."""
        return {
            **vars(self),
            "queue": self.queue._asdict(),
            "steps": list(self.steps),
            "facts": dict(self.facts),
            "others": list(self.others),
            "computed": list(self.computed),
        }


def _shown(client_ids: Sequence[str]) -> str:
    if not client_ids:
        return "no client"
    names = " and ".join(map(printable, client_ids))
    return f"client{'s' if len(client_ids) > 1 else ''} {names}"


def explain(
    snapshot: Snapshot | Known,
    group: str,
    topic: str,
    broker_name: str,
    queue_id: int,
    strategy: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Explanation:
    """Explain the owner of one queue.

    Parameters
    ----------
    snapshot : Snapshot or Known
    group, topic, broker_name : str
        Names, not patterns.
    queue_id : int
    strategy : str, optional
        As for `rmqalloc.strategy`; by default the group's strategy.
    params : mapping, optional
        Its parameters.

    Raises
    ------
    UnansweredError
        The owner cannot be computed; see `rmqalloc.evidence.decisions`.
    ValueError
        There is no such group, topic or queue, or the strategy raises Java's error.
    TypeError
        A parameter is wrong.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 5),)), (Client("c2"), Client("c1"))
    >>> print(*explain(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),)), "g", "T", "b", 3).steps, sep="\\n")
    5 queues = 2 clients × 2 + 1: each client takes 2, and the first client takes 1 more
    client c2 is client number 1 (from 0) and starts at queue number 1 × 2 + 1 = 3: it takes queues 3 to 4, including this queue
    """
    known = Known.of(snapshot, [literal(group)], strategy, params)
    queue = MessageQueue(topic, broker_name, queue_id)
    _check_names(known.snapshot, group, topic)
    known.decisions(Verb.EXPLAIN, [literal(topic)]).check()
    found = _by_steps(known.snapshot, group, queue, strategy, params)
    [of_group] = (candidate for candidate in known.snapshot.groups if candidate.name == group)
    states = known.once(present_states).of(of_group)
    state = states.of_queues(topic, [queue])[queue]
    computed = () if found.owner is None else (found.owner, *found.others)
    owners = () if state.known == UNKNOWN else states.ids(state.slots)
    if strategy is not None and state.known == COMPUTED:
        owners = computed
    return replace(
        found,
        owner=next(iter(owners), None),
        others=owners[1:],
        known=state.known,
        computed=computed,
        detail=state.detail,
    )


def _by_steps(
    snapshot: Snapshot,
    group: str,
    queue: MessageQueue,
    strategy: str | None,
    params: Mapping[str, Any] | None,
) -> Explanation:
    """Explain who takes a queue by computation."""
    topic = queue.topic
    if strategy is None and (found := _by_views(snapshot, group, queue)) is not None:
        return found
    row = _unit(snapshot, group, topic)
    made = _strategy(row) if strategy is None else rule(strategy, **(params or {}))
    _check_sizes(row, made)
    readable = []
    for broker in row["brokers"]:
        name, n_queues = broker["broker_name"], broker["read_queue_nums"]
        readable += [MessageQueue(topic, name, queue_id) for queue_id in range(n_queues)]
    queues = sort_queues(readable)
    if queue not in queues:
        raise ArgumentError(_no_queue(queue, queues))
    rooms = row.get("client_rooms") or [None] * len(row["client_ids"])
    clients = list(zip(row["client_ids"], rooms, strict=True))
    clients.sort(key=lambda client: utf16(client[0]))
    ids = [client_id for client_id, _ in clients]
    names = [broker["broker_name"] for broker in row["brokers"]]
    brokers = list(zip(names, row.get("broker_rooms") or [None] * len(names), strict=True))
    made = made.with_rooms(_known(brokers), _known(clients))
    place = queues.index(queue)
    number = made.owner_of(queues, ids, place)
    reasons = made.explain(queues, ids, place)
    owner = ids[number] if number >= 0 else None
    return Explanation(
        consumer_group=group,
        queue=queue,
        strategy=made.get_name(),
        owner=owner,
        n_queues=len(queues),
        n_clients=len(ids),
        queue_place=place,
        steps=tuple(reasons.steps),
        facts=reasons.facts,
    )


def _check_names(snapshot: Snapshot, group: str, topic: str) -> None:
    """Refuse names that the snapshot does not have."""
    groups = by_name(snapshot.groups, "consumer groups")
    if group not in groups:
        raise no_match(group, groups, "consumer group", snapshot)
    topics = {*groups[group].all_subscriptions, *by_name(snapshot.topics, "topics")}
    if topic not in topics:
        raise no_match(topic, topics, "topic", snapshot)


def _unit(snapshot: Snapshot, group: str, topic: str) -> dict[str, Any]:
    """Return the row of a group and a topic by their names."""
    pairs, warnings = unit_pairs(snapshot, [literal(group)], [literal(topic)])
    if not pairs:
        raise ArgumentError(
            warnings[0] if warnings else f"group {group!r} does not subscribe to topic {topic!r}"
        )
    row: dict[str, Any] = batch_of(pairs).to_pylist()[0]
    return row


def _check_sizes(row: Mapping[str, Any], s: Strategy) -> None:
    """Refuse what would take too much memory."""
    n_queues = sum(broker["read_queue_nums"] for broker in row["brokers"])
    _check_size(row["consumer_group"], "queues", n_queues, MAX_OF_ROW)
    _check_points(row["consumer_group"], len(row["client_ids"]) * (s.virtual_nodes or 0))


def _check_points(group: str, n_points: int) -> None:
    _check_size(group, "points on its ring", n_points, MAX_POINTS)


def _check_size(group: str, what: str, number: int, most: int) -> None:
    if number > most:
        raise ArgumentError(
            f"group {group!r} has {number:,} {what}; at most {most:,} can be explained"
        )


def _known(rooms: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    return {name: room for name, room in rooms if room}


def _strategy(row: Mapping[str, Any]) -> Strategy:
    """Return the group's own strategy."""
    made = rule(row["strategy"], **json.loads(row["strategy_params"] or "{}"))
    return made if row["virtual_nodes"] is None else made.with_virtual_nodes(row["virtual_nodes"])


def _no_queue(queue: MessageQueue, queues: Sequence[MessageQueue]) -> str:
    """Return the message for a queue that a topic does not have, with what it has."""
    ids = [known.queue_id for known in queues if known.broker_name == queue.broker_name]
    if ids:
        return f"topic {queue.topic!r} has queues {min(ids)} to {max(ids)} on {queue.broker_name!r}, not {queue.queue_id}"
    brokers = list(dict.fromkeys(known.broker_name for known in queues))
    near = nearest(queue.broker_name, brokers, 3, 0.0) or brokers[:3]
    return (
        f"topic {queue.topic!r} is not on broker {queue.broker_name!r}; it is on {', '.join(near)}"
    )


# --- Groups whose clients differ: view by view ---


def _by_views(snapshot: Snapshot, group: str, queue: MessageQueue) -> Explanation | None:
    """Return the owners of a queue in a group whose clients differ; None for other groups."""
    [*groups] = (candidate for candidate in snapshot.groups if candidate.name == group)
    views = _views_to_explain(snapshot, groups[0], queue.topic) if len(groups) == 1 else None
    if views is None:
        return None
    found, unit = views
    if queue not in unit.queues:
        raise ArgumentError(_no_queue(queue, unit.queues))
    for view in unit.views:
        _check_points(group, len(view.client_ids) * (view.method.virtual_nodes or 0))
    rooms, taking = Rooms.of(snapshot), set[str]()
    steps, facts = [], []
    for view in unit.views:
        ids = [unit.client_ids[slot] for slot in unit.acting[id(view)]]
        taker, reasons = _taker(view, queue, rooms)
        taking |= {taker} & set(ids) if taker is not None else set()
        steps.append(
            f"{named(ids)} {'uses' if len(ids) == 1 else 'use'} {view.method}{_over(unit, view)}"
        )
        steps.extend(_taken(view, queue, taker, reasons, ids))
        facts.append(
            {
                "strategy": view.method.name,
                "clients": ids,
                "gives_to": taker,
                "is_taken": taker in ids,
            }
        )
    if not steps:
        steps.append("no client subscribes to the topic")
    strategy = (
        "+".join(dict.fromkeys(view.method.name for view in unit.views)) or groups[0].strategy or ""
    )
    owners = unit.ids(
        [slot for slot, client_id in enumerate(unit.client_ids) if client_id in taking]
    )
    return Explanation(
        consumer_group=group,
        queue=queue,
        strategy=strategy,
        owner=next(iter(owners), None),
        n_queues=len(unit.queues),
        n_clients=len(found.clients),
        queue_place=unit.queues.index(queue),
        steps=tuple(steps),
        facts={"views": facts},
        others=owners[1:],
    )


def _views_to_explain(
    snapshot: Snapshot, group: Group, topic: str
) -> tuple[GroupViews, UnitViews] | None:
    """Return the views of a unit, None if its clients have one view of it, or it is not known what
    they divide by.
    """
    if not differ(group):
        return None
    reader = ViewReader(snapshot.topics)
    found = reader.views_of(group)
    unit = reader.unit_of(found, topic) if topic in found.topics else None
    if unit is None or not found.clients:
        return None
    everyone = tuple(sort_client_ids(group.client_ids))
    is_plain = unit.n_subscribers == len(group.clients) == len(found.clients) and all(
        (view.client_ids, view.queues) == (everyone, unit.queues) for view in unit.views
    )
    return None if is_plain and len(unit.views) == 1 else (found, unit)


def _taker(view: View, queue: MessageQueue, rooms: Rooms) -> tuple[str | None, Sequence[str]]:
    """Return the client that a view gives a queue to, and why."""
    if queue not in view.queues or not view.client_ids:
        return None, ()
    made = _with_rooms(view.method.strategy(), view, rooms)
    place = view.queues.index(queue)
    number = made.owner_of(view.queues, view.client_ids, place)
    owner = view.client_ids[number] if number >= 0 else None
    return owner, made.explain(view.queues, view.client_ids, place).steps


def _with_rooms(made: Strategy, view: View, rooms: Rooms) -> Strategy:
    brokers = {name: room for (topic, name), room in rooms.brokers.items() if topic == view.topic}
    clients = {
        client_id: room
        for (group, client_id), room in rooms.clients.items()
        if group == view.consumer_group
    }
    return made.with_rooms(brokers, clients)


def _over(unit: UnitViews, view: View) -> str:
    """Return what a view divides, where it is not what there is."""
    parts = []
    if view.queues != unit.queues:
        parts.append(f"{counted(len(view.queues), 'queue')} of their own route")
    if sorted(view.client_ids) != sorted(unit.client_ids):
        parts.append(f"a list of {counted(len(view.client_ids), 'client')} from some broker")
    return f" over {' and '.join(parts)}" if parts else ""


def _taken(
    view: View, queue: MessageQueue, taker: str | None, reasons: Sequence[str], ids: Sequence[str]
) -> Iterator[str]:
    """Yield what a view comes to."""
    yield from reasons
    if queue not in view.queues:
        yield "which does not have the queue: no client takes it in this view"
    elif taker is None:
        yield "which gives the queue to no client"
    elif taker in ids:
        yield f"so client {taker} takes it"
    else:
        yield f"so client {taker} would take it, but that client has another view: no client takes it"
