# Owners of queues by mutual preference, unit by unit; docs/reference/stable.md defines the order
# of pairs.
#
# A pair is a number of 64 bits, its score counted down and then the queue, so that a lesser pair
# comes first. Going through all pairs would take a sort of n_queues * n_clients. It is enough to go
# through one of each queue, that with its best client. When its turn comes and this client is full,
# the queue gets another turn, with its best client of those that are not: all pairs between are of
# full clients, which stay full.
#
# Room to work in are pairs and words: an `offset_t` named after a list says where it begins there.
#
# One unit of three queues and two clients, given by their numbers:
#
# >>> queues, clients = np.array([7, 8, 9], np.uint32), np.array([1, 2], np.uint32)
# >>> start, n_queues, n_clients = np.array([0]), np.array([3], np.int32), np.array([2], np.int32)
# >>> n_pairs, n_words = preferences.scratch_sizes(3, 2)
# >>> pairs, words = np.empty(n_pairs, np.uint64), np.empty(n_words, np.uint32)
# >>> owners = np.empty(3, np.int32)
# >>> preferences.match(start, n_queues, start, start, n_clients, queues, clients, False, pairs, words, owners)
# >>> owners
# array([1, 1, 0], dtype=int32)

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

from plain_group cimport answer, number_clients, number_queues, plain_text
from typedefs cimport hash_t, index_t, offset_t, owner_t

include "isa.pxi"

ctypedef unsigned long long pair_t

cdef enum:
    AT_ONCE = 256       # queues that are looked at together: they stay in the nearest cache
    FEW = 64            # pairs that are sorted by comparing each with each
    WIDEST = 16         # lists are read as far as the widest vector goes
    N_DIGITS = 4        # bytes of a score; even, so that the last pass ends where the first began


cdef extern from "vector/preferences.h" nogil:
    ctypedef struct rmq_preferences_t:
        void (*first_choices)(const hash_t *queues, index_t n_queues, const hash_t *clients, index_t n_clients, hash_t *best,
                              hash_t *choice) noexcept nogil
        index_t (*best_open)(hash_t queue, const hash_t *clients, const hash_t *open, index_t n_clients,
                             hash_t *score) noexcept nogil
        void (*sort_few)(const uint64_t *pairs, index_t n, uint64_t *out) noexcept nogil
    const rmq_preferences_t *rmq_preferences()


# The finalizer of Murmur3.
cdef inline hash_t mixed(hash_t h) noexcept nogil:
    h = (h ^ h >> 16) * <hash_t> 0x85EBCA6B
    h = (h ^ h >> 13) * <hash_t> 0xC2B2AE35
    return h ^ h >> 16


cdef inline pair_t pair_of(hash_t score, offset_t queue) noexcept nogil:
    return <pair_t> <hash_t> ~score << 32 | <hash_t> queue


cdef inline offset_t queue_of(pair_t pair) noexcept nogil:
    return <hash_t> pair


cdef inline offset_t padded(offset_t n) noexcept nogil:
    return (n + WIDEST - 1) // WIDEST * WIDEST


# ---- pairs in order ----

# Sort by scores alone, digit by digit, which keeps the order of queues where these are equal.
cdef void sort_many(pair_t *pairs, offset_t at, offset_t n, offset_t room) noexcept nogil:
    cdef hash_t starts[N_DIGITS][256]
    cdef hash_t start, count
    cdef offset_t i, digit, value
    for digit in range(N_DIGITS):
        for value in range(256):
            starts[digit][value] = 0
    for i in range(at, at + n):
        for digit in range(N_DIGITS):
            starts[digit][pairs[i] >> (32 + 8 * digit) & 255] += 1
    for digit in range(N_DIGITS):
        start = 0
        for value in range(256):
            count = starts[digit][value]
            starts[digit][value] = start
            start += count
        for i in range(at, at + n):
            value = pairs[i] >> (32 + 8 * digit) & 255
            pairs[room + starts[digit][value]] = pairs[i]
            starts[digit][value] += 1
        at, room = room, at


