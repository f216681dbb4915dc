"""The worst that can be while the clients of a group hear of a change one by one.

While a step lasts, every client that hears of it either has not heard yet and reads its share of the old allocation, or has and
reads its share of the new one. A queue that passes from client ``a`` to client ``b`` is unowned while ``a`` has heard and ``b``
has not, and double-owned the other way round. So a moment is the set S of clients that have heard, any such set can occur, and
the queues that lie open in it are::

    const  +  told[v] for every v in S  +  untold[v] for every v not in S  +  weight[e] for every e with tail in S, head not

with an edge for each pair that hands over queues. Its maximum over all S is a greatest directed cut, which has no quick
algorithm for every graph. Four things answer for nearly all graphs there are, the cheapest first, many graphs at once:

1. **Decided clients.** If ``told[v] >= untold[v] + weight of edges into v``, some best S has v in it: with v in S at least
   ``told[v]`` of what v takes part in counts, with v outside at most the right side. Likewise ``untold[v] >= told[v] +`` weight
   of edges out of v leaves v out. Such clients are set and their edges folded into those that remain, for some rounds. The
   condition of another client stays true meanwhile: what its edges lose falls away or comes to the same side as ``told`` or
   ``untold``, so clients may be set side by side.
2. **A bound.** An edge that counts has its tail in S and its head outside. Give each end half of it: no S counts more than the
   sum over v of ``max(told[v] + out[v] / 2, untold[v] + in[v] / 2)``.
3. **The set that the bound suggests.** Where it attains the bound, both are the maximum.
4. **Clients in a row.** Where edges join only clients at most k places apart (AVG deals stretches of queues in the order of
   client ids, so a client hands over to its neighbours), the best of all that comes after a place depends on the last k choices
   alone: a table of ``2 ** k`` values passed along the row gives the maximum. With k one less than the clients it tries every
   set.

Where the table would be too large, the bound stands, and is said to be one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import list_positions, offsets_of, ranges

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_VALUES = 1 << 18
"""Clients times ``2 ** k`` of one graph up to which it is solved exactly: all graphs of up to 15 clients are."""

FEW_ROUNDS, MOST_ROUNDS = 8, 64
"""Rounds in which clients are decided: for all graphs, and for those of which nothing else gives the maximum."""

MOST_FORCED = 1 << 21
"""Clients times vertices and edges of one graph up to which each client is tried as one that has heard."""

_VALUES_AT_ONCE = 1 << 20


class Graphs(NamedTuple):
    """What can lie open, for many groups and steps.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_graphs + 1,)
        Clients of each graph, in an order in which those that hand over to one another are near.
    const : ndarray of int64, shape (n_graphs,)
        Queues that lie open whoever has heard.
    told, untold : ndarray of int64, shape (n_clients,)
        Queues that lie open if this client has heard, and if it has not.
    tail, head, weight : ndarray of int64, shape (n_edges,)
        Queues that lie open if the tail has heard and the head has not.
    """

    offsets: Counts
    const: Counts
    informed: Counts
    uninformed: Counts
    tail: Counts
    head: Counts
    weight: Counts

    @property
    def graph_of(self) -> Counts:
        """Graph of every client."""
        return np.repeat(np.arange(self.const.size), np.diff(self.offsets))

    def total(self, values: Counts) -> Counts:
        """Sums by graph of numbers of clients."""
        upto = np.append(0, np.cumsum(values))
        return np.asarray(np.diff(upto[self.offsets]))

    def of_clients(self, ends: Counts) -> Counts:
        """Weight of the edges that have their tail, or their head, at each client."""
        return np.bincount(ends, self.weight, self.informed.size).astype(np.int64)

    def part(self, graphs: Counts) -> Graphs:
        """Some graphs alone; one may be there many times."""
        sizes = np.diff(self.offsets)[graphs]
        old = ranges(self.offsets[:-1][graphs], sizes)
        offsets = offsets_of(sizes)
        of_edge = self.graph_of[self.tail]
        by_graph = np.argsort(of_edge, kind="stable")
        edge_offsets = offsets_of(np.bincount(of_edge, minlength=self.const.size))
        n_edges = np.diff(edge_offsets)[graphs]
        edges = by_graph[ranges(edge_offsets[:-1][graphs], n_edges)]
        shift = np.repeat(offsets[:-1] - self.offsets[:-1][graphs], n_edges)
        return Graphs(
            offsets, self.const[graphs], self.informed[old], self.uninformed[old],
            self.tail[edges] + shift, self.head[edges] + shift, self.weight[edges],
        )  # fmt: skip


class Worst(NamedTuple):
    """The most that can lie open at one moment.

    Attributes
    ----------
    most : ndarray of int64, shape (n_graphs,)
    is_exact : ndarray of bool, shape (n_graphs,)
        Whether a moment comes to that; else none comes to more.
    """

    most: Counts
    is_exact: Mask


def worst_moments(graphs: Graphs, needs_one: Mask | None = None) -> Worst:
    """The most over all sets of clients that may have heard.

    Parameters
    ----------
    graphs : Graphs
    needs_one : ndarray of bool, shape (n_graphs,), optional
        Graphs in which at least one client has heard.

    Examples
    --------
    Client 0 hands two queues to client 1, which hands one to client 2:

    >>> import numpy as np
    >>> none = np.zeros(3, np.int64)
    >>> graphs = Graphs(np.array([0, 3]), np.array([0]), none, none, np.array([0, 1]), np.array([1, 2]), np.array([2, 1]))
    >>> worst_moments(graphs)
    Worst(most=array([2]), is_exact=array([ True]))
    """
    found = _solved(graphs)
    if needs_one is None or not needs_one.any():
        return found
    nobody = graphs.const + graphs.total(graphs.uninformed)
    open_ = np.flatnonzero(needs_one & (nobody >= found.most) & (np.diff(graphs.offsets) > 0))
    most, is_exact = found.most.copy(), found.is_exact.copy()
    is_exact[open_] = False
    sizes = np.diff(graphs.offsets)[open_]
    n_edges = np.bincount(graphs.graph_of[graphs.tail], minlength=most.size)[open_]
    cost = sizes * (sizes + n_edges)
    open_, cost = open_[cost <= MOST_FORCED], cost[cost <= MOST_FORCED]
    for some in np.split(open_, 1 + np.flatnonzero(np.diff(np.cumsum(cost) // MOST_FORCED))):
        if some.size:
            most[some], is_exact[some] = _with_one(graphs.part(some))
    return Worst(most, is_exact)


def _with_one(graphs: Graphs) -> Worst:
    """The most over the sets that are not empty: that over the sets with a client, of all clients."""
    sizes, starts = np.diff(graphs.offsets), graphs.offsets[:-1]
    copies = graphs.part(np.repeat(np.arange(sizes.size), sizes))
    # So large a reward for having heard that every best set has the client: the i-th copy of a graph tries the i-th.
    reward = 1 + graphs.const + graphs.total(graphs.informed + graphs.uninformed + graphs.of_clients(graphs.tail))
    copies.informed[copies.offsets[:-1] + list_positions(graphs.offsets)] += np.repeat(reward, sizes)
    found = _solved(copies)
    best = np.maximum.reduceat(found.most, starts)
    reached = found.is_exact & (found.most == np.repeat(best, sizes))
    return Worst(best - reward, np.logical_or.reduceat(reached, starts))


def _solved(graphs: Graphs, rounds: int = FEW_ROUNDS) -> Worst:
    graphs = _undecided(graphs, rounds)
    out, into = graphs.of_clients(graphs.tail), graphs.of_clients(graphs.head)
    with_it, without = 2 * graphs.informed + out, 2 * graphs.uninformed + into
    bound = graphs.const + graphs.total(np.maximum(with_it, without)) // 2
    heard = with_it > without
    open_ = graphs.const + graphs.total(np.where(heard, graphs.informed, graphs.uninformed))
    counts = heard[graphs.tail] & ~heard[graphs.head]
    open_ += np.bincount(graphs.graph_of[graphs.tail[counts]], graphs.weight[counts], bound.size).astype(np.int64)
    is_exact = open_ == bound
    reach = _reach(graphs)
    sizes = np.diff(graphs.offsets)
    cheap = ~is_exact & (sizes <= MOST_VALUES >> np.minimum(reach, 62))
    for k in np.unique(reach[cheap]).tolist():
        chosen = np.flatnonzero(cheap & (reach == k))
        bound[chosen] = _in_rows(graphs.part(chosen), k)
        is_exact[chosen] = True
    rest = np.flatnonzero(~is_exact)
    if rest.size and rounds < MOST_ROUNDS:
        bound[rest], is_exact[rest] = _solved(graphs.part(rest), MOST_ROUNDS)
    return Worst(bound, is_exact)


def _reach(graphs: Graphs) -> Counts:
    """How many places apart the clients of an edge are at most, graph by graph."""
    reach = np.zeros(graphs.const.size, np.int64)
    np.maximum.at(reach, graphs.graph_of[graphs.tail], np.abs(graphs.tail - graphs.head))
    return reach


def _undecided(graphs: Graphs, rounds: int) -> Graphs:
    """The graphs without the clients of which it is clear whether some best set has them."""
    const, (offsets, _, informed, uninformed, tail, head, weight) = graphs.const.copy(), graphs
    for _ in range(rounds):
        now = Graphs(offsets, const, informed, uninformed, tail, head, weight)
        heard = informed >= uninformed + now.of_clients(head)
        unheard = ~heard & (uninformed >= informed + now.of_clients(tail))
        left = ~(heard | unheard)
        if left.all():
            break
        const += now.total(np.where(heard, informed, np.where(unheard, uninformed, 0)))
        counts = heard[tail] & unheard[head]
        const += np.bincount(now.graph_of[tail[counts]], weight[counts], const.size).astype(np.int64)
        to_head, to_tail = heard[tail] & left[head], left[tail] & unheard[head]
        uninformed = uninformed + np.bincount(head[to_head], weight[to_head], informed.size).astype(np.int64)
        informed = informed + np.bincount(tail[to_tail], weight[to_tail], informed.size).astype(np.int64)
        upto = np.append(0, np.cumsum(left))
        stays = left[tail] & left[head]
        tail, head, weight = upto[tail[stays]], upto[head[stays]], weight[stays]
        offsets, informed, uninformed = upto[offsets], informed[left], uninformed[left]
    return Graphs(offsets, const, informed, uninformed, tail, head, weight)


def _in_rows(graphs: Graphs, k: int) -> Counts:
    """The maxima of graphs whose edges join clients at most ``k`` places apart."""
    sizes = np.diff(graphs.offsets)
    by_size = np.argsort(sizes, kind="stable")
    per_graph = max(1 << k, int(sizes.max()) * k)
    found = np.empty(sizes.size, np.int64)
    for some in np.array_split(by_size, -(-by_size.size * per_graph // _VALUES_AT_ONCE)):
        if some.size:
            found[some] = _along(graphs.part(some), k)
    return found


def _along(graphs: Graphs, k: int) -> Counts:
    """`_in_rows`, all graphs side by side: bit ``d - 1`` of a state is whether the client ``d`` places back has heard."""
    sizes, graph = np.diff(graphs.offsets), graphs.graph_of
    n, longest = sizes.size, int(sizes.max())
    position = np.arange(graphs.informed.size) - graphs.offsets[:-1][graph]
    informed, uninformed = np.zeros((2, longest, n, 1))
    informed[position, graph, 0], uninformed[position, graph, 0] = graphs.informed, graphs.uninformed
    forth, back = np.zeros(
        (2, longest, n, k)
    )  # edges to the client at a place from one before it, and from it to one before
    away = graphs.head - graphs.tail
    for edges, ends, distance in ((forth, graphs.head, away), (back, graphs.tail, -away)):
        mine = distance > 0
        edges[position[ends[mine]], graph[ends[mine]], distance[mine] - 1] = graphs.weight[mine]
    bits = ((np.arange(1 << k) >> np.arange(k)[:, None]) & 1).astype(float)
    best = np.zeros((n, 1 << k))
    for at in range(longest):
        without = best + uninformed[at] + forth[at] @ bits
        with_it = best + informed[at] + back[at] @ (1 - bits)
        # The bit of the client furthest back falls out; of the two states that then agree the better one counts.
        kept = [some.reshape(n, 2, -1).max(axis=1) for some in (without, with_it)]
        best = np.stack(kept, axis=2).reshape(n, 1 << k)
    return np.asarray(np.rint(graphs.const + best.max(axis=1)), np.int64)
