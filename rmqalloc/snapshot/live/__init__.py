"""A running cluster, read and never written to: RocketMQ's wire protocol, only the requests that
change nothing.

`fetch` reads once, `Rereader` repeatedly: `take_snapshot` sends requests to the servers
(`rmqalloc.remoting`), and the readers of answers and members make a `rmqalloc.snapshot.Snapshot` of
the answers. The same readers read output of `mqadmin`, so this package imports no network code
until `fetch` or `Rereader` is used.
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
