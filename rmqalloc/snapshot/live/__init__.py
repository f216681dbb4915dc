"""A running cluster, read and never written to: RocketMQ's wire protocol, only the requests that
change nothing.

`fetch` does it in one call, `Rereader` again and again: `take_snapshot` asks the servers
(`rmqalloc.remoting`), the readers of answers and members make a `rmqalloc.snapshot.Snapshot` of
what they say. What `mqadmin` printed is read by the same readers, so the door opens no network code
until one of both is used.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.snapshot.live.fetching import FetchError, fetch
    from rmqalloc.snapshot.live.rereading import ClosedError, ClusterReading, GroupAges, Rereader

_FETCHING, _REREADING = (
    ["FetchError", "fetch"],
    ["ClosedError", "ClusterReading", "GroupAges", "Rereader"],
)

__all__ = ["ClosedError", "ClusterReading", "FetchError", "GroupAges", "Rereader", "fetch"]

__getattr__ = imported_on_use(__name__, {"fetching": _FETCHING, "rereading": _REREADING})
