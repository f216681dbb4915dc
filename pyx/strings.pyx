# Text as columns: string i is values[offsets[i]:offsets[i+1]], UTF-8 with lone surrogates in their 3-byte form.
# The order is Java's: UTF-16 code units, a shorter prefix first. In UTF-8 that is byte order but for one thing:
# U+E000..U+FFFF (lead bytes EE, EF) come after the supplementary planes (F0..F4), whose first unit is a surrogate.

from libc.string cimport memchr, memcmp, memcpy

from typedefs cimport byte_t, index_t, offset_t, owner_t

ctypedef unsigned long long prefix_t     # the first eight bytes of a string, biggest byte first

cdef enum:
    RUN = 12                             # below this many, insertion beats merging


cdef inline byte_t rank(byte_t c) noexcept nogil:
    """Byte value in Java's order: EE and EF move behind F0..F4."""
    return c + 0x10 if c == 0xEE or c == 0xEF else c


cdef inline unsigned int unit_at(const byte_t *s, offset_t at, offset_t end, bint second) noexcept nogil:
    """First (or second) UTF-16 code unit of the character at ``at``; 0 where there is none."""
    cdef unsigned int point
    if at >= end:
        return 0
    if s[at] < 0x80:
        return s[at]
    if s[at] < 0xE0:
        return (s[at] & 0x1F) << 6 | (s[at + 1] & 0x3F)
    if s[at] < 0xF0:
        return (s[at] & 0x0F) << 12 | (s[at + 1] & 0x3F) << 6 | (s[at + 2] & 0x3F)
    point = (s[at] & 0x07) << 18 | (s[at + 1] & 0x3F) << 12 | (s[at + 2] & 0x3F) << 6 | (s[at + 3] & 0x3F)
    return 0xDC00 | (point & 0x3FF) if second else 0xD800 + ((point - 0x10000) >> 10)


cdef inline int surrogate_compare(const byte_t *a, offset_t na, const byte_t *b, offset_t nb, offset_t at) noexcept nogil:
    """Order of two strings whose characters at ``at`` differ and begin with ED or more on both sides."""
    cdef unsigned int ua = unit_at(a, at, na, False), ub = unit_at(b, at, nb, False)
    if ua == ub:
        # A lone high surrogate against a pair that begins with the same unit: the next unit decides.
        ua = unit_at(a, at, na, True) if a[at] >= 0xF0 else unit_at(a, at + 3, na, False)
        ub = unit_at(b, at, nb, True) if b[at] >= 0xF0 else unit_at(b, at + 3, nb, False)
    return 1 if ua > ub else -1


cdef inline int compare(const byte_t *a, offset_t na, const byte_t *b, offset_t nb, offset_t at) noexcept nogil:
    """Java's order of two strings that agree before ``at``: negative, zero or positive."""
    cdef offset_t shorter = na if na < nb else nb
    while at + 8 <= shorter and memcmp(a + at, b + at, 8) == 0:
        at = at + 8
    while at < shorter and a[at] == b[at]:
        at = at + 1
    if at == shorter:
        return (na > nb) - (na < nb)
    if a[at] >= 0xED and b[at] >= 0xED:
        return surrogate_compare(a, na, b, nb, at)
    return 1 if a[at] > b[at] else -1


cdef inline int compare_slots(const byte_t *values, const offset_t *offsets, offset_t i, offset_t j, offset_t at) noexcept nogil:
    return compare(values + offsets[i], offsets[i + 1] - offsets[i], values + offsets[j], offsets[j + 1] - offsets[j], at)


cdef inline offset_t common_prefix(const byte_t *values, const offset_t *offsets, offset_t lo, offset_t hi) noexcept nogil:
    """Bytes that every string of lo..hi-1 begins with."""
    cdef offset_t i, at, length = offsets[lo + 1] - offsets[lo]
    for i in range(lo + 1, hi):
        if offsets[i + 1] - offsets[i] < length:
            length = offsets[i + 1] - offsets[i]
        at = 0
        while at < length and values[offsets[i] + at] == values[offsets[lo] + at]:
            at = at + 1
        length = at
    return length


cdef inline prefix_t prefix(const byte_t *s, offset_t n) noexcept nogil:
    """Eight bytes as one number that orders as they do; a string that ends early is padded with zeros."""
    cdef prefix_t key = 0
    cdef offset_t i
    for i in range(8):
        key = key << 8 | (rank(s[i]) if i < n else 0)
    return key


cdef inline bint before(const byte_t *values, const offset_t *offsets, offset_t lo, offset_t at,
                        prefix_t key_i, index_t i, prefix_t key_j, index_t j, bint surrogates) noexcept nogil:
    """Does slot lo+i come strictly before slot lo+j?"""
    if key_i != key_j and not surrogates:
        return key_i < key_j
    return compare_slots(values, offsets, lo + i, lo + j, at) < 0


cdef inline bint has_surrogates(const byte_t *s, offset_t n) noexcept nogil:
    """Is there a lone surrogate, ED A0..BF?"""
    cdef offset_t i
    for i in range(n - 1):
        if s[i] == 0xED and s[i + 1] >= 0xA0:
            return True
    return False


