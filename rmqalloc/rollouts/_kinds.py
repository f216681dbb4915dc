"""All kinds of rollouts under one name, as the command line has them."""

from __future__ import annotations

from rmqalloc.rollouts._best_restart import best_restart
from rmqalloc.rollouts._maintain import maintain_broker
from rmqalloc.rollouts._subscribe import change_subscription
from rmqalloc.rollouts.resize import resize_queues
from rmqalloc.rollouts.restart import restart as restart_clients
from rmqalloc.rollouts.switch import change_strategy

__all__ = ["rollout"]


class rollout:
    """Namespace of rollouts: one function per kind, each takes a snapshot.

    ===================== =====================================================
    ``restart``           all clients restart, a batch at a time
    ``best_restart``      the best way to do that, by group
    ``strategy``          another strategy, a batch of clients at a time
    ``subscription``      a topic is added or removed, a batch at a time
    ``queues``            a topic gets more or fewer queues
    ``broker``            a broker goes out of service and comes back
    ===================== =====================================================

    Examples
    --------
    >>> from rmqalloc import read
    >>> made = rollout.restart(read("example:48-pods"), batch=8)
    >>> made.totals["n_steps"].to_pylist()
    [12, 12, 12]
    """

    restart = staticmethod(restart_clients)
    best_restart = staticmethod(best_restart)
    strategy = staticmethod(change_strategy)
    subscription = staticmethod(change_subscription)
    queues = staticmethod(resize_queues)
    broker = staticmethod(maintain_broker)
