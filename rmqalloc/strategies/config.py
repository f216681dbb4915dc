"""``CONFIG``: fixed lists of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.groups import check_client_ids
from rmqalloc.fleet.positions import position as checked_position
from rmqalloc.model import Assignment, MessageQueue, Queue, SharedAssignment, queue_fields
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies.base import Owners, SharingStrategy, Strategy, as_of_now
from rmqalloc.strategies.ordering import sort_client_ids
from rmqalloc.strategies.parameters import Parameter
from rmqalloc.text import counted


class Config(SharingStrategy, Generic[Queue], name="CONFIG"):
    """A fixed list of queues for every client that is configured with it.

    Parameters
    ----------
    message_queues : list of queues, optional
        The object that is returned; ``None`` if unset.

    Notes
    -----
    ``AllocateMessageQueueByConfig``: no validation, only the list is read.

    Examples
    --------
    >>> Config([("t", "b", 0)]).allocate("g", "x", [], [])
    [('t', 'b', 0)]
    """

    _instead = "CONFIG gives every client the same list, so a queue has no single owner; use assign or allocate per group"

    is_listed = True
    parameters = (
        Parameter(
            "message_queues",
            "queues",
            "Queues of every client; or lists of queues by client id",
            is_needed=True,
        ),
    )

    def __init__(self, message_queues: list[Queue] | None = None) -> None:
        self.message_queues = message_queues

    def get_name(self) -> str:
        """Return Java's ``getName()`` text: ``CONFIG``."""
        return "CONFIG"

    def allocate(  # type: ignore[override]  # Java's null, of this strategy alone
        self,
        consumer_group: str,
        current_cid: str | None,
        mq_all: Sequence[Any] | None,
        cid_all: Sequence[str] | None,
    ) -> list[Queue] | None:
        """Return the configured list itself, for every client."""
        return self.message_queues

    def assign(
        self, mq_all: Sequence[Any] | None, cid_all: Sequence[str], sort: bool = False
    ) -> SharedAssignment[Queue]:
        """Return the configured list for every client; see `SharedAssignment`."""
        cid_all = as_of_now(cid_all)
        check_client_ids(cid_all)
        client_ids = sort_client_ids(cid_all) if sort else cid_all
        return SharedAssignment([self.message_queues for _ in client_ids], {}, client_ids)


class ConfigByClient(Strategy):
    """A list of queues for every client id, so that a queue has one owner if it is in one list.

    Parameters
    ----------
    message_queues : mapping of client id to list of queues
        The list of each client. Lists do not change with clients and queues: a client without a
        list owns no queue, and a queue that is in no list of a present client has no owner.

    Notes
    -----
    Every client of a group has an ``AllocateMessageQueueByConfig`` of its own. A unit is refused if
    lists of several present clients have the same queue: all of them consume it.

    Examples
    --------
    >>> lists = ConfigByClient({"x": [("t", "b", 1)], "y": [("t", "b", 0), ("t", "b", 9)]})
    >>> lists.assign([("t", "b", i) for i in range(3)], ["x", "y"]).owners.tolist()
    [1, 0, -1]
    """

    decided_by = "ids"
    is_listed = True

    def __init__(self, message_queues: Mapping[str, Sequence[Any]]) -> None:
        if not isinstance(message_queues, Mapping):
            raise ArgumentTypeError(
                f"message_queues must map client ids to lists of queues, got {message_queues!r}"
            )
        self.message_queues = {
            client_id: listed_queues(queues) for client_id, queues in message_queues.items()
        }
        self._holders: dict[MessageQueue, list[str]] = {}
        for client_id, queues in self.message_queues.items():
            for queue in dict.fromkeys(queues):
                self._holders.setdefault(queue, []).append(client_id)

    def get_name(self) -> str:
        """Return Java's ``getName()`` text: ``CONFIG``."""
        return "CONFIG"

    def allocate(  # type: ignore[override]  # Java's null, of this strategy alone
        self,
        consumer_group: str,
        current_cid: str | None,
        mq_all: Sequence[Any] | None,
        cid_all: Sequence[str] | None,
    ) -> list[MessageQueue] | None:
        """Return the list of one client, independent of the queues and clients; None without a
        list.
        """
        return None if current_cid is None else self.message_queues.get(current_cid)

    if TYPE_CHECKING:  # the method of `Strategy`, in narrower types

        def assign(
            self, mq_all: Sequence[Queue], cid_all: Sequence[str], sort: bool = False
        ) -> Assignment[Queue]:
            """Return owners of all queues of one group; see `Strategy.assign`."""

    def holders(self, queue: MessageQueue) -> list[str]:
        """Return the client ids whose lists have a queue."""
        return self._holders.get(queue, [])

    def owner_of(self, queues: Queues, client_ids: Sequence[str], position: int) -> int:
        """Return the owner of one queue; what is wrong with the others does not matter, for each is
        looked up by itself.
        """
        return super().owner_of(
            [queues[checked_position(position, len(queues), "queue")]], client_ids, 0
        )

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return whose lists have the queue."""
        reasons, holders, n_lists = (
            Reasons(),
            self.holders(queues[position]),
            len(self.message_queues),
        )
        if not holders:
            reasons.say(
                f"none of the {counted(n_lists, 'list')} has the queue", n_lists=n_lists, holders=[]
            )
        for client_id in holders:
            there = "" if client_id in client_ids else ", which is not in the group,"
            reasons.say(
                f"the list of client {client_id}{there} has the queue",
                n_lists=n_lists,
                holders=holders,
            )
        return reasons

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        for unit in range(fleet.n_units):
            position: dict[str, int] = {}
            for i, client_id in enumerate(fleet.client_ids_of(unit)):
                position.setdefault(client_id, i)
            start = int(fleet.queue_offsets[unit])
            for i, queue in enumerate(fleet.queues_of(unit), start):
                out[i] = next((position[one] for one in self.holders(queue) if one in position), -1)

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        for unit in range(fleet.n_units):
            there = set(fleet.client_ids_of(unit))
            for queue in fleet.queues_of(unit):
                both = [client_id for client_id in self.holders(queue) if client_id in there]
                if len(both) > 1:
                    reasons.setdefault(
                        unit,
                        f"{queue} is in the lists of {' and '.join(both)}, which all consume it",
                    )


def listed_queues(queues: Any) -> list[MessageQueue]:
    """Return a list of queues as files have it: each a mapping, or a list of topic, broker name and
    queue id.

    Examples
    --------
    >>> listed_queues([["t", "b", 0], {"topic": "t", "broker_name": "b", "queue_id": 1}])[1].queue_id
    1
    """
    if isinstance(queues, str) or not isinstance(queues, Sequence):
        raise ArgumentTypeError(f"a list of CONFIG must be a list of queues, got {queues!r}")
    found = [queue_fields(tuple(queue) if isinstance(queue, list) else queue) for queue in queues]
    for topic, broker_name, _ in found:
        if topic is None or broker_name is None:
            raise ArgumentTypeError(
                f"a queue of CONFIG must have a topic and a broker_name, got {topic!r} and {broker_name!r}"
            )
    return [
        MessageQueue(str(topic), str(broker_name), queue_id)
        for topic, broker_name, queue_id in found
    ]
