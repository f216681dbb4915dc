"""Answers of a listener, and the default for no answer or an error."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.text import message

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

DEAD_LETTERS = -1
_MOST_LEVEL = 18
_LEAST_PAUSE, _MOST_PAUSE = 10, 30_000


class ConsumeSuccess(Enum):
    """A listener has done its work. `None`, the result of a function without ``return``, means the
    same.
    """

    CONSUME_SUCCESS = "CONSUME_SUCCESS"


@dataclass(frozen=True, slots=True)
class ReconsumeLater:
    """Request that the broker deliver these messages again, to any client of the group. For
    listeners that do not consume in order.

    Parameters
    ----------
    delay_level : int
        0 leaves the delay to the broker, which lengthens it with each try; 1 to 18 select a level
        of the broker; -1 makes the messages dead letters of the group at once.

    Raises
    ------
    ArgumentError
        The level does not exist.

    Notes
    -----
    ``ConsumeConcurrentlyStatus.RECONSUME_LATER`` with ``ConsumeConcurrentlyContext.delayLevelWhenNextConsume``.

    Examples
    --------
    >>> ReconsumeLater(delay_level=3)
    ReconsumeLater(delay_level=3)
    """

    delay_level: int = 0

    def __post_init__(self) -> None:
        if not DEAD_LETTERS <= self.delay_level <= _MOST_LEVEL:
            raise ArgumentError(
                f"delay_level must be from 1 to {_MOST_LEVEL}, 0 for the broker's choice or -1 for dead letters, got "
                f"{self.delay_level}"
            )


@dataclass(frozen=True, slots=True)
class SuspendCurrentQueue:
    """Request that the queue pause and this client consume these messages again. For listeners that
    consume in order.

    Parameters
    ----------
    milliseconds : int, optional
        Duration, 10 to 30,000 as in Java; the consumer's ``suspend_current_queue_time`` by default.

    Notes
    -----
    ``ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT`` with ``ConsumeOrderlyContext.suspendCurrentQueueTimeMillis``.

    Examples
    --------
    >>> SuspendCurrentQueue(5).bounded(1_000), SuspendCurrentQueue().bounded(1_000)
    (10, 1000)
    """

    milliseconds: int | None = None

    def bounded(self, default: int) -> int:
        """Return the pause in milliseconds, within Java's bounds."""
        return min(
            max(default if self.milliseconds is None else self.milliseconds, _LEAST_PAUSE),
            _MOST_PAUSE,
        )


CONSUME_SUCCESS = ConsumeSuccess.CONSUME_SUCCESS
RECONSUME_LATER = ReconsumeLater()
SUSPEND_CURRENT_QUEUE_A_MOMENT = SuspendCurrentQueue()

Outcome = ConsumeSuccess | ReconsumeLater | SuspendCurrentQueue
"""The result of messages that a listener received."""

Answer = Outcome | None
Listener = Callable[[list["Message"]], Answer] | Callable[[list["Message"]], Awaitable[Answer]]
"""``listener(messages)``, a plain or an async function; may be annotated with ``Sequence``."""


def outcome_of(answer: object, in_order: bool) -> Outcome:
    """Return the outcome that a listener's answer means. Both forms of "later" are accepted and mean
    the form for the kind of listener.

    Raises
    ------
    ArgumentTypeError
        The answer is not one of the permitted values.

    Examples
    --------
    >>> outcome_of(None, in_order=False)
    <ConsumeSuccess.CONSUME_SUCCESS: 'CONSUME_SUCCESS'>
    >>> outcome_of(RECONSUME_LATER, in_order=True)
    SuspendCurrentQueue(milliseconds=None)
    """
    if answer is None or answer is CONSUME_SUCCESS:
        return CONSUME_SUCCESS
    if isinstance(answer, ReconsumeLater):
        return SUSPEND_CURRENT_QUEUE_A_MOMENT if in_order else answer
    if isinstance(answer, SuspendCurrentQueue):
        return answer if in_order else RECONSUME_LATER
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise ArgumentTypeError(
            "a listener that waits must be an async function or an object with an async __call__; this plain "
            f"function returned {message(repr(answer), 80)}"
        )
    raise ArgumentTypeError(
        "a listener must return None, CONSUME_SUCCESS, RECONSUME_LATER or SUSPEND_CURRENT_QUEUE_A_MOMENT, got "
        f"{message(repr(answer), 80)}"
    )
