"""Whether what other code raises is taken as its failure, or is a defect of rmqalloc.

As Java's do, `rmqalloc.rebalance` and `rmqalloc.broker` outlive whatever a transport, a listener or
a strategy raises that a user hands them: they log it and go on. In a simulation all of these are
ours, so there only an `Error` is a failure: a defect would end as a wrong figure otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rmqalloc.errors import Error

_ALL_IS_OURS = ContextVar("_ALL_IS_OURS", default=False)


@contextmanager
def all_is_ours() -> Iterator[None]:
    """Let defects through in this block, see `refuse_defect`."""
    token = _ALL_IS_OURS.set(True)
    try:
        yield
    finally:
        _ALL_IS_OURS.reset(token)


def refuse_defect(error: Exception) -> None:
    """Raise an error again that is a defect; nothing for an `Error`, an OSError, or where other
    code than ours may run.

    Examples
    --------
    >>> refuse_defect(TypeError("of a listener"))
    >>> with all_is_ours():
    ...     refuse_defect(Error("a failure"))
    ...     refuse_defect(TypeError("a defect"))
    Traceback (most recent call last):
        ...
    TypeError: a defect
    """
    if _ALL_IS_OURS.get() and not isinstance(error, (Error, OSError)):
        raise error
