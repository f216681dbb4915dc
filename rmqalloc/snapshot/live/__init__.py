"""A running cluster, read and never written to: RocketMQ's wire protocol, only the requests that change nothing.

`frame` and `loose_json` read what comes over the wire, `requests` names what may be asked, `connection` and `remote` ask it,
`take` makes a `rmqalloc.snapshot.Snapshot` of the answers, `fetching` does all of it in one call.
"""

from rmqalloc.snapshot.live._fetching import FetchError, fetch

__all__ = ["FetchError", "fetch"]
