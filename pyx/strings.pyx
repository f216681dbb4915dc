# Text as columns: string i is values[offsets[i]:offsets[i+1]], UTF-8 with lone surrogates in their
# 3-byte form. Java's order of text is that of UTF-16 code units, a shorter prefix first
# (`compare`); the plain loops sort lists by merging.
#
# One list of the texts b, a and b, in which a text is repeated:
#
# >>> values, offsets, list_offsets = np.frombuffer(b"bab", np.uint8), np.arange(4), np.array([0, 3])
# >>> keys, spare, irregular = np.empty(3, np.uint64), np.empty(3, np.int32), np.zeros(1, np.uint8)
# >>> order = np.empty(3, np.int32)
# >>> strings.order(values, offsets, list_offsets, keys, spare, irregular, order)
# >>> order, irregular
# (array([1, 0, 2], dtype=int32), array([1], dtype=uint8))

from libc.stdint cimport int64_t
from libc.string cimport memchr, memcmp, memcpy

from typedefs cimport byte_t, hash_t, index_t, offset_t

include "isa.pxi"

ctypedef unsigned long long prefix_t     # eight bytes of a string, biggest byte first


cdef extern from "vector/strings.h" nogil:
    ctypedef struct rmq_strings_t:
        void (*order)(const byte_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists, void *keys,
                      index_t *spare, byte_t *odd, index_t *out) noexcept nogil
        int64_t (*in_order)(const byte_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists,
                            void *keys, byte_t *odd) noexcept nogil
        void (*sort)(const byte_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t first, int64_t n_lists,
                     void *keys, index_t *spare, index_t *order, byte_t *odd, byte_t *out_values,
                     int64_t *out_offsets) noexcept nogil
    const rmq_strings_t *rmq_strings()


# ---- two strings ----

# Six bits of a byte behind the first one of a character; 0 past the end, where text that is not
# UTF-8 may lead.
cdef inline hash_t more_at(const byte_t[::1] values, offset_t at, offset_t end) noexcept nogil:
    return values[at] & 0x3F if at < end else 0


# First (or second) code unit of the character that begins here; 0 where there is none.
cdef inline hash_t unit_at(const byte_t[::1] values, offset_t at, offset_t end, bint second) noexcept nogil:
    cdef hash_t point
    if at >= end or values[at] < 0x80:
        return values[at] if at < end else 0
    if values[at] < 0xE0:
        return (values[at] & 0x1F) << 6 | more_at(values, at + 1, end)
    if values[at] < 0xF0:
        return (values[at] & 0x0F) << 12 | more_at(values, at + 1, end) << 6 | more_at(values, at + 2, end)
    point = ((values[at] & 0x07) << 18 | more_at(values, at + 1, end) << 12 | more_at(values, at + 2, end) << 6
             | more_at(values, at + 3, end))
    return 0xDC00 | (point & 0x3FF) if second else 0xD800 + ((point - 0x10000) >> 10)


# The unit behind a surrogate: the other half of a pair, or the next character's first.
cdef inline hash_t next_unit(const byte_t[::1] values, offset_t at, offset_t end) noexcept nogil:
    return unit_at(values, at, end, True) if values[at] >= 0xF0 else unit_at(values, at + 3, end, False)


# Java's order of two strings: negative, zero or positive. It is byte order but for characters that
# begin with ED or more: EE and EF come behind F0 to F4, whose first unit is a surrogate.
cdef inline int compare(const byte_t[::1] values, const offset_t[::1] offsets, offset_t i, offset_t j) noexcept nogil:
    cdef offset_t a = offsets[i], b = offsets[j]
    cdef hash_t one, other
    while a < offsets[i + 1] and b < offsets[j + 1] and values[a] == values[b]:
        a, b = a + 1, b + 1
    if a == offsets[i + 1] or b == offsets[j + 1]:
        return (a < offsets[i + 1]) - (b < offsets[j + 1])
    one, other = values[a], values[b]
    if one >= 0xED and other >= 0xED:
        one, other = unit_at(values, a, offsets[i + 1], False), unit_at(values, b, offsets[j + 1], False)
        if one == other:  # a lone high surrogate against a pair that begins with it
            one, other = next_unit(values, a, offsets[i + 1]), next_unit(values, b, offsets[j + 1])
    return 1 if one > other else -1


# ---- one list ----

# The stable order of n strings from `lo` on, in order[at:at + n]; is one empty or there twice?
cdef inline bint sort_list(const byte_t[::1] values, const offset_t[::1] offsets, offset_t lo, offset_t n, index_t[::1] spare,
                           index_t[::1] order, offset_t at) noexcept nogil:
    cdef offset_t i, left, right, middle, end, width = 1
    for i in range(n):
        order[at + i] = <index_t> i
    while width < n:
        end = 0
        while end < n:
            left, right, middle = end, min(end + width, n), min(end + width, n)
            end = min(middle + width, n)
            for i in range(left, end):
                if left < middle and (right == end
                                      or compare(values, offsets, lo + order[at + left], lo + order[at + right]) <= 0):
                    spare[i] = order[at + left]
                    left += 1
                else:
                    spare[i] = order[at + right]
                    right += 1
        for i in range(n):
            order[at + i] = spare[i]
        width *= 2
    return is_irregular(values, offsets, lo, n, order, at)


# Is a string of a list empty or there twice?
cdef inline bint is_irregular(const byte_t[::1] values, const offset_t[::1] offsets, offset_t lo, offset_t n,
                              const index_t[::1] order, offset_t at) noexcept nogil:
    cdef offset_t i
    for i in range(n):
        if offsets[lo + i] == offsets[lo + i + 1]:
            return True
        if i and compare(values, offsets, lo + order[at + i - 1], lo + order[at + i]) == 0:
            return True
    return False


