"""What the clients of a group own by topic, before and after, folded to what a picture has room
for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MOST_CLIENTS, MOST_TOPICS = 40, 8
"""Rows and columns of a picture; of more, the largest are shown and the others are one row or column more."""

SIGNS = {"new": "+ ", "gone": "− "}

Places = NDArray[np.int64]
_T = TypeVar("_T", bound=np.generic)


class TopicLoads(NamedTuple):
    """What is owned before, or after.

    Attributes
    ----------
    owned : ndarray of float64, shape (n_labels, n_topics)
        Queues; summed up where clients or topics are folded.
    there : ndarray of int64, shape (n_labels,)
        Clients that a row stands for; 0 for one that is not there.
    mean : ndarray of float64, shape (n_topics,)
        Mean load of a client; nan where there is none.
    """

    owned: NDArray[np.float64]
    there: Places
    mean: NDArray[np.float64]

    @property
    def each(self) -> NDArray[np.float64]:
        """What every client of a row owns on the average, in the shape of ``owned``; nan for one
        that is not there.
        """
        each: NDArray[np.float64] = (
            self.owned / np.where(self.there > 0, self.there, np.nan)[:, None]
        )
        return each

    @property
    def shares(self) -> NDArray[np.float64]:
        """That over the mean load; nan also where there is none."""
        shares: NDArray[np.float64] = self.each / np.where(self.mean > 0, self.mean, np.nan)
        return shares

    def folded(self, rows: _Fold, columns: _Fold) -> TopicLoads:
        """With some rows and some columns made one."""
        return TopicLoads(
            columns.sums(rows.sums(self.owned).T).T, rows.sums(self.there), columns.sums(self.mean)
        )


class Loads(NamedTuple):
    """Queues by client and topic.

    Attributes
    ----------
    labels : list of str
        Client ids, with a sign before those that come or go.
    topics : list of str
    before, after : TopicLoads
    has_other_topics : bool
        Whether the last column stands for several topics.
    """

    labels: list[str]
    topics: list[str]
    before: TopicLoads
    after: TopicLoads
    has_other_topics: bool = False

    @classmethod
    def of(
        cls,
        clients: pa.Table,
        means_before: Mapping[str, float | None],
        means_after: Mapping[str, float | None],
    ) -> Loads:
        """From a plan's ``clients`` of one group and scenario, and the mean loads by topic."""
        ids, rows = _codes(clients["client_id"])
        topics, columns = _codes(clients["topic"])
        status = dict(
            zip(clients["client_id"].to_pylist(), clients["status"].to_pylist(), strict=True)
        )
        sides: dict[str, TopicLoads] = {}
        for column, means, absent in (
            ("before", means_before, "new"),
            ("after", means_after, "gone"),
        ):
            owned = np.zeros((len(ids), len(topics)))
            np.add.at(owned, (rows, columns), clients[column].to_numpy())
            there = np.array([status[client_id] != absent for client_id in ids], np.int64)
            sides[column] = TopicLoads(
                owned, there, np.array([means.get(topic) for topic in topics], np.float64)
            )
        labels = [f"{SIGNS.get(status[client_id], '')}{client_id}" for client_id in ids]
        return cls(labels, topics, sides["before"], sides["after"])._folded()

    @property
    def most(self) -> float:
        """The largest load of a client over all topics."""
        return float(
            max(
                np.nan_to_num(side.each).sum(axis=1).max(initial=0)
                for side in (self.before, self.after)
            )
        )

    def _folded(self) -> Loads:
        """With so many clients and topics that a picture has room for them."""
        most = np.maximum(self.before.owned, self.after.owned)
        rows, columns = (
            _Fold.of(most.sum(axis=1), MOST_CLIENTS),
            _Fold.of(most.sum(axis=0), MOST_TOPICS),
        )
        return Loads(
            rows.names(self.labels, "clients"),
            columns.names(self.topics, "topics"),
            self.before.folded(rows, columns),
            self.after.folded(rows, columns),
            columns.rest.size > 0,
        )


class _Fold(NamedTuple):
    """Places that are kept, and those of the others, which become one."""

    kept: Places
    rest: Places

    @classmethod
    def of(cls, sizes: NDArray[np.float64], most: int) -> _Fold:
        """Return the largest are kept, in their old order; one alone is not worth folding."""
        if sizes.size <= most + 1:
            return cls(np.arange(sizes.size), np.arange(0))
        order = np.argsort(-sizes, kind="stable")
        return cls(np.sort(order[:most]), np.sort(order[most:]))

    def names(self, names: list[str], what: str) -> list[str]:
        others = [f"others ({self.rest.size:,} {what})"] if self.rest.size else []
        return [names[i] for i in self.kept] + others

    def sums(self, values: NDArray[_T]) -> NDArray[_T]:
        """Return rows that are kept, and below them the sum of the others if there are any."""
        if not self.rest.size:
            return values
        return np.concatenate((values[self.kept], values[self.rest].sum(axis=0, keepdims=True)))


def _codes(column: pa.ChunkedArray) -> tuple[list[str], Places]:
    """Return distinct values in order of first appearance, and the place of every row's among them."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
