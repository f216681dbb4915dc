# Rows of differing length laid end to end. A row's bytes are values[offsets[row]:offsets[row+1]].
#
# >>> values = np.frombuffer(b"c1c2", np.uint8)
# >>> starts, out_offsets, out = np.array([2, 0]), np.array([0, 2, 4]), np.empty(4, np.uint8)
# >>> ragged.gather(values, starts, out_offsets, out)
# >>> bytes(out)
# b'c2c1'

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from typedefs cimport byte_t, index_t, offset_t

ctypedef unsigned long long digest_t

cdef extern from "rows.h" nogil:
    digest_t rmq_digest(const byte_t *s, offset_t n, unsigned int number, const uint64_t *secret)
    void rmq_prefetch(const void *at)
    bint rmq_same(const byte_t *a, const byte_t *b, offset_t n)

cdef enum:
    BATCH = 16      # rows whose digests are made together
    FEW = 16        # numbers that are sorted by counting
    BLOCK = 32      # bytes that are copied at once where there is room


# ---- equal rows ----

cdef inline bint same(const byte_t[::1] values, const offset_t[::1] offsets, const index_t[::1] keys,
                      offset_t i, offset_t j) noexcept nogil:
    cdef offset_t size = offsets[i + 1] - offsets[i]
    return (size == offsets[j + 1] - offsets[j] and (keys.shape[0] == 0 or keys[i] == keys[j])
            and rmq_same(&values[0] + offsets[i], &values[0] + offsets[j], size))


def distinct(const byte_t[::1] values not None, const offset_t[::1] offsets not None, const index_t[::1] keys not None,
             const digest_t[::1] secret not None, digest_t[::1] table not None, index_t[::1] first_rows not None, offset_t[::1] progress not None,
             index_t[::1] out not None):
    """Number the distinct rows (a row is its key, if there are any, and its bytes) in order of appearance.

    ``out[row]`` is the number of row's kind, ``first_rows[kind]`` its first row. ``table`` is a power of two long and at
    first all 0; a slot of it holds half a digest and, behind it, a kind plus one. ``progress`` is how many rows are done
    and how many kinds were found: the loop stops when the table is half full, to go on with a wider one. ``secret`` is
    what digests are made by (see rows.h).
    """
    cdef offset_t i, row, first = progress[0], kinds = progress[1], n = out.shape[0]
    cdef digest_t place, slot, mask = <digest_t> table.shape[0] - 1, low = 0xFFFFFFFF
    cdef digest_t h[BATCH]
    with nogil:
        while first < n and 2 * kinds < table.shape[0]:
            # All digests first, so that the slots are on their way from memory when they are asked
            # for.
            for i in range(min(<offset_t> BATCH, n - first)):
                row = first + i
                h[i] = rmq_digest(&values[0] + offsets[row], offsets[row + 1] - offsets[row],
                                  <unsigned int> keys[row] if keys.shape[0] else 0, <const uint64_t *>&secret[0])
                rmq_prefetch(&table[(h[i] >> 32) & mask])
            for i in range(min(<offset_t> BATCH, n - first)):
                row = first + i
                place = (h[i] >> 32) & mask
                slot = table[place]
                while slot and not ((slot ^ h[i]) <= low and same(values, offsets, keys, row, first_rows[(slot & low) - 1])):
                    place = (place + 1) & mask
                    slot = table[place]
                if not slot:
                    first_rows[kinds] = <index_t> row
                    kinds = kinds + 1
                    slot = kinds
                    table[place] = (h[i] & ~low) | slot
                out[row] = <index_t> ((slot & low) - 1)
            first = first + BATCH
        progress[0] = min(first, n)
        progress[1] = kinds


def agree(const byte_t[::1] values not None, const offset_t[::1] offsets not None, const index_t[::1] kinds not None,
          const index_t[::1] first_rows not None, byte_t[::1] out not None):
    """out[0] = has every row the bytes of the first row of its kind?"""
    cdef Py_ssize_t row
    with nogil:
        for row in range(kinds.shape[0]):
            if not same(values, offsets, kinds, row, first_rows[kinds[row]]):
                out[0] = False
                break
        else:
            out[0] = True


def spread(const digest_t[::1] table not None, digest_t[::1] out not None):
    """Copy the slots of a table into a wider one."""
    cdef Py_ssize_t i
    cdef digest_t place, mask = <digest_t> out.shape[0] - 1
    with nogil:
        for i in range(table.shape[0]):
            if table[i]:
                place = (table[i] >> 32) & mask
                while out[place]:
                    place = (place + 1) & mask
                out[place] = table[i]


# ---- moving rows ----

def gather(const byte_t[::1] values not None, const offset_t[::1] starts not None, const offset_t[::1] out_offsets not None,
           byte_t[::1] out not None):
    """Copy the stretch of bytes from starts[row] that fills out[out_offsets[row]:out_offsets[row+1]], row after row."""
    cdef Py_ssize_t row
    cdef offset_t size, from_, to
    with nogil:
        for row in range(starts.shape[0]):
            from_ = starts[row]
            to = out_offsets[row]
            size = out_offsets[row + 1] - to
            # What a block writes too much is written over by the next row.
            if size <= BLOCK and from_ + BLOCK <= values.shape[0] and to + BLOCK <= out.shape[0]:
                memcpy(&out[0] + to, &values[0] + from_, BLOCK)
            else:
                memcpy(&out[0] + to, &values[0] + from_, size)


