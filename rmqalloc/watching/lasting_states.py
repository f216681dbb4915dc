"""States that last two sightings, by key, with the time range of each change.

The parts of a sighting may be read one after another, so a sighting has two moments: the first and
the last read. Its state held at or after the first moment, and began by the second. A change lies
between the first moment of the last sighting of the old state and the second moment of the first
sighting of the new state.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Change(NamedTuple, Generic[K, V]):
    """One state that replaced another, at some time between two moments.

    Attributes
    ----------
    key
        Key of the state.
    before, after
        The states; None if the key was known to be absent. If nothing was known before, ``before``
        and ``last_seen_before`` are None.
    last_seen_before, first_seen_after : float
        Last sighting of ``before`` and first sighting of ``after``, in seconds of the Unix clock.
    """

    key: K
    before: V | None
    after: V | None
    last_seen_before: float | None
    first_seen_after: float


class _Lasting(NamedTuple, Generic[V]):
    """What is known of one key: its state, when that was last seen, and what has been seen once
    since.
    """

    is_known: bool
    value: V | None
    last_seen: float
    is_pending: bool = False
    pending: V | None = None
    pending_since: float = 0.0


class LastingStates(Generic[K, V]):
    """The lasting state of every key; a state lasts from its second consecutive sighting on.

    Examples
    --------
    >>> states = LastingStates()
    >>> [states.seen("q0", owner, at) for owner, at in [("c1", 1.0), ("c1", 2.0), ("c2", 3.0), ("c1", 4.0), ("c2", 5.0)]][1:]
    [Change(key='q0', before=None, after='c1', last_seen_before=None, first_seen_after=1.0), None, None, None]
    >>> states.seen("q0", "c2", 6.0)
    Change(key='q0', before='c1', after='c2', last_seen_before=4.0, first_seen_after=5.0)
    """

    def __init__(self) -> None:
        self._states: dict[K, _Lasting[V]] = {}

    def __contains__(self, key: K) -> bool:
        """Return whether anything is known of a key, even from one sighting."""
        return key in self._states

    def __len__(self) -> int:
        return len(self._states)

    def known(self, key: K, value: V | None, at: float) -> None:
        """Set a state that is known to have lasted, such as the absence of a key."""
        self._states[key] = _Lasting(True, value, at)

    def seen(
        self, key: K, value: V | None, at: float, until: float | None = None
    ) -> Change[K, V] | None:
        """Take one sighting; return the change that it confirms, None for none.

        Parameters
        ----------
        key
            Key of the state.
        value
            The state; None if the key is known to be absent.
        at, until : float
            When the first and the last part of the sighting were read, in seconds of the Unix
            clock; ``until`` is ``at`` by default.
        """
        state, until = self._states.get(key), at if until is None else until
        if state is not None and state.is_known and state.value == value:
            self._states[key] = _Lasting(True, value, at)
            return None
        if state is None or not state.is_pending or state.pending != value:
            before = state or _Lasting(False, None, 0.0)
            self._states[key] = before._replace(is_pending=True, pending=value, pending_since=until)
            return None
        self._states[key] = _Lasting(True, value, at)
        last_seen = state.last_seen if state.is_known else None
        return Change(
            key, state.value if state.is_known else None, value, last_seen, state.pending_since
        )

    def forget(self, key: K) -> None:
        """Forget everything about a key."""
        self._states.pop(key, None)

    def is_absent(self, key: K) -> bool:
        """Return whether the key is known to be absent, and no state has been seen since or has ever
        lasted.
        """
        state = self._states.get(key)
        if state is None:
            return True
        return (state.pending if state.is_pending else state.value) is None and state.value is None

    def lasting(self, key: K) -> V | None:
        """Return the lasting state, None if it is unknown or the key is known to be absent."""
        state = self._states.get(key)
        return None if state is None else state.value
