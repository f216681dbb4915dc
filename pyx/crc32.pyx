# Hashes of client-go's ring: CRC-32 (IEEE, reflected) of many short keys.
#
# The register is linear over XOR: behind n more bytes it is what n zero bytes make of it, XOR what
# those bytes make of an empty one. So a client's id is read once for all of its points, and what
# stands before an id counts for all ids of one length.
#
# Two points of each of two client ids, of the texts 0c1, 1c1, 0c2 and 1c2:
#
# >>> values, offsets = np.frombuffer(b"c1c2", np.uint8), np.array([0, 2, 4])
# >>> points, scratch = np.empty(4, np.uint32), np.empty((65, 2), np.uint32)
# >>> crc32.points(values, offsets, 0, 2, 0, scratch, points)
# >>> points
# array([3290694876, 3320213227, 1563252070, 1559183185], dtype=uint32)

from typedefs cimport byte_t, hash_t, index_t, offset_t

cdef enum:
    N_LENGTHS = 64      # ids shorter than this share what stands before them

cdef hash_t START = 0xFFFFFFFF
cdef hash_t TABLE[256]
cdef hash_t slot_of_table
cdef int bit
for slot_of_table in range(256):
    TABLE[slot_of_table] = slot_of_table
    for bit in range(8):
        TABLE[slot_of_table] = (TABLE[slot_of_table] >> 1) ^ (0xEDB88320 if TABLE[slot_of_table] & 1 else 0)


cdef inline hash_t with_byte(hash_t register, byte_t one) noexcept nogil:
    return (register >> 8) ^ TABLE[(register ^ one) & 0xFF]


cdef inline hash_t with_bytes(hash_t register, const byte_t *at, offset_t n) noexcept nogil:
    cdef offset_t i
    for i in range(n):
        register = with_byte(register, at[i])
    return register


cdef inline hash_t with_zeros(hash_t register, offset_t n) noexcept nogil:
    cdef offset_t i
    for i in range(n):
        register = with_byte(register, 0)
    return register


cdef inline hash_t with_number(hash_t register, offset_t number) noexcept nogil:
    cdef byte_t digits[20]
    cdef int n = 20
    if number < 0:
        register = with_byte(register, c'-')
        number = -number
    while True:
        n -= 1
        digits[n] = <byte_t> (c'0' + number % 10)
        number = number // 10
        if number == 0:
            return with_bytes(register, digits + n, 20 - n)


cdef inline hash_t with_string(hash_t register, const byte_t[::1] values, const offset_t[::1] offsets,
                               offset_t i) noexcept nogil:
    return with_bytes(register, &values[0] + offsets[i], offsets[i + 1] - offsets[i]) if values.shape[0] else register


def points(
    const byte_t[::1] values not None,
    const offset_t[::1] offsets not None,
    offset_t first,
    offset_t last,
    offset_t first_node,
    hash_t[:, ::1] scratch not None,
    hash_t[::1] out not None,
):
    cdef offset_t slot, node, n, n_nodes = scratch.shape[1], at = 0
    cdef hash_t own
    cdef bint known[N_LENGTHS]
    with nogil:
        for n in range(N_LENGTHS):
            known[n] = False
        for slot in range(first, last):
            n = offsets[slot + 1] - offsets[slot]
            own = ~with_string(0, values, offsets, slot)
            # The last row serves all longer ids, and is recomputed for each.
            if n >= N_LENGTHS or not known[n]:
                for node in range(n_nodes):
                    scratch[min(n, N_LENGTHS), node] = with_zeros(with_number(START, first_node + node), n)
                if n < N_LENGTHS:
                    known[n] = True
            for node in range(n_nodes):
                out[at + node] = scratch[min(n, N_LENGTHS), node] ^ own
            at += n_nodes


def queues(
    const byte_t[::1] topic_values not None,
    const offset_t[::1] topic_offsets not None,
    const byte_t[::1] broker_values not None,
    const offset_t[::1] broker_offsets not None,
    const index_t[::1] route_topic not None,
    const index_t[::1] route_broker not None,
    const offset_t[::1] route_offsets not None,
    const index_t[::1] queue_ids not None,
    hash_t[::1] out not None,
):
    cdef offset_t route, i, begin = route_offsets[0]
    cdef hash_t before
    with nogil:
        for route in range(route_topic.shape[0]):
            before = with_bytes(START, b"MessageQueue [topic=", 20)
            before = with_string(before, topic_values, topic_offsets, route_topic[route])
            before = with_bytes(before, b", brokerName=", 13)
            before = with_string(before, broker_values, broker_offsets, route_broker[route])
            before = with_bytes(before, b", queueId=", 10)
            for i in range(route_offsets[route], route_offsets[route + 1]):
                out[i - begin] = ~with_byte(with_number(before, queue_ids[i]), c']')
