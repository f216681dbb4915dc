"""The checker's loops of strategies that decide by names alone, ORDINAL and STABLE.

They are written from the pages that define the two, docs/strategies/ordinal.md and stable.md, to be read beside those; the
planner's code is another. As ``_loops.py``, this is by the standard library alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from plan_checker import plain_rules as rules
from plan_checker.plain_rules import Ids, Queue

MASK, GOLDEN = 2**64 - 1, 0x9E3779B97F4A7C15
ANCHORS_APART, FIRST_ANCHORS = 12, 22


def numbers_of(topic: str, queues: list[Queue]) -> list[int]:
    """A number of 64 bits for every queue."""
    of_topic = rules.mix64(rules.java_hash(topic))
    return [
        rules.mix64((of_topic + (rules.java_hash(broker) << 32) + queue_id % 2**32) & MASK)
        for broker, queue_id in queues
    ]


def taking_part(ids: Ids) -> dict[str, int]:
    """The first place of every id but the empty one."""
    return {one: place for place, one in reversed([*enumerate(ids)]) if one}


# --- ORDINAL ---


def slot_of(client_id: str, pattern: str) -> int | None:
    """The number that the instance name ends in."""
    before, _, after = pattern.partition("#")
    _, at, instance = client_id.partition("@")
    name = instance.partition("@")[0]
    if not at or not name.endswith(after):
        return None
    name = name[: len(name) - len(after)]
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    is_number = 1 <= len(digits) <= 9 and (digits == "0" or digits[0] != "0")
    return int(digits) if is_number and stem.endswith(before) else None


def client_by_number(ids: Ids, pattern: str) -> dict[int, str]:
    """Which client has which number."""
    places = taking_part(ids)
    in_order = sorted(places, key=places.__getitem__)
    limit, own, repeats, others = 4 * len(in_order) + 64, dict[int, str](), list[tuple[int, int]](), list[str]()
    for place, one in enumerate(in_order):
        slot = slot_of(one, pattern)
        if slot is None or slot >= limit:
            others.append(one)
        elif slot in own:
            repeats.append((slot, place))
        else:
            own[slot] = one
    more = [*(in_order[place] for _, place in sorted(repeats)), *others]
    return own | dict(enumerate(more, max(own, default=-1) + 1))


def drawn_slot(u: int, n: int) -> int:
    """One of n slots by a number."""
    rest = u % (1 << (n - 1).bit_length())
    while rest:
        top = 1 << rest.bit_length() - 1
        v = rules.mix64(u + top & MASK)
        w = top + (v >> 32) % top
        while w >= top:
            if w < n:
                return w
            v = rules.mix64(v)
            w = (v >> 32) % (2 * top)
        rest -= top
    return 0


class Slots:
    """Loads of slots, and the extra queues that some may still take: those of new slots apart, if there is so little."""

    def __init__(self, n: int, full: int, extra: int, of_new: int = 0, first_new: int | None = None) -> None:
        self.load, self.full, self.extra = [0] * n, full, [extra, of_new]
        self.first_new = n if first_new is None else first_new

    def take(self, slot: int, with_extra: bool = True) -> bool:
        """Whether a slot takes a queue."""
        pool = int(slot >= self.first_new)
        if self.load[slot] > self.full or (self.load[slot] == self.full and not (with_extra and self.extra[pool] > 0)):
            return False
        self.extra[pool] -= self.load[slot] == self.full
        self.load[slot] += 1
        return True


def draw_rounds(
    x: list[int],
    found: list[int],
    n: int,
    slots: Slots,
    present: Collection[int] | None = None,
    order: list[int] | None = None,
) -> None:
    """Give the queues without a slot (-1) to slots by their draws, in an order if one is given."""

    def takes(slot: int) -> bool:
        return (present is None or slot in present) and slots.take(slot)

    for t in (1, 2, 3, 4):
        for queue in [i for i in (range(len(x)) if order is None else order) if found[i] < 0]:
            slot = drawn_slot(rules.mix64(x[queue] + t * GOLDEN & MASK), n)
            while not (is_taken := takes(slot)) and t == 4:
                slot = (slot + 1) % n
            found[queue] = slot if is_taken else -1


def at_anchor(x: list[int], n: int) -> list[int]:
    """Slots of the queues, drawn."""
    found = [-1] * len(x)
    draw_rounds(x, found, n, Slots(n, len(x) // n, len(x) % n))
    return found


def between(seed: int, x: list[int], a: int, c: int, low: list[int], high: list[int]) -> list[int]:
    """Slots at size c, which lies between size a and a greater one."""
    m = len(x)
    slots = Slots(c, m // c, m % c)
    if m < c:
        new = (m * (c - a) + ((rules.mix64(seed + c * GOLDEN & MASK) >> 32) * c >> 32)) // c
        slots = Slots(c, 0, m - new, new, a)
    found = [-1] * m
    same, beyond, back, on = range(4)
    kinds = [same if p == q else beyond if q >= c else back if q < a else on for p, q in zip(low, high, strict=True)]
    passes = [(same, low, True), (beyond, low, True), (back, low, False), (back, high, False)]
    passes += [(on, low, False), (back, low, True), (on, high, True), (back, high, True)]
    for kind, to, with_extra in passes:
        for queue in range(m):
            if found[queue] < 0 and kinds[queue] == kind and slots.take(to[queue], with_extra):
                found[queue] = to[queue]
    draw_rounds(x, found, c, slots)
    return found


def base(seed: int, x: list[int], n: int) -> list[int]:
    """Slots of the queues if none of n is missing."""
    a, b = 1, 2 + ((rules.mix64(seed) >> 32) * FIRST_ANCHORS >> 32)
    while b <= n:
        a, b = b, ANCHORS_APART * b
    low, high = at_anchor(x, a), at_anchor(x, b)
    while a < n:
        c = a + max(1, 5 * (b - a) // 16)
        middle = between(seed, x, a, c, low, high)
        if c <= n:
            a, low = c, middle
        else:
            b, high = c, middle
    return low


def chained(seed: int, x: list[int], n: int) -> list[int]:
    """Slots of the queues under version 2 if none of n is missing."""
    m, sixteenths = len(x), 16 + ((rules.mix64(seed) >> 32) * 16 >> 32)
    while (sixteenths // 16) ** 3 < m * m:
        sixteenths *= 2
    start = sixteenths // 16
    found = at_anchor(x, start)
    held = [[i for i in range(m) if found[i] == slot] for slot in range(start)]  # those that came last at the end
    for size in range(start - 1, n - 1, -1):
        leaving = held.pop()[::-1]
        slots = Slots(size, m // size, m % size)
        slots.load = [*map(len, held)]
        slots.extra[0] -= sum(load > slots.full for load in slots.load)
        for queue in leaving:
            found[queue] = -1
        draw_rounds(x, found, size, slots, order=leaving)
        for queue in leaving:
            held[found[queue]].append(queue)
    for size in range(len(held) + 1, n + 1):
        v = rules.mix64(seed + size * GOLDEN & MASK)
        n_taken, taken = (m + ((v >> 32) * size >> 32)) // size, list[int]()
        while len(taken) < n_taken:
            v = rules.mix64(v + GOLDEN & MASK)
            first, most = (v >> 32) * (size - 1) >> 32, max(map(len, held))
            giver = next(one for one in [*held[first:], *held[:first]] if len(one) == most)
            taken.append(giver.pop())
            found[taken[-1]] = size - 1
        held.append(taken)
    return found


def ordinal(
    topic: str, queues: list[Queue], ids: Ids, pattern: str, by: Callable[[int, list[int], int], list[int]] = base
) -> list[str | None]:
    """Owners by ORDINAL, with the slots of its base."""
    client = client_by_number(ids, pattern)
    if not client:
        return [None] * len(queues)
    x, n = numbers_of(topic, queues), max(client) + 1
    found = by(rules.java_hash(topic), x, n)
    slots = Slots(n, len(x) // len(client), len(x) % len(client))
    for slot in found:
        slots.load[slot] += 1
    slots.extra[0] -= sum(slots.load[slot] > slots.full for slot in client)
    found = [slot if slot in client else -1 for slot in found]
    draw_rounds(x, found, n, slots, client)
    return [client[slot] for slot in found]


# --- STABLE ---


def murmur(h: int) -> int:
    """Murmur3's finalizer of 32 bits."""
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    return h ^ h >> 16


