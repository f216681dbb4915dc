"""The worst moment of a step, of which the clients of a group are informed one by one.

While a step lasts, every client that will be informed of it reads its share of the old allocation
until it is informed, and of the new one from then on. A queue that passes from client ``a`` to
client ``b`` is unowned while ``a`` is informed and ``b`` is not, and double-owned the other way
round. So a moment is the set S of informed clients, any such set can occur, and the number of
queues that are open (unowned, or double-owned) in it is::

    const + informed[v] for v in S + uninformed[v] for v not in S + weight[e] for e with its tail in
    S and its head outside

with an edge for each pair of clients that hands over queues. Its maximum over all S is a maximum
directed cut, which is NP-hard in general. Goals, in this order: never below the maximum; exact, and
known to be; cheap for a million graphs at once. Four methods, cheapest first, solve nearly all
graphs that occur:

1. **Decided clients.** If ``informed[v] >= uninformed[v] + weight of edges into v``, some best S
   contains v: with v in S at least ``informed[v]`` of its terms count, with v outside at most the
   right-hand side. Likewise v is outside some best S if ``uninformed[v] >= informed[v] + weight of
   edges out of v``. Such clients are fixed and their edges folded into those that remain, for some
   rounds. Invariant: a condition that holds for one client still holds after another has been
   fixed, because the weight of a folded edge stays on the smaller side of its inequality,
   disappears from it, or joins the greater side. So all clients whose condition holds are fixed at
   once.
2. **A bound.** An edge counts if its tail is in S and its head is not. Giving each end half of its
   weight, no S has more than the sum over v of ``max(informed[v] + out[v] / 2, uninformed[v] +
   in[v] / 2)``.
3. **The set that the bound suggests.** If it attains the bound, both are the maximum.
4. **Dynamic programming along the row of clients.** If edges only join clients at most k positions
   apart (AVG hands out runs of queues in the order of client ids, so a client passes queues to its
   neighbours), the best of all that comes after a position depends on the last k choices alone: a
   table of ``2 ** k`` values passed along the row gives the maximum. With k one less than the
   number of clients it tries every set.

If the table would be too large, the bound is the answer, and ``is_exact`` is False.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import distinct, list_positions, offsets_of, ranges

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_VALUES = 1 << 18
"""Clients times ``2 ** k`` of one graph up to which it is solved exactly: all graphs of up to 15 clients are."""

FEW_ROUNDS, MOST_ROUNDS = 8, 64
"""Rounds of fixing decided clients: for all graphs, and for those that nothing else solves."""

LONG_ROW, NEAR = 64, 2
"""Clients of a graph that is solved along its row at once, if edges join clients at most ``NEAR`` positions apart."""

MOST_FORCED = 1 << 21
"""Clients times vertices and edges of one graph up to which each client in turn is tried as informed."""

_VALUES_AT_ONCE = 1 << 20


class Graphs(NamedTuple):
    """The terms of the sum above, for many groups and steps."""

    # Shape (n_graphs + 1,): Clients of each graph, in an order that keeps those that hand over to
    # one another close
    offsets: Counts
    const: Counts  # shape (n_graphs,): queues that are open whoever is informed
    # Shape (n_clients,): Queues that are open if this client is informed, and if it is not
    informed: Counts
    uninformed: Counts
    # Shape (n_edges,): Queues that are open if the tail is informed and the head is not
    tail: Counts
    head: Counts
    weight: Counts

    @property
    def graph_of(self) -> Counts:
        """Graph of every client."""
        return np.repeat(np.arange(self.const.size), np.diff(self.offsets))

    def total(self, values: Counts) -> Counts:
        """Sum values of clients by graph."""
        upto = np.append(0, np.cumsum(values))
        return np.asarray(np.diff(upto[self.offsets]))

    def of_clients(self, ends: Counts) -> Counts:
        """Return the weight of the edges that have their tail, or their head, at each client."""
        return np.bincount(ends, self.weight, self.informed.size).astype(np.int64)

    def part(self, graphs: Counts) -> Graphs:
        """Select graphs; one may be selected several times."""
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
    """The most queues that can be open at one moment."""

    most: Counts  # shape (n_graphs,)
    is_exact: (
        Mask  # shape (n_graphs,): whether some moment attains it; if not, it is an upper bound
    )


def worst_moments(graphs: Graphs, needs_one: Mask | None = None) -> Worst:
    """Return the maximum over all sets of clients that may be informed.

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
    """Return the maximum over all non-empty sets: the greatest over clients of the maximum over the
    sets with this client.
    """
    sizes, starts = np.diff(graphs.offsets), graphs.offsets[:-1]
    copies = graphs.part(np.repeat(np.arange(sizes.size), sizes))
    # The i-th copy of a graph rewards its i-th client for being informed, so much that every best
    # set contains it.
    reward = (
        1
        + graphs.const
        + graphs.total(graphs.informed + graphs.uninformed + graphs.of_clients(graphs.tail))
    )
    copies.informed[copies.offsets[:-1] + list_positions(graphs.offsets)] += np.repeat(
        reward, sizes
    )
    found = _solved(copies)
    best = np.maximum.reduceat(found.most, starts)
    reached = found.is_exact & (found.most == np.repeat(best, sizes))
    return Worst(best - reward, np.logical_or.reduceat(reached, starts))


