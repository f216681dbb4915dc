"""A running cluster, read and never written to: RocketMQ's wire protocol, only the requests that change nothing.

`fetch` does it in one call: `take_snapshot` asks the servers (`rmqalloc.remoting`), the readers of answers and members make a
`rmqalloc.snapshot.Snapshot` of what they say. What `mqadmin` printed is read by the same readers, so the door opens no network
code until `fetch` is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmqalloc.snapshot.live.fetching import FetchError, fetch

__all__ = ["FetchError", "fetch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("rmqalloc.snapshot.live.fetching"), name)