cdef inline void insertion(const byte_t *values, const offset_t *offsets, offset_t lo, offset_t at, bint surrogates,
                           const prefix_t *keys, index_t *order, offset_t first, offset_t last) noexcept nogil:
    """Sort order[first:last], stably."""
    cdef offset_t i, j
    cdef index_t slot
    for i in range(first + 1, last):
        slot = order[i]
        j = i
        while j > first and before(values, offsets, lo, at, keys[slot], slot, keys[order[j - 1]], order[j - 1], surrogates):
            order[j] = order[j - 1]
            j = j - 1
        order[j] = slot


cdef inline void merge(const byte_t *values, const offset_t *offsets, offset_t lo, offset_t at, bint surrogates,
                       const prefix_t *keys, const index_t *order, offset_t first, offset_t middle, offset_t last,
                       index_t *spare) noexcept nogil:
    """Merge order[first:middle] and order[middle:last] into spare[first:last]; of equals the left one goes first."""
    cdef offset_t i = first, j = middle, k
    for k in range(first, last):
        if i < middle and (j >= last or not before(values, offsets, lo, at, keys[order[j]], order[j],
                                                   keys[order[i]], order[i], surrogates)):
            spare[k] = order[i]
            i = i + 1
        else:
            spare[k] = order[j]
            j = j + 1


cdef inline bint is_ordered(const byte_t *values, const offset_t *offsets, offset_t lo, offset_t hi) noexcept nogil:
    cdef offset_t i
    for i in range(lo + 1, hi):
        if compare_slots(values, offsets, i - 1, i, 0) > 0:
            return False
    return True


cdef void sort_list(const byte_t *values, const offset_t *offsets, offset_t lo, offset_t n,
                    prefix_t *keys, index_t *spare, index_t *order) noexcept nogil:
    """Sort order[0:n], which holds 0..n-1, by the strings lo..lo+n-1: short runs by insertion, then merges."""
    cdef offset_t at = common_prefix(values, offsets, lo, lo + n), i, middle, last, width = RUN
    cdef bint surrogates = has_surrogates(values + offsets[lo], offsets[lo + n] - offsets[lo])
    for i in range(n):
        keys[i] = prefix(values + offsets[lo + i] + at, offsets[lo + i + 1] - offsets[lo + i] - at)
    i = 0
    while i < n:
        insertion(values, offsets, lo, at, surrogates, keys, order, i, min(i + RUN, n))
        i = i + RUN
    while width < n:
        i = 0
        while i < n:
            middle = min(i + width, n)
            last = min(i + 2 * width, n)
            merge(values, offsets, lo, at, surrogates, keys, order, i, middle, last, spare)
            i = last
        memcpy(order, spare, n * sizeof(index_t))
        width = 2 * width


def order(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
          const offset_t[::1] list_offsets not None, prefix_t[::1] keys not None, index_t[::1] spare not None,
          index_t[::1] out not None):
    """Stable order of every list: out[lo + k] is the place in its list of the string that comes k-th."""
    cdef Py_ssize_t row
    cdef offset_t i, lo, hi
    with nogil:
        for row in range(list_offsets.shape[0] - 1):
            lo = list_offsets[row]
            hi = list_offsets[row + 1]
            for i in range(lo, hi):
                out[i] = <index_t> (i - lo)
            if not is_ordered(&values[0], &offsets[0], lo, hi):
                sort_list(&values[0], &offsets[0], lo, hi - lo, &keys[0], &spare[0], &out[lo])


def first_of(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
             const offset_t[::1] list_offsets not None, const index_t[::1] order not None,
             byte_t[::1] irregular not None, index_t[::1] out not None):
    """out[i] is the first place in its list of a string equal to string i; irregular marks lists with repeats or ""."""
    cdef Py_ssize_t row
    cdef offset_t lo, k, i, size, previous, previous_size
    with nogil:
        for row in range(list_offsets.shape[0] - 1):
            lo = list_offsets[row]
            previous_size = -1
            previous = lo
            for k in range(lo, list_offsets[row + 1]):
                i = lo + order[k]
                size = offsets[i + 1] - offsets[i]
                out[i] = order[k]
                irregular[row] |= size == 0
                if size == previous_size and memcmp(&values[0] + offsets[i], &values[0] + offsets[previous], size) == 0:
                    out[i] = out[previous]
                    irregular[row] = True
                previous = i
                previous_size = size


def find_surrogate(const byte_t[::1] values not None, byte_t[::1] out not None):
    """out[0] = is there a lone surrogate anywhere?"""
    cdef const byte_t *at
    cdef const byte_t *end
    with nogil:
        out[0] = False
        at = &values[0]
        end = at + values.shape[0]
        while at < end:
            at = <const byte_t *> memchr(at, 0xED, end - at)
            if at == NULL or at + 1 >= end:
                break
            if at[1] >= 0xA0:
                out[0] = True
                break
            at = at + 1


def replace_surrogates(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
                       byte_t[::1] out_values not None, offset_t[::1] out_offsets not None):
    """Copy the strings with every lone surrogate as one "?", as Java's UTF-8 encoder writes it."""
    cdef Py_ssize_t row
    cdef offset_t i, put = 0
    with nogil:
        out_offsets[0] = 0
        for row in range(offsets.shape[0] - 1):
            i = offsets[row]
            while i < offsets[row + 1]:
                if values[i] == 0xED and values[i + 1] >= 0xA0:
                    out_values[put] = 63
                    i = i + 3
                else:
                    out_values[put] = values[i]
                    i = i + 1
                put = put + 1
            out_offsets[row + 1] = put
