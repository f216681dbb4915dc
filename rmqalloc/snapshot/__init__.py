"""What a cluster looks like: its topics, brokers and consumer groups, from files, text and running
clusters.

``model``
    Snapshot, Topic, Group, Client and their parts; what is not known is None.
``document``
    A snapshot as plain data, and back, with errors that name the field.
``files``
    Snapshots in JSON, YAML, CSV and Parquet files, and outputs of tools.
``live``
    A running cluster, read and never written to.
``units``
    A snapshot as the table that plans are made of.
``synthetic``
    A made-up fleet of any size with the shape of a real one.
``directory``
    Directories of Parquet files that are replaced as a whole or not at all.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.snapshot.plain_data import SnapshotError
    from rmqalloc.snapshot.snapshot import (
        Broker,
        Client,
        Filter,
        Group,
        Lag,
        ReadSource,
        Snapshot,
        SourceError,
        Topic,
        TopicBroker,
    )

__all__ = [
    "Broker",
    "Client",
    "Filter",
    "Group",
    "Lag",
    "ReadSource",
    "Snapshot",
    "SnapshotError",
    "SourceError",
    "Topic",
    "TopicBroker",
]

_NAMES = {
    "plain_data": ("SnapshotError",),
    "snapshot": (
        "Broker",
        "Client",
        "Filter",
        "Group",
        "Lag",
        "ReadSource",
        "Snapshot",
        "SourceError",
        "Topic",
        "TopicBroker",
    ),
}
__getattr__ = imported_on_use(__name__, _NAMES)
