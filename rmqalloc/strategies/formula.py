"""A formula that is written once and calculated over numbers, numpy arrays, Spark columns or SQL
text.

Operands bring ``+``, ``-``, ``*`` and ``%`` themselves. What they call by other names comes as
`Arithmetic`, so a formula names no library.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Offsets, list_positions


class Arithmetic(NamedTuple):
    """What a formula may use besides operators."""

    # whole quotient of two operands; the divisor is above 0. Negative dividends may be rounded
    # either way
    div: Callable[[Any, Any], Any]
    greatest: Callable[[Any, Any], Any]  # the greater of two operands


NUMPY = Arithmetic(np.floor_divide, np.maximum)
INTEGERS = Arithmetic(operator.floordiv, max)


class Formula(NamedTuple):
    """The owner of a queue by the numbers of queues and clients, whose ids are distinct.

    Examples
    --------
    >>> Formula(lambda arithmetic, queue, n_queues, n_clients: queue % n_clients).owner(INTEGERS, 5, 7, 2)
    1
    """

    # from an `Arithmetic`, the position of the queue, the number of queues and that of clients to
    # the position of the owner
    owner: Callable[[Arithmetic, Any, Any, Any], Any]
    # {"in turn", "sorted"} or None: How all owners follow from the first ``min(n_queues,
    # n_clients)`` positions repeated until every queue has one, a form that Spark computes without
    # a lambda: as they stand, or sorted. None if they do not
    rounds: Literal["in turn", "sorted"] | None = None

    def write(
        self, queue_offsets: Offsets, n_clients: NDArray[np.int32], out: NDArray[np.int32]
    ) -> None:
        """Write the owners of many units, as a strategy's hook does.

        Examples
        --------
        >>> out = np.empty(5, np.int32)
        >>> in_turn = Formula(lambda arithmetic, queue, n_queues, n_clients: queue % n_clients)
        >>> in_turn.write(np.array([0, 2, 5]), np.array([1, 2], np.int32), out)
        >>> out.tolist()
        [0, 0, 0, 1, 0]
        """
        sizes = np.diff(queue_offsets)
        n_queues, clients = np.repeat(sizes, sizes), np.repeat(n_clients, sizes)
        out[:] = self.owner(NUMPY, list_positions(queue_offsets), n_queues, clients)
