"""A client that reads its queues: what it owns at which moment, and how far it has come in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from random import Random

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import PopRequest, PullRequest, PushConsumer
from rmqalloc.rebalance.process_queue import LOCK_MAX_LIVE
from rmqalloc.simulation._messages import Flow, Reading
from rmqalloc.simulation._read_group import ReadGroup
from rmqalloc.simulation._timeline import OPEN
from rmqalloc.simulation._virtual_clock import EPOCH, Process, VirtualClock
from rmqalloc.simulation._watched_queues import WatchableQueue

RETRY_PULL = 3_000
NEVER = 2**62


class _Read:
    """One process queue, the n-th of its reader: its interval in the timeline if it is worked on
    now, and its reading.
    """

    __slots__ = (
        "flow", "interval", "lock_seen", "number", "offset", "place", "process_queue", "request", "since", "stopped"
    )  # fmt: skip

    def __init__(self, number: int, request: PullRequest, place: int, flow: Flow) -> None:
        assert isinstance(request.process_queue, WatchableQueue)
        self.number = number
        self.request = request
        self.place = place
        self.flow = flow
        self.process_queue = request.process_queue
        self.lock_seen = request.process_queue.last_lock_timestamp
        self.offset = request.next_offset
        self.interval = OPEN
        self.since = OPEN
        self.stopped = 0


class Reader:
    """Reads the queues that one push consumer is given; a `rmqalloc.rebalance.PullDispatcher`.

    `look` is called after each action of the consumer and before each of its requests, so that no
    time passes between a change of a process queue and the look that finds it. It looks at those
    that have changed; at all of them only when the first of the locks held has run out, of which
    there is no notice.

    Attributes
    ----------
    n_created : int
        Process queues made, retry topics aside.
    changed : dict of int to _Read
        What the next `look` looks at.
    first_loss : int
        When the first of the locks held runs out (ms since the epoch), after which it looks at all.
    """

    def __init__(
        self,
        number: int,
        group: ReadGroup,
        clock: VirtualClock,
        process: Process,
        lock_wait: int,
        random: Random,
    ) -> None:
        self.n_created = 0
        self._number = number
        self._timeline = group.timeline
        self._flows = group.flows
        self._readings = group.readings
        self._is_ordered = group.is_ordered
        self._listener_time = group.listener_time
        self._clock = clock
        self._process = process
        self._lock_wait = lock_wait
        self._random = random
        self._reads: dict[MessageQueue, _Read] = {}
        self.changed: dict[int, _Read] = {}
        self.first_loss = NEVER
        self._dropped_at: dict[MessageQueue, int] = {}
        self._busy_until: dict[MessageQueue, int] = {}
        self._works = True
        self._consumer: PushConsumer | None = None

    def attach(self, consumer: PushConsumer) -> None:
        """Set the consumer that it reads for."""
        self._consumer = consumer

    # --- What the consumer asks ---

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Begin to read, ``delay`` milliseconds from now; the queue is owned from the making of its
        process queue on.
        """
        request.process_queue.pulling = True
        place = self._timeline.place.get(request.queue)
        if place is None:  # a retry topic's
            return
        self.look()
        self.n_created += 1
        read = self._reads[request.queue] = _Read(
            self.n_created, request, place, self._flows[request.queue.topic]
        )
        self._watch(read)
        if self._works:
            read.interval = self._timeline.begin(place, self._number, read.lock_seen - EPOCH)
        if self._is_ordered:
            self._process.call_later(delay, partial(self._first_pull, read))
            self._process.call_later(LOCK_MAX_LIVE + 1, partial(self._check_lock, read))
        else:
            self._begin_reading(read, self._clock.elapsed() + delay)

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Count a popped queue as read, without following it: any number of clients may pop one."""
        request.process_queue.pulling = True

    # --- What is seen from outside ---

    def has_seen_all(self) -> bool:
        """Return True if `look` would find nothing."""
        return not self.changed and self._clock.time <= self.first_loss

    def look(self) -> None:
        """Find what the consumer dropped, and in an ordered group which locks it holds."""
        if not self.changed and self._clock.time <= self.first_loss:
            return
        reads = self._to_look_at()
        if self._is_ordered:
            self._look_at_locks(reads)
        dropped = [read for read in reads if read.process_queue.dropped]
        if not dropped:
            return
        now = self._clock.elapsed()
        for read in dropped:
            del self._reads[read.request.queue]
            read.process_queue.unwatch()
            # It is not pulled any longer: if it cannot be removed, it blocks its own return until
            # it counts as stuck.
            read.process_queue.pulling, read.process_queue.last_pull_timestamp = (
                False,
                self._clock.time,
            )
            self._stop(read, now + self._rest(read))
            self._dropped_at[read.request.queue] = read.offset
        self.wait_for_listeners([read.request.queue for read in dropped])

    def wait_for_listeners(self, queues: Iterable[MessageQueue]) -> None:
        """Spend the time until the user's code is done with dropped queues; one that needs too long
        is not waited for.
        """
        if not self._busy_until:
            return
        waited = self._clock.time
        for until in sorted(self._busy_until.get(queue, 0) for queue in queues):
            if until <= waited + self._lock_wait:
                waited = max(waited, until)
        self._clock.spend(waited - self._clock.time)

    def suspend(self) -> None:
        """Stop working on all queues, for a while or for ever; they stay the consumer's."""
        self.look()
        self._works = False
        for read in self._reads.values():
            self._stop(read, self._clock.elapsed())

    def resume(self) -> None:
        """Resume where it stopped, if the queues are still the consumer's and locked."""
        self._works = True
        now = self._clock.elapsed()
        for read in self._reads.values():
            self.changed[read.number] = read
            if not read.process_queue.dropped and self._is_locked(read):
                self._go_on(read, now)
        self.look()

    def offset_of(self, queue: MessageQueue, offset: int) -> int:
        """Return how far the queue is consumed now, or was when it was dropped; ``offset`` if it
        was never read.
        """
        read = self._reads.get(queue)
        if read is None:
            return self._dropped_at.get(queue, offset)
        return (
            read.offset
            if read.since == OPEN
            else read.flow.position(read.offset, read.since, self._clock.elapsed())
        )

    def offsets_of(self, offsets: Mapping[MessageQueue, int]) -> dict[MessageQueue, int]:
        """Return the same of many queues."""
        now, reads, found = self._clock.elapsed(), self._reads, {}
        for queue, offset in offsets.items():
            read = reads.get(queue)
            if read is None:
                found[queue] = self._dropped_at.get(queue, offset)
            else:
                found[queue] = (
                    read.offset
                    if read.since == OPEN
                    else read.flow.position(read.offset, read.since, now)
                )
        return found

    def broker_names(self) -> set[str]:
        """Return the brokers that it pulls from now."""
        return {queue.broker_name for queue, read in self._reads.items() if read.since != OPEN}

    # --- Locks ---

    def _first_pull(self, read: _Read) -> None:
        """Begin to pull an ordered queue, with its offset read again under its lock."""
        if read.process_queue.dropped or self._consumer is None:
            return
        steps = self._consumer.rebalance.prepare_ordered_pull(read.request)
        if self._consumer.client_factory.finish(steps):
            read.offset = read.request.next_offset
            read.process_queue.add_messages(
                1, 1
            )  # some always wait, so the queue is not given up at once (4.9)
            self._begin_reading(read, self._clock.elapsed())
        else:
            self._process.call_later(RETRY_PULL, partial(self._first_pull, read))

    def _check_lock(self, read: _Read) -> None:
        """Ask again for a lock that was not renewed in time, and keep watching it."""
        process_queue = read.process_queue
        if process_queue.dropped:
            return
        if self._is_locked(read):
            age = self._clock.time - process_queue.last_lock_timestamp
            self._process.call_later(LOCK_MAX_LIVE + 1 - age, partial(self._check_lock, read))
        elif self._consumer is not None and self._consumer.orderly_service is not None:
            self._consumer.orderly_service.lock_later(
                read.request.queue, partial(self._recheck, read)
            )

    def _recheck(self, read: _Read, delay: int) -> None:
        self._process.call_later(delay, partial(self._check_lock, read))

    def _is_locked(self, read: _Read) -> bool:
        process_queue = read.process_queue
        return not self._is_ordered or (
            process_queue.locked and not process_queue.is_lock_expired(self._clock.time)
        )

    def _look_at_locks(self, reads: list[_Read]) -> None:
        """End intervals of locks that were lost, 30 s after their last renewal; resume those that
        are held again.
        """
        for read in reads:
            renewed = read.process_queue.last_lock_timestamp
            lost = read.lock_seen + LOCK_MAX_LIVE
            if read.interval != OPEN and min(self._clock.time, renewed) > lost:
                self._stop(read, lost - EPOCH)
            read.lock_seen = renewed
            if self._is_locked(read):
                if self._works and not read.process_queue.dropped:
                    self._go_on(read, self._clock.elapsed())
            elif read.interval != OPEN:
                self._stop(read, min(self._clock.time, renewed + LOCK_MAX_LIVE) - EPOCH)
            if read.interval != OPEN:
                self.first_loss = min(self.first_loss, renewed + LOCK_MAX_LIVE)
            elif self._works and read.process_queue.locked and not read.process_queue.dropped:
                self.changed[read.number] = (
                    read  # too late or too early: that depends on when it is looked at next
                )

    # --- What is to be looked at ---

    def _watch(self, read: _Read) -> None:
        """Look at a read whenever its process queue changes, and once now if a lock says whether it
        is worked on.
        """
        if self._is_ordered or read.process_queue.dropped:
            self.changed[read.number] = read
        read.process_queue.watch(partial(self.changed.__setitem__, read.number, read))

    def _to_look_at(self) -> list[_Read]:
        """Return the reads that may have changed, in the order they were made; all if time alone
        may have changed one.
        """
        if self._clock.time > self.first_loss:
            self.first_loss = NEVER
            reads = list(self._reads.values())
        else:
            reads = [self.changed[number] for number in sorted(self.changed)]
        self.changed.clear()
        return reads

    # --- Intervals and readings ---

    def _begin_reading(self, read: _Read, since: int) -> None:
        """Begin a reading; the consumer's memory gets an offset, for it stores only queues it
        knows: see `offset_of`.
        """
        read.since = since
        if self._consumer is not None:
            self._consumer.offset_store.update_offset(
                read.request.queue, read.offset, increase_only=False
            )

    def _go_on(self, read: _Read, now: int) -> None:
        # What a process sees while another of its requests waits is earlier than what that request
        # has seen already.
        if read.interval == OPEN and now >= read.stopped:
            read.interval = self._timeline.begin(read.place, self._number, now)
            if read.since == OPEN and (not self._is_ordered or read.request.previously_locked):
                read.since = now

    def _stop(self, read: _Read, now: int) -> None:
        if read.interval != OPEN:
            self._timeline.end(read.interval, now)
            read.interval, read.stopped = OPEN, now
        if read.since != OPEN and read.since < now:
            self._readings.append(Reading(read.place, read.offset, read.since, now))
            read.offset = read.flow.position(read.offset, read.since, now)
        read.since = OPEN

    def _rest(self, read: _Read) -> int:
        """Return how long the user's code still works on a dropped ordered queue and holds its
        consume lock; 0 otherwise.
        """
        if not self._listener_time or not self._is_ordered or read.since == OPEN:
            return 0
        rest = self._random.randrange(self._listener_time)
        until = self._busy_until[read.request.queue] = self._clock.time + rest
        read.process_queue.begin_consuming(until)
        return rest
