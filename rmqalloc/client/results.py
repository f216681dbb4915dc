"""What a listener answers with, and what counts where it answers nothing or fails."""

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
    """A listener has done its work; `None`, which a function without a ``return`` gives, says the
    same.
    """

    CONSUME_SUCCESS = "CONSUME_SUCCESS"


@dataclass(frozen=True, slots=True)
class ReconsumeLater:
    """The broker shall deliver these messages again, to any client of the group; for listeners that
    do not consume in order.

    Parameters
    ----------
    delay_level : int
        0 leaves the delay to the broker, which takes longer ones from try to try; 1 to 18 name one
        of its levels; -1 puts the messages among the dead letters of the group at once.

    Raises
    ------
    ArgumentError
        There is no such level.

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
                f"delay_level goes from 1 to {_MOST_LEVEL}, with 0 for the broker's choice and -1 for dead letters, got "
                f"{self.delay_level}"
            )


@dataclass(frozen=True, slots=True)
class SuspendCurrentQueue:
    """The queue shall rest a moment and these messages be consumed again here; for listeners that
    consume in order.

    Parameters
    ----------
    milliseconds : int, optional
        How long, 10 to 30,000 as in Java; by default the consumer's ``suspend_current_queue_time``.

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
"""What became of messages that a listener was given."""

Answer = Outcome | None
Listener = Callable[[list["Message"]], Answer] | Callable[[list["Message"]], Awaitable[Answer]]
"""``listener(messages)``, a plain or an async function, also of a ``Sequence`` of messages."""


def outcome_of(answer: object, in_order: bool) -> Outcome:
    """Return what a listener's answer stands for; either way of saying "not now" means that of the
    listener's kind.

    Raises
    ------
    ArgumentTypeError
        The answer is none that a listener may give.

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
            "a listener that waits is an async function or an object whose __call__ is one; this one is a plain "
            f"function that returned {message(repr(answer), 80)}"
        )
    raise ArgumentTypeError(
        "a listener returns None, CONSUME_SUCCESS, RECONSUME_LATER or SUSPEND_CURRENT_QUEUE_A_MOMENT, got "
        f"{message(repr(answer), 80)}"
    )
