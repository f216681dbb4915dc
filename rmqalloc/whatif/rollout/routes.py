"""Steps in which the routes of topics change, which clients see one after the other."""

from __future__ import annotations

from rmqalloc.whatif.rollout.course import Camp, Cast, Mask, Moment, Step, everyone, places_in_order


def fresh_clients(cast: Cast, refreshed: float, order: str, seed: int) -> Mask:
    """Clients that have the new routes already: so large a share of all, rounded.

    Raises
    ------
    ValueError
        The share is not from 0 to 1, or the order is unknown.
    """
    if not 0 <= refreshed <= 1:
        raise ValueError(f"the share of clients with new routes must be from 0 to 1, got {refreshed}")
    n_clients = len(cast.client_ids)
    fresh = ~everyone(n_clients)
    fresh[places_in_order(cast.client_ids, order, seed)[: round(n_clients * refreshed)]] = True
    return fresh


def still(n_clients: int, action: str, variant: int, written: int) -> Step:
    """A step that changes what producers write to, and nobody's routes."""
    every = everyone(n_clients)
    return Step(action, (Moment((Camp(every, every, queues=variant),), there=variant, written=written),))


def refresh(fresh: Mask, action: str, before: int, after: int, written: int) -> Step:
    """A step in which the routes become others, and clients have the new ones one after the other, at last all."""
    every = everyone(fresh.size)
    split = (Camp(every, ~fresh, queues=before), Camp(every, fresh, queues=after))
    settled = Moment((Camp(every, every, queues=after),), there=after, written=written)
    return Step(action, (Moment(split, settled=False, there=after, written=written), settled), hearing=every)