def _solved(graphs: Graphs) -> Worst:
    """Solve each graph the cheapest way: long rows of neighbours at once, as rounds would decide
    their ends alone.
    """
    sizes, reach = np.diff(graphs.offsets), _reach(graphs)
    is_row = (sizes >= LONG_ROW) & (reach > 0) & (reach <= NEAR) & (sizes <= MOST_VALUES >> NEAR)
    if not is_row.any():
        return _by_rounds(graphs, FEW_ROUNDS)
    most, is_exact = np.empty(sizes.size, np.int64), np.ones(sizes.size, bool)
    for k in distinct(reach[is_row]).tolist():
        chosen = np.flatnonzero(is_row & (reach == k))
        most[chosen] = _in_rows(graphs.part(chosen), k)
    rest = np.flatnonzero(~is_row)
    most[rest], is_exact[rest] = _by_rounds(graphs.part(rest), FEW_ROUNDS)
    return Worst(most, is_exact)


def _by_rounds(graphs: Graphs, rounds: int) -> Worst:
    graphs = _undecided(graphs, rounds)
    out, into = graphs.of_clients(graphs.tail), graphs.of_clients(graphs.head)
    with_it, without = 2 * graphs.informed + out, 2 * graphs.uninformed + into
    bound = graphs.const + graphs.total(np.maximum(with_it, without)) // 2
    inside = with_it > without
    open_ = graphs.const + graphs.total(np.where(inside, graphs.informed, graphs.uninformed))
    counts = inside[graphs.tail] & ~inside[graphs.head]
    open_ += np.bincount(
        graphs.graph_of[graphs.tail[counts]], graphs.weight[counts], bound.size
    ).astype(np.int64)
    is_exact = open_ == bound
    reach = _reach(graphs)
    sizes = np.diff(graphs.offsets)
    cheap = ~is_exact & (sizes <= MOST_VALUES >> np.minimum(reach, 62))
    for k in distinct(reach[cheap]).tolist():
        chosen = np.flatnonzero(cheap & (reach == k))
        bound[chosen] = _in_rows(graphs.part(chosen), k)
        is_exact[chosen] = True
    rest = np.flatnonzero(~is_exact)
    if rest.size and rounds < MOST_ROUNDS:
        bound[rest], is_exact[rest] = _by_rounds(graphs.part(rest), MOST_ROUNDS)
    return Worst(bound, is_exact)


