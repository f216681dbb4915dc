"""Virtual time: a heap of timers, and processes whose timers stop with them."""

import heapq
from collections.abc import Callable

EPOCH = 1_700_000_000_000
"""Milliseconds since the epoch at which every simulation begins, so that no output depends on the time of day."""


class VirtualTimer:
    """Something that will happen in virtual time."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        """Do not let it happen."""
        self.action = None

    def fire(self) -> None:
        """It is time."""
        if self.action is not None:
            self.action()


class VirtualClock:
    """Time that passes only from timer to timer.

    An action runs in an instant, but it may have waited for answers: `spend` says how long. Then `now` is later for the rest of
    that action, and so are the timers it sets; other actions do not see it.

    Attributes
    ----------
    time : int
        What `now` returns, for those who ask often.

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
        self._heap: list[tuple[int, int, VirtualTimer]] = []
        self._n_timers = 0

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return self.time

    def elapsed(self) -> int:
        """Milliseconds since the simulation began."""
        return self.time - EPOCH

    def spend(self, milliseconds: int) -> None:
        """The action at work has waited."""
        self.time += milliseconds

    def call_later(self, delay: int, action: Callable[[], object]) -> VirtualTimer:
        """Call ``action`` once, ``delay`` milliseconds from now; of several due at one time, the earlier asked for first."""
        timer = VirtualTimer(action)
        self.push(delay, timer)
        return timer

    def push(self, delay: int, timer: VirtualTimer) -> None:
        """Let a timer fire ``delay`` milliseconds from now."""
        self._n_timers += 1
        heapq.heappush(self._heap, (self.time + delay, self._n_timers, timer))

    def begin_action(self) -> None:
        """What follows is another action at the same time, which has not waited for anything yet."""
        self.time = self._moment

    def run(self, until: int) -> None:
        """Let everything happen that is due by then (ms since the epoch), in order."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.time, _, timer = heapq.heappop(heap)
            self._moment = self.time
            timer.fire()
        self.time = self._moment = until


class _ProcessTimer(VirtualTimer):
    """A timer of a process; it is kept while the process stands still and lost when it dies."""

    __slots__ = ("_process",)

    def __init__(self, process: "Process", action: Callable[[], object]) -> None:
        super().__init__(action)
        self._process = process

    def fire(self) -> None:
        self._process.do(self._fire)  # it may be cancelled while a frozen process keeps it waiting

    _fire = VirtualTimer.fire


class Process:
    """One process on the virtual clock; the clock of whatever runs in it.

    Attributes
    ----------
    is_alive, is_frozen : bool
        A frozen process does nothing until it is thawed, and then catches up.
    after : callable or None
        See above.
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
        timer = _ProcessTimer(self, action)
        self._clock.push(delay, timer)
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
        """Stand still: neither timers nor messages have an effect."""
        self.is_frozen = True

    def thaw(self) -> None:
        """Go on, with all that has been waiting, in its order."""
        self.is_frozen = False
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            self._clock.begin_action()
            self.do(action)
        self._clock.begin_action()

    def die(self) -> None:
        """Nothing of it happens any longer."""
        self.is_alive = False
        self._waiting.clear()