# Pairs in order: they are where they were, or in the room, which is returned.
cdef inline offset_t sort_pairs(const rmq_preferences_t *level, pair_t *pairs, offset_t at, offset_t n,
                                offset_t room) noexcept nogil:
    cdef offset_t i, place
    if n > FEW:
        sort_many(pairs, at, n, room)
        return at
    if level and level.sort_few:
        level.sort_few(<const uint64_t *> pairs + at, <index_t> n, <uint64_t *> pairs + room)
        return room
    for i in range(n):
        place = room + i
        while place > room and pairs[place - 1] > pairs[at + i]:
            pairs[place] = pairs[place - 1]
            place -= 1
        pairs[place] = pairs[at + i]
    return room


# ---- heaps, the least first ----

cdef inline void sink(pair_t *pairs, offset_t heap, offset_t n, pair_t pair) noexcept nogil:
    cdef offset_t at = 0, child = 1
    while child < n:
        child += child + 1 < n and pairs[heap + child + 1] < pairs[heap + child]
        if pair <= pairs[heap + child]:
            break
        pairs[heap + at] = pairs[heap + child]
        at, child = child, 2 * child + 1
    pairs[heap + at] = pair


cdef inline void rise(pair_t *pairs, offset_t heap, offset_t at, pair_t pair) noexcept nogil:
    while at > 0 and pair < pairs[heap + (at - 1) // 2]:
        pairs[heap + at] = pairs[heap + (at - 1) // 2]
        at = (at - 1) // 2
    pairs[heap + at] = pair


# ---- the match: each client gets n_queues / n_clients queues, and as many clients as it takes get one more ----

cdef struct match_t:
    const rmq_preferences_t *level
    offset_t n_queues, n_clients
    offset_t low, pool          # queues that every client gets, and extra ones that are left
    offset_t sorted             # pairs of queues with their first choices, the best first
    offset_t waiting, n_waiting # pairs of queues with later choices, as a heap
    offset_t open, load         # words: all bits of a client that has room, else none; clients themselves come first


# The best client of each queue, by score and then by position, and its score.
cdef inline void choose_first(const match_t *match, const hash_t *queues, offset_t n_queues, const hash_t *words,
                              hash_t *best, hash_t *choice) noexcept nogil:
    cdef offset_t queue, client
    cdef hash_t score
    if match.level:
        match.level.first_choices(queues, <index_t> n_queues, words, <index_t> match.n_clients, best, choice)
        return
    for queue in range(n_queues):
        best[queue], choice[queue] = mixed(queues[queue] ^ words[0]), 0
        for client in range(1, match.n_clients):
            score = mixed(queues[queue] ^ words[client])
            if score > best[queue]:
                best[queue], choice[queue] = score, <hash_t> client


# Pairs of all queues with their first choices, in order. The choices themselves are left in `out`.
cdef inline void sort_first_choices(match_t *match, const hash_t *queues, const hash_t *words,
                                    pair_t *pairs, hash_t *room, owner_t *out) noexcept nogil:
    cdef hash_t *some = room
    cdef hash_t *best = room + AT_ONCE
    cdef hash_t *choice = room + 2 * AT_ONCE
    cdef offset_t begin = 0, i, n
    while begin < match.n_queues:
        n = min(match.n_queues - begin, AT_ONCE)
        for i in range(min(n + 2 * WIDEST, AT_ONCE)):
            some[i] = queues[begin + i] if i < n else 0
        choose_first(match, some, n, words, best, choice)
        for i in range(n):
            out[begin + i] = <owner_t> choice[i]
            pairs[match.waiting + begin + i] = pair_of(best[i], begin + i)
        begin += n
    if sort_pairs(match.level, pairs, match.waiting, match.n_queues, match.sorted) == match.waiting:
        match.waiting, match.sorted = match.sorted, match.waiting
    pairs[match.sorted + match.n_queues] = <pair_t> -1


# Give a client one more. As the last extra queue goes, all that have no more than theirs are
# closed.
cdef inline void take(match_t *match, hash_t *words, offset_t client) noexcept nogil:
    cdef bint is_extra = words[match.load + client] >= match.low
    words[match.load + client] += 1
    match.pool -= is_extra
    words[match.open + client] = -<hash_t> (words[match.load + client] < match.low + (match.pool > 0))
    if is_extra and match.pool == 0:
        for client in range(match.n_clients):
            words[match.open + client] = -<hash_t> (words[match.load + client] < match.low)


# The best client of a queue among those that are open, and its score.
cdef inline offset_t best_open(const match_t *match, hash_t queue, const hash_t *words, hash_t *score) noexcept nogil:
    cdef offset_t client, best = 0
    cdef hash_t found
    if match.level:
        return match.level.best_open(queue, words, words + match.open, <index_t> match.n_clients, score)
    score[0] = 0
    for client in range(match.n_clients):
        found = mixed(words[client] ^ queue) & words[match.open + client]
        if found > score[0]:
            score[0], best = found, client
    return best


# A queue whose choice is closed waits with its best client among those that are open.
cdef inline owner_t choose_again(match_t *match, const hash_t *queues, offset_t queue, hash_t *words,
                                 pair_t *pairs) noexcept nogil:
    cdef hash_t score
    cdef offset_t client = best_open(match, queues[queue], words, &score)
    if score == 0:  # which is that of closed ones, too
        client = 0
        while not words[match.open + client]:
            client += 1
    rise(pairs, match.waiting, match.n_waiting, pair_of(score, queue))
    match.n_waiting += 1
    return <owner_t> client


cdef inline pair_t next_pair(match_t *match, pair_t *pairs) noexcept nogil:
    cdef pair_t pair
    if match.n_waiting == 0 or pairs[match.sorted] < pairs[match.waiting]:
        pair = pairs[match.sorted]
        match.sorted += 1
    else:
        pair = pairs[match.waiting]
        match.n_waiting -= 1
        sink(pairs, match.waiting, match.n_waiting, pairs[match.waiting + match.n_waiting])
    return pair


cdef void match_unit(match_t match, const hash_t *queues, const hash_t *clients,
                     pair_t *pairs, hash_t *words, owner_t *out) noexcept nogil:
    cdef offset_t client, queue, left = match.n_queues, wide = padded(match.n_clients)
    cdef hash_t room[3 * AT_ONCE]  # of sort_first_choices, which a compiler does not take in with arrays of its own
    match.low, match.pool = match.n_queues // match.n_clients, match.n_queues % match.n_clients
    match.sorted, match.waiting, match.n_waiting = 0, match.n_queues + 1, 0
    match.open, match.load = wide, 2 * wide
    for client in range(wide):
        words[client] = clients[client] if client < match.n_clients else 0
        words[match.open + client] = <hash_t> -1 if client < match.n_clients else 0
        words[match.load + client] = 0
    sort_first_choices(&match, queues, words, pairs, room, out)
    while left:
        queue = queue_of(next_pair(&match, pairs))
        client = out[queue]
        if words[match.open + client]:
            take(&match, words, client)
            left -= 1
        else:
            out[queue] = choose_again(&match, queues, queue, words, pairs)


# ---- the draft: in rounds each client asks for its next favourite; loads differ by two at most ----

cdef struct draft_t:
    const rmq_preferences_t *level
    offset_t n_queues, n_active     # those that had room as favourites were looked up
    offset_t low, most, pool        # queues that a client gets at least and at most; the extra queues that are left
    offset_t n_kept, size           # favourites that there is memory for; those of each active client
    offset_t load, active, favourite        # words
    offset_t found, room, bound             # pairs: of queues that one client likes or of clients that ask, and room to sort
                                            # them; of each client: what comes before it was looked
                                            # up


cdef inline bint has_room(const draft_t *draft, const hash_t *words, offset_t client) noexcept nogil:
    return words[draft.load + client] < draft.low or (words[draft.load + client] < draft.most and draft.pool > 0)


# The pairs of a client that are at least a bound, and greater by no more than a width; how many
# they are.
cdef inline offset_t find_band(const draft_t *draft, const hash_t *queues, hash_t client, pair_t bound, pair_t width,
                               pair_t *pairs) noexcept nogil:
    cdef offset_t queue, n = 0
    for queue in range(draft.n_queues):  # without branches: which it is cannot be foreseen
        pairs[draft.found + n] = pair_of(mixed(queues[queue] ^ client), queue)
        n += pairs[draft.found + n] - bound <= width
    return n


# A client's next favourites, in order. Scores are even, so that a band of them has about as many as
# it should.
cdef inline void look_up_of(const draft_t *draft, const hash_t *queues, const hash_t *clients, offset_t at,
                            pair_t *pairs, hash_t *words) noexcept nogil:
    cdef pair_t last = <pair_t> -1, each = last // <pair_t> draft.n_queues, times = draft.size * 5 // 4 + 8, rest, width
    cdef offset_t client = words[draft.active + at], i, n = 0
    while n < draft.size:
        rest = last - pairs[draft.bound + client]
        width = rest if times > rest // each else times * each
        n = find_band(draft, queues, clients[client], pairs[draft.bound + client], width, pairs)
        times *= 2
    n = sort_pairs(draft.level, pairs, draft.found, n, draft.room)
    for i in range(draft.size):
        words[draft.favourite + at * draft.size + i] = <hash_t> queue_of(pairs[n + i])
    pairs[draft.bound + client] = pairs[n + draft.size - 1] + 1


# Look up the next favourites of clients that still have room, the more the fewer these are.
cdef inline void look_up(draft_t *draft, const hash_t *queues, const hash_t *clients, offset_t round_,
                         pair_t *pairs, hash_t *words) noexcept nogil:
    cdef offset_t at, n = 0
    for at in range(draft.n_active):
        words[draft.active + n] = words[draft.active + at]
        n += has_room(draft, words, words[draft.active + n])
    draft.n_active = n
    draft.size = min(draft.n_kept // n, draft.n_queues - round_)
    for at in range(n):
        look_up_of(draft, queues, clients, at, pairs, words)


# Each client asks for its favourite at this place in its list; conflicts go by the second score.
# Returns how many queues go.
cdef inline offset_t hold_round(draft_t *draft, const hash_t *queues, const hash_t *clients, offset_t place,
                                pair_t *pairs, hash_t *words, owner_t *out) noexcept nogil:
    cdef offset_t at, client, queue, i, asked, n_asked = 0, n_gone = 0
    for at in range(draft.n_active):
        client, queue = words[draft.active + at], words[draft.favourite + at * draft.size + place]
        if out[queue] < 0 and has_room(draft, words, client):
            pairs[draft.found + n_asked] = pair_of(
                mixed(clients[client] + <hash_t> 0x1234567 * queues[queue]), at)
            n_asked += 1
    asked = sort_pairs(draft.level, pairs, draft.found, n_asked, draft.room)
    for i in range(asked, asked + n_asked):
        at = queue_of(pairs[i])
        client, queue = words[draft.active + at], words[draft.favourite + at * draft.size + place]
        if out[queue] < 0 and has_room(draft, words, client):
            draft.pool -= words[draft.load + client] >= draft.low
            words[draft.load + client] += 1
            out[queue] = <owner_t> client
            n_gone += 1
    return n_gone


# Favourites that are kept at a time.
cdef inline offset_t n_kept(offset_t n_queues, offset_t n_clients) noexcept nogil:
    return 2 * n_queues + 16 * n_clients


cdef void draft_unit(draft_t draft, const hash_t *queues, const hash_t *clients, pair_t *pairs, hash_t *words,
                     owner_t *out) noexcept nogil:
    cdef offset_t n = draft.n_active, nearest = (2 * draft.n_queues + n) // (2 * n), i, round_ = 0, place = 0
    cdef offset_t left = draft.n_queues
    draft.low, draft.most = max(nearest - 1, 0), nearest + 1
    draft.pool = draft.n_queues - n * draft.low
    draft.n_kept, draft.size = n_kept(draft.n_queues, n), 0
    draft.load, draft.active, draft.favourite = 0, n, 2 * n
    draft.found, draft.room, draft.bound = 0, draft.n_queues + n, 2 * (draft.n_queues + n)
    for i in range(n):
        pairs[draft.bound + i] = 0
        words[draft.load + i] = 0
        words[draft.active + i] = <hash_t> i
    for i in range(draft.n_queues):
        out[i] = -1
    while left:
        if place == draft.size:
            look_up(&draft, queues, clients, round_, pairs, words)
            place = 0
        left -= hold_round(&draft, queues, clients, place, pairs, words, out)
        round_, place = round_ + 1, place + 1


# ---- units ----

# Enough for every unit of no more queues and no more clients: no sum has a quotient in it, which
# falls as clients grow in number.
cdef inline offset_t most_pairs(offset_t n_queues, offset_t n_clients) noexcept nogil:
    return 2 * n_queues + 3 * n_clients + 2


cdef inline offset_t most_words(offset_t n_queues, offset_t n_clients) noexcept nogil:
    return max(3 * padded(n_clients), 2 * n_clients + n_kept(n_queues, n_clients))


def scratch_sizes(offset_t n_queues_max, offset_t n_clients_max):
    return most_pairs(n_queues_max, n_clients_max), most_words(n_queues_max, n_clients_max)


cdef void divide(const rmq_preferences_t *level, const hash_t *queues, offset_t n_queues, const hash_t *clients,
                 offset_t n_clients, bint in_rounds, pair_t *pairs, hash_t *words, owner_t *out) noexcept nogil:
    cdef match_t match
    cdef draft_t draft
    if in_rounds:
        draft.level, draft.n_queues, draft.n_active = level, n_queues, n_clients
        draft_unit(draft, queues, clients, pairs, words, out)
    else:
        match.level, match.n_queues, match.n_clients = level, n_queues, n_clients
        match_unit(match, queues, clients, pairs, words, out)


def match(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] queue_starts not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    const hash_t[::1] queues not None,
    const hash_t[::1] clients not None,
    bint in_rounds,
    pair_t[::1] pairs not None,
    hash_t[::1] words not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t unit
    cdef const rmq_preferences_t *level = rmq_preferences()
    with nogil:
        for unit in range(n_queues.shape[0]):
            if n_queues[unit] and n_clients[unit]:
                divide(level, &queues[queue_starts[unit]], n_queues[unit], &clients[slot_starts[unit]], n_clients[unit],
                       in_rounds, &pairs[0], &words[0], &out[out_starts[unit]])


def match_group(tuple queues not None, tuple client_ids not None, bint in_rounds, owner_t position, owner_t[::1] out):
    """One group of objects: what `answer` gives of its owners, None where they are not plain."""
    cdef offset_t n = len(queues), m = len(client_ids), n_pairs = most_pairs(n, m), i
    cdef const rmq_preferences_t *level = rmq_preferences()
    cdef pair_t *pairs
    cdef hash_t *numbers
    cdef owner_t *owners
    cdef hash_t *words
    if plain_text(queues, client_ids) < 0:
        return None
    pairs = <pair_t *> malloc(sizeof(pair_t) * n_pairs + sizeof(hash_t) * (2 * n + m + most_words(n, m)))
    if pairs == NULL:
        raise MemoryError(f"no memory to divide {n} queues among {m} clients")
    numbers = <hash_t *> (pairs + n_pairs)
    owners, words = <owner_t *> (numbers + n + m), numbers + 2 * n + m
    number_queues(queues, <uint64_t *> pairs)  # of which the upper halves count
    for i in range(n):
        numbers[i] = <hash_t> (pairs[i] >> 32)
    number_clients(client_ids, numbers + n)
    with nogil:
        divide(level, numbers, n, numbers + n, m, in_rounds, pairs, words, owners)
    try:
        return answer(queues, owners, position, out)
    finally:
        free(pairs)
