"""Fleets from Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rmqalloc.errors import ArgumentTypeError, Error
from rmqalloc.fleet.columns import Index, Strings, offsets_of
from rmqalloc.fleet.lists import ClientLists, QueueLists
from rmqalloc.fleet.unit_errors import FleetError, UnitError, check_on_error
from rmqalloc.fleet.unit_sizes import check_size
from rmqalloc.model import joined, queue_fields

Fields = tuple[str, str, int]

NO_LIST = 0  # both kinds of lists begin with an empty one, which malformed units name


def columns_from_groups(groups: Iterable[Any], on_error: str) -> dict[str, Any]:
    """See `Fleet.from_groups`."""
    check_on_error(on_error)
    builder = _Builder()
    for position, group in enumerate(groups):
        if not isinstance(group, Sequence) or len(group) != 4:
            raise ArgumentTypeError(
                f"a group is (consumer_group, topic, queues, client_ids), got {group!r} at position {position}"
            )
        builder.add(position, *group)
    if builder.errors and on_error == "raise":
        raise FleetError(builder.errors, len(builder.consumer_groups))
    return builder.columns()


class _Builder:
    """Collects units; a list that was seen before is stored once."""

    def __init__(self) -> None:
        self.consumer_groups: list[str] = []
        self.topics: dict[str, int] = {}
        self.brokers: dict[str, int] = {}
        self.unit_topic: list[int] = []
        self.unit_queue_list: list[int] = []
        self.unit_client_list: list[int] = []
        self.queue_lists: dict[tuple[Fields, ...], int] = {(): NO_LIST}
        self.client_lists: dict[tuple[str, ...], int] = {(): NO_LIST}
        self.seen_queues: dict[Any, int] = {}
        self.seen_clients: dict[
            int, tuple[tuple[str, ...], int]
        ] = {}  # by id() of a tuple, which is kept with it
        self.errors: list[UnitError] = []

    def add(
        self, position: int, consumer_group: Any, topic: Any, queues: Any, client_ids: Any
    ) -> None:
        """Add one unit; a malformed one is kept with an empty list and an error."""
        queue_list = client_list = NO_LIST
        names = [name if isinstance(name, str) else "" for name in (consumer_group, topic)]
        try:
            _check_names(consumer_group, topic)
            queue_list = self._queue_list(topic, queues)
            client_list = self._client_list(client_ids)
        except Error as error:
            queue_list = NO_LIST
            self.errors.append(UnitError(position, names[0], names[1], str(error)))
        self.consumer_groups.append(names[0])
        self.unit_topic.append(self.topics.setdefault(joined(names[1]), len(self.topics)))
        self.unit_queue_list.append(queue_list)
        self.unit_client_list.append(client_list)

    def _queue_list(self, topic: str, queues: Any) -> int:
        if queues is None:
            raise ArgumentTypeError("queues is null; give a list of queues")
        queues = _listed(queues, "queues")
        check_size(len(queues), "queues")
        try:
            key = (topic, queues)
            if key in self.seen_queues:
                return self.seen_queues[key]
        except TypeError:  # queues that cannot be hashed (mappings) are compared by their fields
            key = None
        fields = tuple(_fields(topic, queue) for queue in queues)
        number = self.queue_lists.setdefault(fields, len(self.queue_lists))
        if key is not None:
            self.seen_queues[key] = number
        return number

    def _client_list(self, client_ids: Any) -> int:
        if client_ids is None:
            raise ArgumentTypeError("client_ids is null; give a list of client ids")
        if id(client_ids) in self.seen_clients:
            return self.seen_clients[id(client_ids)][1]
        given, client_ids = (
            client_ids,
            client_ids if isinstance(client_ids, str) else _listed(client_ids, "client_ids"),
        )
        check_client_ids(client_ids)
        check_size(len(client_ids), "clients")
        number = self.client_lists.setdefault(client_ids, len(self.client_lists))
        if type(given) is tuple:  # units of one group often bring the very same one
            self.seen_clients[id(given)] = given, number
        return number

    def columns(self) -> dict[str, Any]:
        """Lay everything end to end."""
        queue_lists = self._queue_columns()
        client_offsets = offsets_of(list(map(len, self.client_lists)))
        ids = Strings.from_list(list(chain.from_iterable(self.client_lists)))
        client_lists = ClientLists.of_slots(client_offsets, ids)
        return {
            "consumer_groups": Strings.from_list(self.consumer_groups),
            "topics": Strings.from_list(list(self.topics)),
            "brokers": Strings.from_list(list(self.brokers)),
            "rooms": Strings.from_list([]),
            "unit_topic": _index(self.unit_topic),
            "unit_queue_list": _index(self.unit_queue_list),
            "unit_client_list": _index(self.unit_client_list),
            "queue_lists": queue_lists,
            "client_lists": client_lists,
            "errors": tuple(self.errors),
        }

    def _queue_columns(self) -> QueueLists:
        """Number the names and cut every list into routes."""
        route_topic, route_broker, route_offsets, queue_ids, list_routes = [], [], [0], [], [0]
        for fields in self.queue_lists:
            previous = None
            for topic, broker_name, queue_id in fields:
                if (topic, broker_name) != previous:
                    previous = (topic, broker_name)
                    route_topic.append(self.topics.setdefault(topic, len(self.topics)))
                    route_broker.append(self.brokers.setdefault(broker_name, len(self.brokers)))
                    route_offsets.append(0)
                queue_ids.append(queue_id)
                route_offsets[-1] = len(queue_ids)
            list_routes.append(len(route_topic))
        return QueueLists.of_routes(
            np.array(list_routes, np.int64),
            np.array(route_offsets, np.int64),
            _index(route_topic),
            _index(route_broker),
            given_ids=_index(queue_ids),
        )


def _listed(given: Any, name: str) -> tuple[Any, ...]:
    """Return the items of a list; what is none is an error of its unit."""
    try:
        items = iter(given)
    except TypeError:
        raise ArgumentTypeError(f"{name} must be a list, got {given!r}") from None
    return tuple(items)


def check_client_ids(client_ids: Sequence[Any]) -> None:
    """Refuse nulls and anything that is not text, naming the first."""
    if isinstance(client_ids, str):
        raise ArgumentTypeError(
            f"client_ids must be a list of strings, got the string {client_ids!r}"
        )
    for i, client_id in enumerate(client_ids):
        if type(client_id) is str:
            continue
        if client_id is None:
            raise ArgumentTypeError(
                f"client id at position {i} is null; every client id must be a string"
            )
        if not isinstance(client_id, str):
            raise ArgumentTypeError(
                f"client id at position {i} must be a string, got {client_id!r}"
            )


def _check_names(consumer_group: Any, topic: Any) -> None:
    for name, text in (("consumer_group", consumer_group), ("topic", topic)):
        if text is None:
            raise ArgumentTypeError(f"{name} is null; it must be a string")
        if not isinstance(text, str):
            raise ArgumentTypeError(f"{name} must be a string, got {text!r}")


def _fields(topic: str, queue: Any) -> Fields:
    """Return fields of a queue, which may be a pair that takes the unit's topic."""
    if isinstance(queue, tuple) and len(queue) == 2:
        queue = (topic, *queue)
    queue_topic, broker_name, queue_id = queue_fields(queue)
    if queue_topic is None or broker_name is None:
        missing = "topic" if queue_topic is None else "broker_name"
        raise ArgumentTypeError(
            f"the {missing} of a queue is null: {queue!r}; in a fleet every queue has a topic and a broker"
        )
    return joined(queue_topic), joined(broker_name), queue_id


def _index(numbers: list[int]) -> Index:
    return np.array(numbers, np.int32)
