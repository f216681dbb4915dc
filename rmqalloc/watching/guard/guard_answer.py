"""The answer of the guard: a verdict with its reason in one line, and a row for every group behind
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, Any, ClassVar, NamedTuple

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.results import TableResult
from rmqalloc.results.and_more import first_of
from rmqalloc.results.schemas import columns
from rmqalloc.results.table_result import checked_top
from rmqalloc.text import printable

YES, NO, UNKNOWN = "yes", "no", "unknown"

GUARD_SCHEMA = columns(
    "consumer_group verdict: string",
    "is_settled: bool",
    "reason: string",
    "clients: [string]",
    "n_clients n_queues unowned_meanwhile unowned_after: int64",
)
"""Columns of `GuardAnswer.groups`."""

_MOST_REASONS = 3


class OfGroup(NamedTuple):
    """The answer for one group: a row of `GUARD_SCHEMA`."""

    consumer_group: str
    verdict: str
    is_settled: bool
    reason: str
    clients: tuple[str, ...] = ()
    n_clients: int | None = None
    n_queues: int | None = None
    unowned_meanwhile: int | None = None
    unowned_after: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class GuardAnswer(TableResult):
    """The decision whether a client may stop now; the result of `may_stop`.

    Attributes
    ----------
    target : str
        The client, address or host, as given.
    verdict : {"yes", "no", "unknown"}
        "no" if any group has "no", else "unknown" if a deciding fact is unknown.
    reason : str
        Reason in one line; names in it are `printable`.
    rows : tuple of OfGroup

    Examples
    --------
    >>> from rmqalloc.watching.guard import may_stop
    >>> from rmqalloc.snapshot.examples import find
    >>> from rmqalloc.snapshot.files import read_snapshot
    >>> print(may_stop(read_snapshot(find("example:orders", "snapshot").path), "10.1.0.11"))
    yes: 10.1.0.11@4121 may stop: 7 queues of order-svc get new owners
    """

    TABLES: ClassVar = ("groups",)
    NOTES: ClassVar = ()

    target: str
    verdict: str
    reason: str
    rows: tuple[OfGroup, ...]

    @classmethod
    def of(cls, target: str, rows: Sequence[OfGroup], otherwise: str) -> GuardAnswer:
        """Return the answer that follows from the answers for all groups; ``otherwise`` is the
        reason if all of them are "yes".
        """
        for verdict in (NO, UNKNOWN):
            if reasons := [one.reason for one in rows if one.verdict == verdict]:
                return cls(
                    target, verdict, "; ".join(first_of(reasons, _MOST_REASONS)), tuple(rows)
                )
        return cls(target, YES, otherwise, tuple(rows))

    @property
    def clients(self) -> tuple[str, ...]:
        """Client ids that stop together, in the order of their groups."""
        return tuple(dict.fromkeys(client_id for one in self.rows for client_id in one.clients))

    @property
    def is_settled(self) -> bool:
        """Whether every group has settled, so that the answer stays until something changes."""
        return all(one.is_settled for one in self.rows)

    @property
    def groups(self) -> pa.Table:
        """One row per group that a client matches, or may match: `GUARD_SCHEMA`.

        ``n_clients`` counts the clients of the group now, ``n_queues`` the queues that lose their
        owner or reader, ``unowned_meanwhile`` the unowned queues at the worst moment while the
        remaining clients rebalance, ``unowned_after`` the queues that no client takes over. Figures
        are null if the answer does not rest on them.
        """
        rows = [one._asdict() | {"clients": list(one.clients)} for one in self.rows]
        return pa.Table.from_pylist(rows, GUARD_SCHEMA)

    def _in_short(self) -> str:
        return f"GuardAnswer: {self.verdict}: {self.reason}"

    def refused(self, reason: str, verdict: str = NO) -> GuardAnswer:
        """Return another answer for the same stop, with a reason outside its groups."""
        return replace(self, verdict=verdict, reason=reason)

    def of_another_time(self, why: str) -> GuardAnswer:
        """Return "unknown" for now; the reason includes the answer from the older data.

        Examples
        --------
        >>> print(GuardAnswer("c1", YES, "c1 may stop", ()).of_another_time("the data are old"))
        unknown: the data are old; the answer from these data is yes: c1 may stop
        """
        return self.refused(
            f"{why}; the answer from these data is {self.verdict}: {self.reason}", UNKNOWN
        )

    def lines(self, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
        """Yield the answer with its reason in one line, then the groups if there are several."""
        top = checked_top(top)
        yield f"{self.verdict}: {self.reason}"
        if len(self.rows) > 1:
            yield from (
                f"  {one.verdict}: {one.reason or printable(one.consumer_group)}"
                for one in self.rows[:top]
            )

    def to_dict(self) -> dict[str, Any]:
        """Return one document: the verdict, its reason, and the groups."""
        return {
            "apiVersion": "rmqalloc/v1",
            "kind": "GuardAnswer",
            "target": self.target,
            "verdict": self.verdict,
            "reason": self.reason,
            "clients": list(self.clients),
            "groups": self.groups.to_pylist(),
        }