def find_misfit(const offset_t[::1] offsets not None, offset_t size, byte_t[::1] out not None):
    """out[0] = does any offset lie below the one before it, below 0 or above size?"""
    cdef Py_ssize_t i
    cdef offset_t seen = offsets[0]  # its sign is that of any offset or step below 0; no step overflows between others
    with nogil:
        for i in range(offsets.shape[0] - 1):
            seen = seen | offsets[i + 1] | <offset_t> (<digest_t> offsets[i + 1] - <digest_t> offsets[i])
        out[0] = seen < 0 or offsets[offsets.shape[0] - 1] > size


def runs(const byte_t[::1] differs not None, const offset_t[::1] offsets not None, offset_t[::1] out_runs not None,
         offset_t[::1] out not None):
    """Cut every list where an element differs from the one before.

    List r has runs out[r] to out[r+1], and run k begins at element out_runs[k].
    """
    cdef Py_ssize_t row
    cdef offset_t i, n = 0
    with nogil:
        out[0] = 0
        for row in range(offsets.shape[0] - 1):
            for i in range(offsets[row], offsets[row + 1]):
                out_runs[n] = i  # written over by the next one if no run begins here
                n = n + (differs[i] | (i == offsets[row]))
            out[row + 1] = n
        out_runs[n] = offsets[offsets.shape[0] - 1]


# ---- order of numbers ----

def order_keys(const digest_t[::1] keys not None, const offset_t[::1] list_offsets not None,
               index_t[::1] spare not None, index_t[::1] out not None):
    """Stable order of every list of numbers: out[lo + k] is the place in its list of the number that comes k-th."""
    cdef Py_ssize_t row
    cdef offset_t lo
    with nogil:
        for row in range(list_offsets.shape[0] - 1):
            lo = list_offsets[row]
            order_list(&keys[0] + lo, list_offsets[row + 1] - lo, &spare[0], &out[0] + lo)


def sort_routes(const offset_t[::1] list_routes not None, const offset_t[::1] route_offsets not None,
                const index_t[::1] route_topic not None, const index_t[::1] route_broker not None,
                const index_t[::1] ranks not None, digest_t[::1] keys not None, index_t[::1] spare not None,
                byte_t[::1] facts not None, index_t[::1] out_places not None, index_t[::1] out_broker not None,
                offset_t[::1] out_offsets not None):
    """Put the routes of every list in the order of their brokers' ranks; route k comes from out_places[k].

    facts[0] = is any list out of order? facts[1] = does any have two routes of one broker, or of two topics?
    """
    cdef Py_ssize_t row
    cdef offset_t i, lo, n, place, end = 0
    cdef bint moves = False, clashes = False
    with nogil:
        out_offsets[0] = 0
        for row in range(list_routes.shape[0] - 1):
            lo = list_routes[row]
            n = list_routes[row + 1] - lo
            for i in range(n):
                keys[i] = ranks[route_broker[lo + i]]
                clashes |= route_topic[lo + i] != route_topic[lo]
            moves |= order_list(&keys[0], n, &spare[0], &out_places[0] + lo)
            for i in range(n):
                place = lo + out_places[lo + i]
                out_places[lo + i] = <index_t> place
                out_broker[lo + i] = route_broker[place]
                clashes |= i > 0 and out_broker[lo + i] == out_broker[lo + i - 1]
                end = end + route_offsets[place + 1] - route_offsets[place]
                out_offsets[lo + i + 1] = end
        facts[0] = moves
        facts[1] = clashes


cdef inline bint order_list(const digest_t *keys, offset_t n, index_t *spare, index_t *order) noexcept nogil:
    """Sort one list of numbers, stably; was it out of order?"""
    cdef offset_t i
    cdef bint descends = False
    for i in range(n):
        order[i] = <index_t> i
    for i in range(1, n):
        descends |= keys[i] < keys[i - 1]
    if descends:
        if n <= FEW:
            count_sort(keys, n, order)
        else:
            merge_sort(keys, n, spare, order)
    return descends


cdef inline void count_sort(const digest_t *keys, offset_t n, index_t *order) noexcept nogil:
    """The place of a number is how many are smaller, or the same and before it: no branch depends on the numbers."""
    cdef offset_t i, j, place
    for i in range(n):
        place = 0
        for j in range(i):
            place = place + (keys[j] <= keys[i])
        for j in range(i + 1, n):
            place = place + (keys[j] < keys[i])
        order[place] = <index_t> i


cdef void merge_sort(const digest_t *keys, offset_t n, index_t *spare, index_t *order) noexcept nogil:
    """Sort order[0:n] by keys, stably, by merging runs of 1, 2, 4 ..."""
    cdef offset_t width = 1, first, i, j, k, middle, last
    while width < n:
        first = 0
        while first < n:
            middle = min(first + width, n)
            last = min(first + 2 * width, n)
            i = first
            j = middle
            for k in range(first, last):
                if i < middle and (j >= last or keys[order[i]] <= keys[order[j]]):
                    spare[k] = order[i]
                    i = i + 1
                else:
                    spare[k] = order[j]
                    j = j + 1
            first = last
        memcpy(order, spare, n * sizeof(index_t))
        width = 2 * width
