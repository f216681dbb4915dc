"""What a plan follows from: the part of a snapshot that it reads, and what was chosen of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence import Known, known
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.plans.plan_writing import canonical
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.text import matcher


@dataclass(frozen=True)
class PlanInputs:
    """What `rmqalloc.plans.plan_snapshot` is given besides the scenarios, and no more than it reads
    of that.

    Attributes
    ----------
    snapshot : Snapshot
        The chosen groups, the topics that they name, and what is said of the cluster as a whole.
    groups, topics : tuple of str
        Patterns, as `fnmatch.fnmatchcase` has them.
    with_retry : bool
        As for `rmqalloc.snapshot.units.unit_pairs`.
    allow_partial : bool
        As for `rmqalloc.evidence.known`.
    """

    snapshot: Snapshot
    groups: tuple[str, ...] = ALL
    topics: tuple[str, ...] = ALL
    with_retry: bool = False
    allow_partial: bool = False

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        groups: Sequence[str] = ALL,
        topics: Sequence[str] = ALL,
        with_retry: bool = False,
        allow_partial: bool = False,
    ) -> PlanInputs:
        """Keep what a plan reads.

        Examples
        --------
        >>> from rmqalloc.snapshot import Topic
        >>> cluster = Snapshot((Topic("T"), Topic("U"), Topic("V")), (Group("g", ("T",)), Group("h", ("V",))))
        >>> kept = PlanInputs.of(cluster, ["g"])
        >>> [one.name for one in kept.snapshot.groups], [one.name for one in kept.snapshot.topics]
        (['g'], ['T'])
        """
        has_group, has_topic = matcher(tuple(groups)), matcher(tuple(topics))
        mine = tuple(one for one in snapshot.groups if has_group(one.name))
        names = set[str]().union(*map(_topics_of, mine))
        named = (
            one
            for one in snapshot.topics
            if one.name in names or (tuple(topics) != ALL and has_topic(one.name))
        )
        return cls(
            replace(snapshot, groups=mine, topics=tuple(named)),
            tuple(groups),
            tuple(topics),
            with_retry,
            allow_partial,
        )

    @property
    def known(self) -> Known:
        """The snapshot as a plan of it was given it."""
        return known(self.snapshot, self.groups, allow_partial=self.allow_partial)

    @property
    def digest(self) -> str:
        """SHA-256 of the document of the snapshot that is kept; of outputs that were joined, their
        files do not count: the same outputs may be given as one file or as several.
        """
        import hashlib

        document = to_document(self.snapshot)
        if self.snapshot.sources:
            del document["sources"]
            document.pop("source", None)
        return hashlib.sha256(canonical(document).encode()).hexdigest()

    def to_data(self) -> dict[str, Any]:
        """Plain data, as a plan's file holds it."""
        chosen: dict[str, Any] = {
            "groups": list(self.groups),
            "topics": list(self.topics),
            "withRetry": self.with_retry,
        }
        if self.allow_partial:
            chosen["allowPartial"] = True
        return {**chosen, "snapshot": to_document(self.snapshot)}


def _topics_of(group: Group) -> set[str]:
    """Return the topics that a group, its clients or its lags name."""
    found = {
        *group.subscriptions,
        RETRY_PREFIX + group.name,
        *(lag.queue.topic for lag in group.lags),
    }
    for client in group.clients:
        if client.subscriptions or client.sees_read_queue_nums or client.owned:
            found.update(client.subscriptions or (), client.sees_read_queue_nums or ())
            found.update(queue.topic for queue in client.owned or ())
    return found