def _reach(graphs: Graphs) -> Counts:
    """Return the greatest distance between the positions of an edge's clients, by graph."""
    reach = np.zeros(graphs.const.size, np.int64)
    np.maximum.at(reach, graphs.graph_of[graphs.tail], np.abs(graphs.tail - graphs.head))
    return reach


def _undecided(graphs: Graphs, rounds: int) -> Graphs:
    """Fold decided clients into the constants and the terms of the others."""
    const, (offsets, _, informed, uninformed, tail, head, weight) = graphs.const.copy(), graphs
    for _ in range(rounds):
        now = Graphs(offsets, const, informed, uninformed, tail, head, weight)
        inside = informed >= uninformed + now.of_clients(head)
        outside = ~inside & (uninformed >= informed + now.of_clients(tail))
        left = ~(inside | outside)
        if left.all():
            break
        const += now.total(np.where(inside, informed, np.where(outside, uninformed, 0)))
        counts = inside[tail] & outside[head]
        const += np.bincount(now.graph_of[tail[counts]], weight[counts], const.size).astype(
            np.int64
        )
        to_head, to_tail = inside[tail] & left[head], left[tail] & outside[head]
        uninformed = uninformed + np.bincount(head[to_head], weight[to_head], informed.size).astype(
            np.int64
        )
        informed = informed + np.bincount(tail[to_tail], weight[to_tail], informed.size).astype(
            np.int64
        )
        upto = np.append(0, np.cumsum(left))
        stays = left[tail] & left[head]
        tail, head, weight = upto[tail[stays]], upto[head[stays]], weight[stays]
        offsets, informed, uninformed = upto[offsets], informed[left], uninformed[left]
    return Graphs(offsets, const, informed, uninformed, tail, head, weight)


def _in_rows(graphs: Graphs, k: int) -> Counts:
    """Return the maxima of graphs whose edges join clients at most ``k`` positions apart."""
    sizes = np.diff(graphs.offsets)
    by_size = np.argsort(sizes, kind="stable")
    per_graph = max(1 << k, int(sizes.max()) * k)
    found = np.empty(sizes.size, np.int64)
    for some in np.array_split(by_size, -(-by_size.size * per_graph // _VALUES_AT_ONCE)):
        if some.size:
            found[some] = _along(graphs.part(some), k)
    return found


def _along(graphs: Graphs, k: int) -> Counts:
    """Solve all graphs at once; bit ``d - 1`` of a state is set if the client ``d`` positions back
    is informed.
    """
    sizes, graph = np.diff(graphs.offsets), graphs.graph_of
    n, longest = sizes.size, int(sizes.max())
    position = np.arange(graphs.informed.size) - graphs.offsets[:-1][graph]
    informed, uninformed = np.zeros((2, longest, n, 1))
    informed[position, graph, 0], uninformed[position, graph, 0] = (
        graphs.informed,
        graphs.uninformed,
    )
    forth, back = np.zeros(
        (2, longest, n, k)
    )  # edges to the client at a place from one before it, and from it to one before
    away = graphs.head - graphs.tail
    for edges, ends, distance in ((forth, graphs.head, away), (back, graphs.tail, -away)):
        mine = distance > 0
        edges[position[ends[mine]], graph[ends[mine]], distance[mine] - 1] = graphs.weight[mine]
    bits = ((np.arange(1 << k) >> np.arange(k)[:, None]) & 1).astype(float)
    best, half = np.zeros((n, 1 << k)), 1 << k >> 1
    for at in range(longest):
        without = best + uninformed[at] + forth[at] @ bits
        with_it = best + informed[at] + back[at] @ (1 - bits)
        # The oldest bit is dropped; of the two states that then coincide the better one is kept.
        for state, some in enumerate((without, with_it)):
            np.maximum(some[:, :half], some[:, half:], out=best[:, state::2])
    return np.asarray(np.rint(graphs.const + best.max(axis=1)), np.int64)
