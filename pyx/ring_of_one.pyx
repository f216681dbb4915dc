# The ring for one group of plain Python objects, see plain_group.pxd. Where the level in use has no
# loops of its own, too, it is left to others: the plain ones are those of md5.pyx and ring.pyx.
#
# >>> queues, client_ids = (("t", "b", 0), ("t", "b", 1), ("t", "b", 2)), ("c1", "c2")
# >>> ring_of_one.consistent_hash(queues, client_ids, 10, 0, None)    # what the client at position 0 owns
# [('t', 'b', 1)]
# >>> owners = np.empty(3, np.int32)
# >>> ring_of_one.consistent_hash(queues, client_ids, 10, 0, owners)
# 3
# >>> owners
# array([1, 0, 1], dtype=int32)

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from plain_group cimport PyTuple_GET_ITEM, PyUnicode_AsUTF8AndSize, answer, item, plain_text, queue_id
from typedefs cimport byte_t, hash_t, index_t, owner_t

include "isa.pxi"

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef extern from "vector/md5.h" nogil:
    ctypedef struct rmq_md5_t:
        void (*points)(const byte_t *values, const int64_t *offsets, int64_t first, int64_t last, const index_t *starts,
                       index_t v, hash_t *out) noexcept nogil
        void (*queues)(const byte_t *topic_values, const int64_t *topic_offsets, const byte_t *broker_values,
                       const int64_t *broker_offsets, const index_t *route_topic, const index_t *route_broker,
                       const int64_t *route_offsets, int64_t first_route, int64_t last_route, const index_t *queue_ids,
                       hash_t *out) noexcept nogil
    const rmq_md5_t *rmq_md5(int64_t n_keys)

cdef extern from "vector/ring.h" nogil:
    ctypedef struct rmq_ring_t:
        pass
    ctypedef struct rmq_rings_t:
        void (*start)(rmq_ring_t *ring, index_t virtual_nodes, uint64_t *scratch) noexcept nogil
        bint (*take)(rmq_ring_t *ring, const hash_t *points, index_t n_clients, int64_t n_queues,
                     int64_t n_spans) noexcept nogil
        bint (*locate)(rmq_ring_t *ring, const hash_t *hashes, int64_t n_queues, owner_t *owners) noexcept nogil
    const rmq_rings_t *rmq_rings(bint is_begun)
    int64_t rmq_ring_scratch_size(int64_t n_points)


# A column of text that is being filled: offsets[0:n+1] into values.
ctypedef struct column_t:
    byte_t *values
    int64_t *offsets
    int64_t n


cdef inline void append(column_t *column, PyObject *text) noexcept:
    cdef Py_ssize_t size
    cdef const char *data = PyUnicode_AsUTF8AndSize(text, &size)
    memcpy(column.values + column.offsets[column.n], data, size)
    column.n = column.n + 1
    column.offsets[column.n] = column.offsets[column.n - 1] + size


cdef inline byte_t *carve(byte_t **at, size_t size) noexcept nogil:
    """The next piece of a block of memory, its end rounded up so that any number can follow."""
    cdef byte_t *piece = at[0]
    at[0] = piece + ((size + 63) & ~<size_t> 63)
    return piece


cdef inline void start(column_t *column, byte_t **at, int64_t n, int64_t n_bytes) noexcept nogil:
    column.offsets = <int64_t *> carve(at, (n + 1) * sizeof(int64_t))
    column.values = carve(at, n_bytes + 1)
    column.offsets[0] = 0
    column.n = 0


cdef int64_t lay_out_routes(tuple queues, column_t *topics, column_t *brokers, index_t *rows, int64_t *route_offsets,
                             index_t *queue_ids) noexcept:
    """Write queues as routes, a new one wherever the topic or the broker is another object; returns their number."""
    cdef PyObject *queue
    cdef PyObject *topic = NULL
    cdef PyObject *broker = NULL
    cdef Py_ssize_t i
    for i in range(len(queues)):
        queue = item(queues, i)
        if PyTuple_GET_ITEM(queue, 0) != topic or PyTuple_GET_ITEM(queue, 1) != broker:
            topic = PyTuple_GET_ITEM(queue, 0)
            broker = PyTuple_GET_ITEM(queue, 1)
            rows[topics.n] = <index_t> topics.n
            route_offsets[topics.n] = i
            append(topics, topic)
            append(brokers, broker)
        queue_ids[i] = queue_id(queue)
    route_offsets[topics.n] = len(queues)
    return topics.n


def consistent_hash(tuple queues not None, tuple client_ids not None, index_t virtual_nodes, owner_t position,
                    owner_t[::1] out):
    """One group of objects: what `answer` gives of its owners, None where they or the level in use are plain or odd."""
    cdef const rmq_rings_t *rings = rmq_rings(False)
    cdef const rmq_md5_t *of_points = rmq_md5(<int64_t> len(client_ids) * virtual_nodes)
    cdef const rmq_md5_t *of_queues = rmq_md5(len(queues))
    cdef int64_t n = len(queues), m = len(client_ids), n_routes, n_text = plain_text(queues, client_ids)
    cdef int64_t n_points = m * virtual_nodes, n_scratch = rmq_ring_scratch_size(m * virtual_nodes), n_bytes
    cdef column_t ids, topics, brokers
    cdef byte_t *memory
    cdef byte_t *at
    cdef rmq_ring_t ring
    cdef bint found
    if n_text < 0 or not (rings and of_points and of_queues):
        return None
    n_bytes = 3 * n_text + 8 * (m + 3 * n + n_scratch) + 4 * (n_points + 4 * n) + 64 * 17
    memory = <byte_t *> malloc(n_bytes) if n_bytes <= PY_SSIZE_T_MAX else NULL
    if memory == NULL:
        raise MemoryError(f"no memory for {n_points} ring points")
    at = memory
    start(&ids, &at, m, n_text)
    start(&topics, &at, n, n_text)
    start(&brokers, &at, n, n_text)
    route_offsets = <int64_t *> carve(&at, (n + 1) * sizeof(int64_t))
    rows = <index_t *> carve(&at, n * sizeof(index_t))
    queue_ids = <index_t *> carve(&at, n * sizeof(index_t))
    points = <hash_t *> carve(&at, n_points * sizeof(hash_t))
    hashes = <hash_t *> carve(&at, n * sizeof(hash_t))
    owners = <owner_t *> carve(&at, n * sizeof(owner_t))
    for i in range(m):
        append(&ids, item(client_ids, i))
    n_routes = lay_out_routes(queues, &topics, &brokers, rows, route_offsets, queue_ids)
    with nogil:
        of_points.points(ids.values, ids.offsets, 0, m, NULL, virtual_nodes, points)
        of_queues.queues(topics.values, topics.offsets, brokers.values, brokers.offsets, rows, rows, route_offsets, 0, n_routes,
                         queue_ids, hashes)
        rings.start(&ring, virtual_nodes, <uint64_t *> carve(&at, n_scratch * 8))
        found = rings.take(&ring, points, <index_t> m, n, 1) and rings.locate(&ring, hashes, n, owners)
    try:
        return answer(queues, owners, position, out) if found else None
    finally:
        free(memory)
