"""Which clients sit behind a RocketMQ proxy: these share the messages of a queue, so a queue has no
owner among them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain, repeat
from operator import attrgetter

from rmqalloc.snapshot.snapshot import Group, Snapshot

_MOST_ATS = 2
"""In an id of a client that speaks to brokers."""

_GRPC_ID = re.compile(r".+@\d+@\d+@-?[0-9a-z]+", re.DOTALL)


def is_behind_proxy(client_id: str) -> bool:
    """Return True if a client connects to a proxy by gRPC, according to its id.

    Such clients consume from any queue (POP), register without a table of queues and never answer
    running info.

    Notes
    -----
    gRPC SDKs make ids of the form ``host@pid@n@t``, n counting the clients of the process and t a
    time to base 36. Ids of clients of brokers have one ``@``; a second ``@`` is followed by a
    unit's name or STREAM in capitals. Language and release do not distinguish the two kinds.

    Examples
    --------
    >>> is_behind_proxy("vm@17844@0@zm718bkj"), is_behind_proxy("10.0.0.1@4121#77"), is_behind_proxy("10.0.0.1@77@STREAM")
    (True, False, False)
    """
    return client_id.count("@") > _MOST_ATS and _GRPC_ID.fullmatch(client_id) is not None


def with_shared(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with groups marked as shared if they have clients behind a proxy; this
    overrides the file.
    """

    def marked(group: Group) -> Group:
        is_lite = group.lite_topic is not None  # only a proxy's clients can read lite topics
        is_shared = group.is_shared or is_lite or any(map(is_behind_proxy, group.client_ids))
        return group if is_shared == group.is_shared else replace(group, is_shared=True)

    clients = chain.from_iterable(map(attrgetter("clients"), snapshot.groups))
    n_ats = map(str.count, map(attrgetter("client_id"), clients), repeat("@"))
    lite_topics = set(map(attrgetter("lite_topic"), snapshot.groups))
    if max(n_ats, default=0) <= _MOST_ATS and lite_topics <= {None}:  # as nearly always
        return snapshot
    return replace(snapshot, groups=tuple(map(marked, snapshot.groups)))
