"""Virtual time: a heap of timers, and processes whose timers stop with them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

EPOCH = 1_700_000_000_000
"""Milliseconds since the epoch at which every simulation begins, so that no output depends on the time of day."""


class VirtualTimer:
    """An action that is due at a virtual time."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        """Prevent the action."""
        self.action = None

    def act(self) -> None:
        """Do it, unless it was cancelled."""
        if self.action is not None:
            self.action()

    fire = act
    """What its clock calls."""


class ProcessTimer(VirtualTimer):
    """An action of a process; it may be cancelled while the process is frozen and it waits."""

    __slots__ = ("_process",)

    def __init__(self, action: Callable[[], object], process: Process) -> None:
        self.action = action
        self._process = process

    def fire(self) -> None:
        """Let the process do it."""
        self._process.do(self.act)


class VirtualClock:
    """Time that passes only from timer to timer.

    An action runs in an instant, but it may have waited for answers: `spend` adds that time. Then
    `now` is later for the rest of that action, and so are the timers it sets; other actions do not
    see it.

    Attributes
    ----------
    time : int
        The value of `now`, for frequent reads.

    Examples
    --------
    >>> clock, seen = VirtualClock(), []
    >>> for delay in (20, 10):
    ...     timer = clock.call_later(delay, lambda: seen.append(clock.elapsed()))
    >>> clock.run(until=clock.now() + 15)
    >>> seen, clock.elapsed()
    ([10], 15)
    """

    def __init__(self) -> None:
        self.time = EPOCH
        self._moment = EPOCH
        self._times: list[int] = []  # a heap; many timers are due at one time
        self._due: dict[int, list[VirtualTimer]] = {}

    def now(self) -> int:
        """Return milliseconds since the epoch."""
        return self.time

    def elapsed(self) -> int:
        """Return milliseconds since the simulation began."""
        return self.time - EPOCH

    def spend(self, milliseconds: int) -> None:
        """Let the action at work wait: time passes for the rest of it."""
        self.time += milliseconds

    def call_later(self, delay: int, action: Callable[[], object]) -> VirtualTimer:
        """Call ``action`` once, ``delay`` milliseconds from now; actions due at one time run in the
        order of the calls.
        """
        timer = VirtualTimer(action)
        self.fire_later(delay, timer)
        return timer

    def fire_later(self, delay: int, timer: VirtualTimer) -> None:
        """Fire a timer, ``delay`` milliseconds from now."""
        time = self.time + delay
        due = self._due.get(time)
        if due is None:
            self._due[time] = [timer]
            heappush(self._times, time)
        else:
            due.append(timer)

    def begin_action(self) -> None:
        """Begin another action at the same moment, which has not waited for anything yet."""
        self.time = self._moment

    def run(self, until: int) -> None:
        """Fire all timers that are due by ``until`` (ms since the epoch), in order."""
        times = self._times
        while times and times[0] <= until:
            self._moment = times[0]
            for timer in self._due[self._moment]:  # and those that they add for the same time
                self.time = self._moment
                timer.fire()
            del self._due[heappop(times)]
        self.time = self._moment = until


class Process:
    """One process on the virtual clock; the clock of whatever runs in it.

    Attributes
    ----------
    is_alive, is_frozen : bool
        A frozen process does nothing until it is thawed, and then catches up.
    after : callable or None
        Called after every action of the process.
    """

    def __init__(self, clock: VirtualClock, after: Callable[[], object] | None = None) -> None:
        self.is_alive = True
        self.is_frozen = False
        self.now = clock.now
        self._clock = clock
        self.after = after
        self._waiting: list[Callable[[], object]] = []

    def call_later(self, delay: int, action: Callable[[], object]) -> VirtualTimer:
        """Call ``action`` once, ``delay`` milliseconds from now, if the process lives then."""
        timer = ProcessTimer(action, self)
        self._clock.fire_later(delay, timer)
        return timer

    def do(self, action: Callable[[], object]) -> None:
        """Let the process act now, or when it is thawed; a dead one does nothing."""
        if not self.is_alive:
            return
        if self.is_frozen:
            self._waiting.append(action)
            return
        action()
        if self.after is not None:
            self.after()

    def freeze(self) -> None:
        """Freeze: neither timers nor messages have an effect."""
        self.is_frozen = True

    def thaw(self) -> None:
        """Resume, with all waiting actions in their order."""
        self.is_frozen = False
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            self._clock.begin_action()
            self.do(action)
        self._clock.begin_action()

    def die(self) -> None:
        """End the process: none of its actions happens any longer."""
        self.is_alive = False
        self._waiting.clear()
