# Rows of differing length laid end to end. A row's bytes are values[offsets[row]:offsets[row+1]].

from libc.string cimport memcmp, memcpy

from typedefs cimport byte_t, index_t, offset_t

ctypedef unsigned long long digest_t


cdef inline digest_t mixed(digest_t h, digest_t word) noexcept nogil:
    """One multiply-and-fold step; rows that collide are compared in full, so this need only be quick and even."""
    h = (h ^ word) * <digest_t> 0x9E3779B97F4A7C15
    return h ^ (h >> 29)


cdef inline digest_t digest(const byte_t *s, offset_t n, digest_t h) noexcept nogil:
    cdef digest_t word
    h = mixed(h, <digest_t> n)
    while n >= 8:
        memcpy(&word, s, 8)
        h = mixed(h, word)
        s = s + 8
        n = n - 8
    word = 0
    memcpy(&word, s, n)
    return mixed(h, word)


cdef inline bint same(const byte_t *values, const offset_t *offsets, offset_t i, offset_t j) noexcept nogil:
    cdef offset_t size = offsets[i + 1] - offsets[i]
    return size == offsets[j + 1] - offsets[j] and memcmp(values + offsets[i], values + offsets[j], size) == 0


def distinct(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
             const byte_t[::1] other_values not None, const offset_t[::1] other_offsets not None,
             index_t[::1] table not None, index_t[::1] first_rows not None, offset_t[::1] n_distinct not None,
             index_t[::1] out not None):
    """Number the distinct rows (a row is its bytes in both columns) in order of appearance.

    ``out[row]`` is the number of row's kind, ``first_rows[kind]`` its first row; ``table`` is all -1 and its
    length a power of two above the number of rows.
    """
    cdef Py_ssize_t row
    cdef digest_t h, mask = <digest_t> table.shape[0] - 1
    cdef index_t kind, kinds = 0
    with nogil:
        for row in range(out.shape[0]):
            h = digest(&values[0] + offsets[row], offsets[row + 1] - offsets[row], 0)
            h = digest(&other_values[0] + other_offsets[row], other_offsets[row + 1] - other_offsets[row], h) & mask
            kind = table[h]
            while kind >= 0 and not (same(&values[0], &offsets[0], row, first_rows[kind])
                                     and same(&other_values[0], &other_offsets[0], row, first_rows[kind])):
                h = (h + 1) & mask
                kind = table[h]
            if kind < 0:
                kind = kinds
                kinds = kinds + 1
                table[h] = kind
                first_rows[kind] = <index_t> row
            out[row] = kind
        n_distinct[0] = kinds


def gather(const byte_t[::1] values not None, const offset_t[::1] starts not None, const offset_t[::1] out_offsets not None,
           byte_t[::1] out not None):
    """Copy the stretch of bytes from starts[row] that fills out[out_offsets[row]:out_offsets[row+1]], row after row."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(starts.shape[0]):
            memcpy(&out[0] + out_offsets[row], &values[0] + starts[row], out_offsets[row + 1] - out_offsets[row])


def order_keys(const unsigned long long[::1] keys not None, const offset_t[::1] list_offsets not None,
               index_t[::1] spare not None, index_t[::1] out not None):
    """Stable order of every list of numbers: out[lo + k] is the place in its list of the number that comes k-th."""
    cdef Py_ssize_t row
    cdef offset_t i, lo, hi
    with nogil:
        for row in range(list_offsets.shape[0] - 1):
            lo = list_offsets[row]
            hi = list_offsets[row + 1]
            for i in range(lo, hi):
                out[i] = <index_t> (i - lo)
            for i in range(lo + 1, hi):
                if keys[i] < keys[i - 1]:
                    merge_sort(&keys[lo], hi - lo, &spare[0], &out[lo])
                    break


cdef void merge_sort(const unsigned long long *keys, offset_t n, index_t *spare, index_t *order) noexcept nogil:
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
