"""What strategies move when the list of queues changes, and how even they are over many topics."""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from movement.contenders import STRATEGIES, Contender
from movement.figures import Ratio, ratio
from movement.groups import Queue, queues, slot_ids
from movement.histories import SEED
from rmqalloc import Fleet

TOPICS, TOPIC_QUEUES, TOPIC_CLIENTS = 100, (2, 2), 10
AVG = STRATEGIES[0]

Group = tuple[str, Sequence[Queue], tuple[str, ...]]


class Layout(NamedTuple):
    """Brokers of equally many queues, and a range of numbers of clients."""

    n_brokers: int
    per_broker: int
    n_first: int
    n_last: int

    def __str__(self) -> str:
        n_queues, clients = self.n_brokers * self.per_broker, f"{self.n_first}–{self.n_last}"
        return f"{n_queues} = {self.n_brokers} × {self.per_broker}, {clients} clients"


LAYOUTS = [
    Layout(3, 8, 3, 8),
    Layout(16, 4, 12, 24),
    Layout(4, 16, 12, 24),
    Layout(8, 24, 40, 64),
    Layout(64, 16, 90, 115),
]


def divided(contender: Contender, groups: list[Group]) -> NDArray[np.int32]:
    """Owners of groups of equally many queues, one row each."""
    owners = contender.strategy().assign_fleet(
        Fleet.from_groups(("group", *group) for group in groups)
    )
    return owners.reshape(len(groups), -1)


def loss_and_growth(contender: Contender, layout: Layout, n_topics: int) -> NDArray[np.int64]:
    """Old queues that move if a random broker goes, and if each gets half as many queues more;
    shape (topics, 2).
    """
    brokers, per = layout.n_brokers, layout.per_broker
    rng = random.Random(f"{SEED} {layout}")
    cases = [
        (topic, n) for topic in range(n_topics) for n in range(layout.n_first, layout.n_last + 1)
    ]
    gone = np.array([rng.randrange(brokers) for _ in cases])
    units = [
        (f"order-events-{topic}", slot_ids(n, random.Random(f"{SEED} {layout} {topic} {n}")))
        for topic, n in cases
    ]

    def owners(lists: Sequence[Sequence[Queue]]) -> NDArray[np.int32]:
        return divided(
            contender, [(topic, some, ids) for (topic, ids), some in zip(units, lists, strict=True)]
        )

    now = owners([queues(brokers, per)] * len(units)).reshape(-1, brokers, per)
    grown = owners([queues(brokers, per * 3 // 2)] * len(units)).reshape(-1, brokers, per * 3 // 2)
    fewer = owners([queues(brokers, per, missing) for missing in gone.tolist()])
    kept = now[np.arange(brokers) != gone[:, None]].reshape(fewer.shape)
    moved = np.stack(
        [(fewer != kept).sum(axis=1), (grown[:, :, :per] != now).sum(axis=(1, 2))], axis=1
    )
    return np.asarray(moved.reshape(n_topics, -1, 2).sum(axis=1))


def over_avg(contender: Contender, layout: Layout, n_topics: int) -> list[Ratio]:
    """What loss and growth move, over what AVG moves."""
    found, avg = (loss_and_growth(one, layout, n_topics) for one in (contender, AVG))
    return [
        ratio(list(zip(found[:, at].tolist(), avg[:, at].tolist(), strict=True))) for at in range(2)
    ]


def topic_skews(contender: Contender, n_sets: int) -> NDArray[np.float64]:
    """Largest load over the mean load of the clients of a group with many small topics, for each
    set of topic names.
    """
    listed = queues(*TOPIC_QUEUES)
    groups: list[Group] = []
    for names in range(n_sets):
        ids = slot_ids(TOPIC_CLIENTS, random.Random(f"{SEED} skew {names}"))
        groups += [(f"topic-{names}-{number}", listed, ids) for number in range(TOPICS)]
    owners = divided(contender, groups).reshape(n_sets, -1)
    loads = np.array([np.bincount(row, minlength=TOPIC_CLIENTS) for row in owners])
    return np.asarray(loads.max(axis=1) / loads.mean(axis=1))
