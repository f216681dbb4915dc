# One group as plain Python objects, for the kernels that divide one group: reading it by arrays
# costs many times the work. What is not plain (no 3-tuple of str, str, int32; a lone surrogate; an
# id that is empty or there twice) they leave to the way by arrays.
#
# No lock is taken, with or without a global one: all that is read is a tuple, a str or an int,
# which never change, and the outer tuples, which the caller holds, keep what is in them alive.

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from naming cimport hash_of, number_of, queue_number, route_number, slot_in, wide
from typedefs cimport byte_t, hash_t, index_t, owner_t

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(PyObject *text)
    bint PyLong_CheckExact(PyObject *number)
    long PyLong_AsLongAndOverflow(PyObject *number, int *overflow)
    const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size)
    bint PyTuple_Check(PyObject *queue)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *queue)
    PyObject *PyTuple_GET_ITEM(PyObject *queue, Py_ssize_t i)
    PyObject *item "PyTuple_GET_ITEM"(tuple items, Py_ssize_t i)
    void PyErr_Clear()


# Bytes of a plain string, -1 if it is none or has no UTF-8 form.
cdef inline int64_t text_size(PyObject *text) noexcept:
    cdef Py_ssize_t size
    if not PyUnicode_CheckExact(text):
        return -1
    if PyUnicode_AsUTF8AndSize(text, &size) == NULL:
        PyErr_Clear()
        return -1
    return size


# Bytes of the names of a queue given as a plain 3-tuple, -1 if it is none.
cdef inline int64_t plain_size(PyObject *queue) noexcept:
    cdef int overflow = 0
    cdef int64_t topic, broker
    cdef long number
    if not PyTuple_Check(queue) or PyTuple_GET_SIZE(queue) != 3 or not PyLong_CheckExact(PyTuple_GET_ITEM(queue, 2)):
        return -1
    number = PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(queue, 2), &overflow)
    topic = text_size(PyTuple_GET_ITEM(queue, 0))
    broker = text_size(PyTuple_GET_ITEM(queue, 1))
    if overflow or number != <index_t> number or topic < 0 or broker < 0:
        return -1
    return topic + broker


# Bytes of all text, -1 if anything is not plain, or there is nothing.
cdef inline int64_t plain_text(tuple queues, tuple client_ids):
    cdef int64_t size, total = 0
    cdef Py_ssize_t i
    for i in range(len(client_ids)):
        size = text_size(item(client_ids, i))
        if size <= 0:
            return -1
        total = total + size
    if len(set(client_ids)) != len(client_ids):
        return -1
    for i in range(len(queues)):
        size = plain_size(item(queues, i))
        if size < 0:
            return -1
        total = total + size
    return total if queues and client_ids else -1


cdef inline index_t queue_id(PyObject *queue) noexcept:
    cdef int overflow
    return <index_t> PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(queue, 2), &overflow)


cdef inline hash_t text_hash(PyObject *text) noexcept:
    cdef Py_ssize_t size
    cdef const char *data = PyUnicode_AsUTF8AndSize(text, &size)
    return hash_of(<const byte_t *> data, <const byte_t *> data + size)


# The hash of the topic of the first queue, and by it every queue's number; names are hashed
# wherever another object begins.
cdef inline uint64_t number_queues(tuple queues, uint64_t *numbers) noexcept:
    cdef PyObject *queue
    cdef PyObject *topic = NULL
    cdef PyObject *broker = NULL
    cdef Py_ssize_t i
    cdef hash_t topic_hash = 0
    cdef uint64_t of_route = 0
    for i in range(len(queues)):
        queue = item(queues, i)
        if PyTuple_GET_ITEM(queue, 0) != topic or PyTuple_GET_ITEM(queue, 1) != broker:
            if PyTuple_GET_ITEM(queue, 0) != topic:
                topic = PyTuple_GET_ITEM(queue, 0)
                topic_hash = text_hash(topic)
            broker = PyTuple_GET_ITEM(queue, 1)
            of_route = route_number(topic_hash, text_hash(broker))
        numbers[i] = queue_number(of_route, queue_id(queue))
    return wide(text_hash(PyTuple_GET_ITEM(item(queues, 0), 0)))


cdef inline void number_clients(tuple client_ids, hash_t *numbers) noexcept:
    cdef const char *data
    cdef Py_ssize_t i, size
    for i in range(len(client_ids)):
        data = PyUnicode_AsUTF8AndSize(item(client_ids, i), &size)
        numbers[i] = number_of(<const byte_t *> data, <const byte_t *> data + size)


cdef inline void find_slots(tuple client_ids, bytes before, bytes after, index_t *slots) noexcept:
    cdef const byte_t *begins = before
    cdef const byte_t *ends = after
    cdef const char *data
    cdef Py_ssize_t i, size, n_begins = len(before), n_ends = len(after)
    for i in range(len(client_ids)):
        data = PyUnicode_AsUTF8AndSize(item(client_ids, i), &size)
        slots[i] = slot_in(<const byte_t *> data, size, begins, n_begins, ends, n_ends)


# The queues of one client; or, where there is a vector for them, all owners.
cdef inline object answer(tuple queues, const owner_t *owners, owner_t position, owner_t[::1] out):
    cdef Py_ssize_t i
    cdef list found = []
    if out is not None:
        for i in range(len(queues)):
            out[i] = owners[i]
        return out.shape[0]
    for i in range(len(queues)):
        if owners[i] == position:
            found.append(queues[i])
    return found
