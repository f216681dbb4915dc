"""Clients of a group with equal changes, described once."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import pyarrow as pa

from rmqalloc.plans.plan_totals import client_totals
from rmqalloc.text import counted, natural_key

MOST_KINDS = 4
_MOST = 0.9
"""Share of the clients that must change alike where there are more kinds."""

_STATUS = {"stays": "", "new": " that joins", "gone": " that leaves"}
_SEVERAL = {"stays": "", "new": " that join", "gone": " that leave"}


class AlikeClients(NamedTuple):
    """Clients with the same status whose number of queues, over all topics, changes by the same.

    Attributes
    ----------
    status : {"stays", "new", "gone"}
    change : int
    client_ids : list of str
        In natural order.
    before, after : tuple of int
        Fewest and most queues of a client.
    """

    status: str
    change: int
    client_ids: list[str]
    before: tuple[int, int]
    after: tuple[int, int]

    def change_text(self) -> str:
        """Return the change per client, with the numbers of queues before and after.

        Examples
        --------
        >>> AlikeClients("stays", 1, ["a", "b"], (25, 26), (26, 27)).change_text()
        '+ 1 (25–26 → 26–27 queues)'
        """
        before, after = (
            "–".join(f"{n:,}" for n in dict.fromkeys(loads)) for loads in (self.before, self.after)
        )
        if not self.change:
            return f"as many queues as before ({after})"
        return f"{'+' if self.change > 0 else '−'} {abs(self.change):,} ({before} → {after} queues)"

    def sentence(self, n_clients: int) -> str:
        """Return a sentence on their change, given the number of all clients.

        Examples
        --------
        >>> one = AlikeClients("stays", 1, ["a", "b"], (25, 25), (26, 26))
        >>> one.sentence(2), one.sentence(9)
        ('Each client: + 1 (25 → 26 queues).', 'Each of 2 clients: + 1 (25 → 26 queues).')
        """
        n = len(self.client_ids)
        one, several = _STATUS[self.status], _SEVERAL[self.status]
        who = f"1 client{one}" if n == 1 else f"Each of {counted(n, 'client')}{several}"
        return f"{'Each client' + one if n == n_clients else who}: {self.change_text()}."


def alike_clients(clients: pa.Table) -> list[AlikeClients]:
    """Return the clients of one group and scenario in kinds that change alike, the largest kind
    first.

    Parameters
    ----------
    clients : pyarrow.Table
        Their rows of `Plan.clients`.
    """
    status = dict(zip(clients["client_id"].to_pylist(), clients["status"].to_pylist(), strict=True))
    kinds = defaultdict(list)
    for row in client_totals(clients, "client_id").to_pylist():
        kinds[status[row["client_id"]], row["after"] - row["before"]].append(row)
    found = [_alike(*kind, rows) for kind, rows in kinds.items()]
    return sorted(found, key=lambda one: (-len(one.client_ids), one.status, -one.change))


def are_few(kinds: list[AlikeClients]) -> bool:
    """Return True if each kind can be listed: there are few kinds, or nearly all clients are of one
    kind.
    """
    sizes = [len(one.client_ids) for one in kinds]
    return len(kinds) <= MOST_KINDS or max(sizes) >= _MOST * sum(sizes)


def _alike(status: str, change: int, rows: list[dict[str, int]]) -> AlikeClients:
    before, after = ([row[when] for row in rows] for when in ("before", "after"))
    ids = sorted((str(row["client_id"]) for row in rows), key=natural_key)
    return AlikeClients(status, change, ids, (min(before), max(before)), (min(after), max(after)))
