# Text as columns: string i is values[offsets[i]:offsets[i+1]], UTF-8 with lone surrogates in their 3-byte form. Sorting is in
# strings_core.c, because it comes in one version for each instruction set, chosen when this module is imported.

from libc.stdint cimport int64_t
from libc.string cimport memchr, memcmp, memcpy

from typedefs cimport byte_t, index_t, offset_t

include "isa.pxi"

ctypedef unsigned long long prefix_t     # eight bytes of a string, biggest byte first


cdef extern from "strings.h" nogil:
    void rmq_strings_order(const byte_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists,
                           void *keys, index_t *spare, byte_t *odd, index_t *out)
    int64_t rmq_strings_in_order(const byte_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists,
                                 void *keys, byte_t *odd)
    void rmq_strings_sort(const byte_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t first,
                          int64_t n_lists, void *keys, index_t *spare, index_t *order, byte_t *odd, byte_t *out_values,
                          int64_t *out_offsets)


def order(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
          const offset_t[::1] list_offsets not None, prefix_t[::1] keys not None, index_t[::1] spare not None,
          byte_t[::1] irregular not None, index_t[::1] out not None):
    """Stable order of every list: out[lo + k] is the place in its list of the string that comes k-th."""
    with nogil:
        rmq_strings_order(&values[0], <const int64_t *>&offsets[0], <const int64_t *>&list_offsets[0],
                          list_offsets.shape[0] - 1, &keys[0], &spare[0], &irregular[0], &out[0])


def in_order(const byte_t[::1] values not None, const offset_t[::1] offsets not None,
             const offset_t[::1] list_offsets not None, prefix_t[::1] keys not None, byte_t[::1] irregular not None,
             offset_t[::1] out not None):
    """out[0] is the number of lists before the first one that is not in order."""
    with nogil:
        out[0] = rmq_strings_in_order(&values[0], <const int64_t *>&offsets[0], <const int64_t *>&list_offsets[0],
                                      list_offsets.shape[0] - 1, &keys[0], &irregular[0])


def sort(const byte_t[::1] values not None, const offset_t[::1] offsets not None, const offset_t[::1] list_offsets not None,
         offset_t first, prefix_t[::1] keys not None, index_t[::1] spare not None, index_t[::1] order not None,
         byte_t[::1] irregular not None, byte_t[::1] out_values not None, offset_t[::1] out_offsets not None):
    """Write the strings with every list in order, as a column that begins at 0; the lists before `first` are in order."""
    with nogil:
        rmq_strings_sort(&values[0], <const int64_t *>&offsets[0], <const int64_t *>&list_offsets[0], first,
                         list_offsets.shape[0] - 1, &keys[0], &spare[0], &order[0], &irregular[0], &out_values[0],
                         <int64_t *>&out_offsets[0])


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