# Is a list in order? `irregular` says whether a string is empty or there twice.
cdef inline bint is_in_order(const byte_t[::1] values, const offset_t[::1] offsets, offset_t lo, offset_t end,
                             byte_t *irregular) noexcept nogil:
    cdef offset_t i
    cdef int found
    irregular[0] = False
    for i in range(lo, end):
        found = compare(values, offsets, i - 1, i) if i > lo else -1
        if found > 0:
            return False
        irregular[0] |= found == 0 or offsets[i] == offsets[i + 1]
    return True


# ---- many lists ----

def order(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
          const offset_t[::1] list_offsets not None, prefix_t[::1] keys not None, index_t[::1] spare not None,
          byte_t[::1] irregular not None, index_t[::1] out not None):
    """Stable order of every list: out[lo + k] is the place in its list of the string that comes k-th."""
    cdef const rmq_strings_t *level = rmq_strings()
    cdef Py_ssize_t row
    cdef offset_t lo
    with nogil:
        if level:
            level.order(&values[0], <const int64_t *>&offsets[0], <const int64_t *>&list_offsets[0], list_offsets.shape[0] - 1,
                        &keys[0], &spare[0], &irregular[0], &out[0])
        else:
            for row in range(list_offsets.shape[0] - 1):
                lo = list_offsets[row]
                irregular[row] = sort_list(values, offsets, lo, list_offsets[row + 1] - lo, spare, out, lo)


def in_order(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
             const offset_t[::1] list_offsets not None, prefix_t[::1] keys not None, byte_t[::1] irregular not None,
             offset_t[::1] out not None):
    """out[0] is the number of lists before the first one that is not in order."""
    cdef const rmq_strings_t *level = rmq_strings()
    cdef offset_t row = 0
    with nogil:
        if level:
            row = level.in_order(&values[0], <const int64_t *>&offsets[0], <const int64_t *>&list_offsets[0],
                                 list_offsets.shape[0] - 1, &keys[0], &irregular[0])
        else:
            while row < list_offsets.shape[0] - 1 and is_in_order(values, offsets, list_offsets[row], list_offsets[row + 1],
                                                                  &irregular[row]):
                row += 1
        out[0] = row


def sort(const byte_t[::1] values not None, const offset_t[::1] offsets not None, const offset_t[::1] list_offsets not None,
         offset_t first, prefix_t[::1] keys not None, index_t[::1] spare not None, index_t[::1] order not None,
         byte_t[::1] irregular not None, byte_t[::1] out_values not None, offset_t[::1] out_offsets not None):
    """Write the strings with every list in order, as a column that begins at 0; the lists before `first` are in order."""
    cdef const rmq_strings_t *level = rmq_strings()
    cdef offset_t row, lo, n, i, string, size, put = 0, at = 0
    with nogil:
        if level:
            level.sort(&values[0], <const int64_t *>&offsets[0], <const int64_t *>&list_offsets[0], first,
                       list_offsets.shape[0] - 1, &keys[0], &spare[0], &order[0], &irregular[0], &out_values[0],
                       <int64_t *>&out_offsets[0])
        else:
            out_offsets[0] = 0
            for row in range(list_offsets.shape[0] - 1):
                lo, n = list_offsets[row], list_offsets[row + 1] - list_offsets[row]
                if row >= first:
                    irregular[row] = sort_list(values, offsets, lo, n, spare, order, 0)
                for i in range(n):
                    string = lo + order[i] if row >= first else lo + i
                    size = offsets[string + 1] - offsets[string]
                    memcpy(&out_values[0] + put, &values[0] + offsets[string], size)
                    put, at = put + size, at + 1
                    out_offsets[at] = put


def first_of(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
             const offset_t[::1] list_offsets not None, const index_t[::1] order not None, index_t[::1] out not None):
    """out[i] is the first place in its list of a string equal to string i."""
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
                if size == previous_size and memcmp(&values[0] + offsets[i], &values[0] + offsets[previous], size) == 0:
                    out[i] = out[previous]
                previous = i
                previous_size = size


def measure(const offset_t[::1] offsets not None, const offset_t[::1] rows not None, offset_t[::1] out not None):
    """Offsets of the strings at the given rows when they are laid end to end."""
    cdef Py_ssize_t k
    with nogil:
        out[0] = 0
        for k in range(rows.shape[0]):
            out[k + 1] = out[k] + offsets[rows[k] + 1] - offsets[rows[k]]


def take_lists(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
               const offset_t[::1] list_offsets not None, const index_t[::1] lists not None,
               byte_t[::1] out_values not None, offset_t[::1] out_offsets not None):
    """Copy the strings of the given lists, list after list."""
    cdef Py_ssize_t k
    cdef offset_t i, lo, n, begin, put = 0, at = 0
    with nogil:
        out_offsets[0] = 0
        for k in range(lists.shape[0]):
            lo = list_offsets[lists[k]]
            n = list_offsets[lists[k] + 1] - lo
            begin = offsets[lo]
            memcpy(&out_values[0] + put, &values[0] + begin, offsets[lo + n] - begin)
            for i in range(1, n + 1):
                out_offsets[at + i] = offsets[lo + i] + put - begin
            put = put + offsets[lo + n] - begin
            at = at + n


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
                if values[i] == 0xED and i + 2 < offsets[row + 1] and values[i + 1] >= 0xA0:
                    out_values[put] = 63
                    i = i + 3
                else:
                    out_values[put] = values[i]
                    i = i + 1
                put = put + 1
            out_offsets[row + 1] = put
