"""What a strategy by slots moves at every single number of clients of a range, which a mean over
the range hides.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from movement.contenders import Contender
from movement.figures import event_moves
from movement.groups import GroupShape, History, queues
from movement.histories import RESTARTS, joins, restart
from movement.queue_lists import LAYOUTS, Layout
from movement.replay import Owners, engine_owners, moved, parts

ALL_SIZES = [*LAYOUTS, Layout(3, 8, 1, 24), Layout(8, 24, 96, 192)]
"""Those of the queue list, and two ranges in which clients have few queues."""


class SingleSizes(NamedTuple):
    """Means over topics, one for each number of clients after the join: all of a range but the
    first.

    Attributes
    ----------
    sizes : ndarray of int64
        The numbers of clients.
    join : ndarray of float64
        Moves of the join that leads to this number, over the least.
    leave_of_highest : ndarray of float64
        Moves when the highest slot of so many goes, over the least.
    others_moved : ndarray of float64
        Share of topics in which queues of other clients move then.
    restart : ndarray of float64
        Moves per queue when so many clients are restarted one by one.
    """

    sizes: NDArray[np.int64]
    join: NDArray[np.float64]
    leave_of_highest: NDArray[np.float64]
    others_moved: NDArray[np.float64]
    restart: NDArray[np.float64]


def single_sizes(contender: Contender, layout: Layout, n_topics: int) -> SingleSizes:
    """Measure a contender that is not Kafka's, with ids of slots."""
    shape = GroupShape(layout.n_brokers * layout.per_broker, layout.n_last, layout.n_brokers)
    histories = [joins(layout.n_first, layout.n_last, "slot", topic) for topic in range(n_topics)]
    owners = _owners(contender, shape, histories)
    sizes = np.arange(layout.n_first + 1, layout.n_last + 1)
    back = [History(one.topic, one.client_ids, one.steps[::-1]) for one in histories]
    leaves = [some[::-1] for some in owners]
    highest = (sizes - 1)[:, None]  # clients start in the order of their slots
    others = [((some[1:] != some[:-1]) & (some[1:] != highest)).any(axis=1) for some in owners]
    restarts = [_restarts(contender, shape._replace(n_clients=int(n)), n_topics) for n in sizes]
    return SingleSizes(
        sizes,
        _over_least(histories, owners),
        _over_least(back, leaves)[::-1],
        np.mean(others, axis=0),
        np.array(restarts) / shape.n_queues,
    )


def _owners(contender: Contender, shape: GroupShape, histories: list[History]) -> list[Owners]:
    listed = queues(shape.n_brokers, shape.n_queues // shape.n_brokers)
    return list(engine_owners(contender.strategy(), parts(listed, histories)))


def _over_least(histories: Sequence[History], owners: Sequence[Owners]) -> NDArray[np.float64]:
    """Moves of each step over the least, both summed over histories."""
    pairs = [list(event_moves(*one)) for one in zip(histories, owners, strict=True)]
    sums = np.array(pairs).sum(axis=0)
    return np.asarray(sums[:, 0] / sums[:, 1])


def _restarts(contender: Contender, shape: GroupShape, n_topics: int) -> float:
    """Queues that move when all clients are restarted one by one, the mean of topics."""
    histories = [restart(shape, "slot", RESTARTS[0], topic) for topic in range(n_topics)]
    return float(np.mean([moved(some).sum() for some in _owners(contender, shape, histories)]))