def stable(topic: str, queues: list[Queue], ids: Ids, slack: int) -> list[str | None]:
    """Owners by STABLE: the best pairs first, or with slack each client's favourites in turn."""
    clients = sorted((place, one) for one, place in taking_part(ids).items())
    if not clients:
        return [None] * len(queues)
    x = [number >> 32 for number in numbers_of(topic, queues)]
    y = [rules.mix64((rules.java_hash(one) + GOLDEN) & MASK) >> 32 for _, one in clients]
    m, n = len(x), len(y)
    nearest = (2 * m + n) // (2 * n)
    least, most = (max(nearest - 1, 0), nearest + 1) if slack else (m // n, m // n + 1)
    loads, pool, owner = [0] * n, m - n * least, dict[int, int]()

    def offer(queue: int, client: int) -> None:
        nonlocal pool
        is_extra = loads[client] >= least
        if queue not in owner and (not is_extra or (loads[client] < most and pool > 0)):
            pool -= is_extra
            loads[client] += 1
            owner[queue] = client

    (_by_favourites if slack else _by_pairs)(x, y, offer)
    return [clients[owner[queue]][1] for queue in range(m)]


def _by_pairs(x: list[int], y: list[int], offer: Callable[[int, int], None]) -> None:
    pairs = [(-murmur(one ^ other), queue, client) for queue, one in enumerate(x) for client, other in enumerate(y)]
    for _, queue, client in sorted(pairs):
        offer(queue, client)


def _by_favourites(x: list[int], y: list[int], offer: Callable[[int, int], None]) -> None:
    lists = [sorted(range(len(x)), key=lambda queue: (-murmur(x[queue] ^ other), queue)) for other in y]
    for asked in zip(*lists, strict=True):
        seconds = [(-murmur((y[client] + 0x1234567 * x[queue]) % 2**32), client) for client, queue in enumerate(asked)]
        for _, client in sorted(seconds):
            offer(asked[client], client)
