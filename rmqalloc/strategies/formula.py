"""A formula that is written once and calculated over numbers, numpy arrays, Spark columns or SQL text.

Operands bring ``+``, ``-``, ``*`` and ``%`` themselves. What they call by other names comes as `Arithmetic`, so a formula names
no library.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np


class Arithmetic(NamedTuple):
    """What a formula may use besides operators.

    Attributes
    ----------
    div : callable
        Whole quotient of two operands; the divisor is above 0. Negative dividends may be rounded either way.
    greatest : callable
        The greater of two operands.
    """

    div: Callable[[Any, Any], Any]
    greatest: Callable[[Any, Any], Any]


NUMPY = Arithmetic(np.floor_divide, np.maximum)
INTEGERS = Arithmetic(operator.floordiv, max)


class Formula(NamedTuple):
    """The owner of a queue by the numbers of queues and clients, whose ids are distinct.

    Attributes
    ----------
    owner : callable
        From an `Arithmetic`, the position of the queue, the number of queues and that of clients to the position of the owner.
    rounds : {"in turn", "sorted"} or None
        How all owners follow from the first ``min(n_queues, n_clients)`` positions repeated until every queue has one, a form
        that Spark computes without a lambda: as they stand, or sorted. None if they do not.

    Examples
    --------
    >>> Formula(lambda arithmetic, queue, n_queues, n_clients: queue % n_clients).owner(INTEGERS, 5, 7, 2)
    1
    """

    owner: Callable[[Arithmetic, Any, Any, Any], Any]
    rounds: Literal["in turn", "sorted"] | None = None
