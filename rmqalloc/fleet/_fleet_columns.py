"""The columns of a fleet: what is read from Python objects or from Arrow, before anything is derived from it."""

from __future__ import annotations

from dataclasses import dataclass

from rmqalloc.fleet.columns import Index, Strings
from rmqalloc.fleet.lists import ClientLists, QueueLists
from rmqalloc.fleet.unit_errors import UnitError


@dataclass(frozen=True, eq=False)
class FleetColumns:
    """Units as ragged columns; see `rmqalloc.Fleet`, which derives the rest."""

    consumer_groups: Strings
    topics: Strings
    brokers: Strings
    rooms: Strings
    unit_topic: Index
    unit_queue_list: Index
    unit_client_list: Index
    queue_lists: QueueLists
    client_lists: ClientLists
    errors: tuple[UnitError, ...] = ()
