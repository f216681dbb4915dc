"""The fewest queues that must change owner for even loads: by trying everything where that is
little, else as a flow.
"""

from itertools import product

TRIED_AT_MOST = 3_000


def least_moves(before, queues, ids):
    """How few of the queues of both sides must change owner for loads that differ by one at most.

    Parameters
    ----------
    before : dict of queue to client id
        Owners before, None for nobody.
    queues : list
        Those after.
    ids : iterable of str
        Clients after.
    """
    ids = list(dict.fromkeys(ids))
    if not ids:
        return sum(before.get(queue) is not None for queue in queues)
    if len(ids) ** len(queues) <= TRIED_AT_MOST:
        return by_trying(before, queues, ids)
    return by_flow(before, queues, ids)


def by_trying(before, queues, ids):
    """All allocations, one after the other."""
    least = len(queues)
    for owners in product(ids, repeat=len(queues)):
        loads = [owners.count(one) for one in ids]
        if max(loads) - min(loads) <= 1:
            moved = sum(
                q in before and before[q] != owner for q, owner in zip(queues, owners, strict=True)
            )
            least = min(least, moved)
    return least


def by_flow(before, queues, ids):
    """Cheapest flow from kinds of queues (by their owner before) through clients to the sink.

    Every client takes ``share`` queues at a price below all others, so that these places are filled
    first, and one more at no price. Augmenting along cheapest paths keeps the flow cheapest for its
    amount.
    """
    share = len(queues) // len(ids)
    prize = len(queues) + 1
    kinds = {}
    for queue in queues:
        kind = ("new",) if queue not in before else ("of", before[queue])
        kinds[kind] = kinds.get(kind, 0) + 1
    edges = []  # [from, to, room, price]; an edge and its way back stand side by side

    def edge(start, end, room, price):
        edges.extend(([start, end, room, price], [end, start, 0, -price]))

    for kind, n in kinds.items():
        edge("source", kind, n, 0)
        for one in ids:
            edge(kind, ("client", one), n, 0 if kind in (("new",), ("of", one)) else 1)
    for one in ids:
        edge(("client", one), "sink", share, -prize)
        edge(("client", one), "sink", 1, 0)
    price = 0
    while (path := _cheapest(edges)) is not None:
        room = min(edges[number][2] for number in path)
        for number in path:
            edges[number][2] -= room
            edges[number ^ 1][2] += room
            price += room * edges[number][3]
    return price + prize * share * len(ids)


def _cheapest(edges):
    """Edges of the cheapest way from the source to the sink, by Bellman and Ford; None if there is
    none.
    """
    cost, way = {"source": 0}, {}
    changed = True
    while changed:
        changed = False
        for number, (start, end, room, price) in enumerate(edges):
            if room and start in cost and cost[start] + price < cost.get(end, float("inf")):
                cost[end], way[end] = cost[start] + price, number
                changed = True
    if "sink" not in cost:
        return None
    path, at = [], "sink"
    while at != "source":
        path.append(way[at])
        at = edges[way[at]][0]
    return path
