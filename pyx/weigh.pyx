# Queues of different weights among clients of different capacities: the heaviest first to who is
# done soonest, then moves and swaps away from the fullest client while they make the fuller of the
# two less full than that. Shares of capacities are compared by cross-multiplication, so that every
# machine has the same answer.
#
# One unit: queues that weigh 5, 1 and 4, given the heaviest first, and two equal clients.
#
# >>> weights, order, capacities = np.array([5, 1, 4]), np.array([0, 2, 1], np.int32), np.ones(2, np.int64)
# >>> loads, owners = np.zeros(2, np.int64), np.empty(3, np.int32)
# >>> weigh.weighted(np.array([0, 3]), np.array([0, 2]), order, weights, capacities, 0, loads, owners)
# >>> owners, loads
# (array([0, 1, 1], dtype=int32), array([5, 5]))

from typedefs cimport offset_t, owner_t

cdef extern from "weigh.h" nogil:
    bint rmq_is_lesser_product(offset_t a, offset_t b, offset_t c, offset_t d)

ctypedef const offset_t[::1] const_offsets_t


# Whether a load is a lesser share of its capacity than another.
cdef inline bint is_less(offset_t load, offset_t capacity, offset_t other, offset_t other_capacity) noexcept nogil:
    return rmq_is_lesser_product(load, other_capacity, other, capacity)


# The client with the least load over capacity when it gets a weight, the first of several; those
# without capacity take none.
cdef inline offset_t soonest(const_offsets_t capacities, const offset_t[::1] loads, offset_t lo, offset_t hi,
                             offset_t weight) noexcept nogil:
    cdef offset_t slot, best = -1
    for slot in range(lo, hi):
        if capacities[slot] and (best < 0 or is_less(loads[slot] + weight, capacities[slot],
                                                     loads[best] + weight, capacities[best])):
            best = slot
    return best


# The client with the greatest load over capacity, the first of several.
cdef inline offset_t fullest(const_offsets_t capacities, const offset_t[::1] loads, offset_t lo, offset_t hi) noexcept nogil:
    cdef offset_t slot, best = -1
    for slot in range(lo, hi):
        if capacities[slot] and (best < 0 or is_less(loads[best], capacities[best], loads[slot], capacities[slot])):
            best = slot
    return best


# Whether the fuller of two clients, after `weight` went from one to the other, is less full than
# the fullest so far; if so that share is the one to undercut from now on.
cdef inline bint undercuts(const_offsets_t capacities, const offset_t[::1] loads, offset_t source, offset_t target,
                           offset_t weight, offset_t *load, offset_t *capacity) noexcept nogil:
    cdef offset_t one = loads[source] - weight, other = loads[target] + weight
    if is_less(one, capacities[source], other, capacities[target]):
        source, one = target, other
    if not is_less(one, capacities[source], load[0], capacity[0]):
        return False
    load[0], capacity[0] = one, capacities[source]
    return True


# One move or swap from the fullest client, the best there is and the first of several; false if
# none is any good.
cdef inline bint improve(const_offsets_t weights, const_offsets_t capacities, offset_t first, offset_t last,
                         offset_t lo, offset_t hi, offset_t[::1] loads, owner_t[::1] out) noexcept nogil:
    cdef offset_t top = fullest(capacities, loads, lo, hi), load = loads[top], capacity = capacities[top]
    cdef offset_t queue, slot, other, moved = -1, target = -1, back = -1
    for queue in range(first, last):
        if out[queue] != top - lo:
            continue
        for slot in range(lo, hi):
            if slot != top and capacities[slot] and undercuts(capacities, loads, top, slot, weights[queue], &load, &capacity):
                moved, target, back = queue, slot, -1
        for other in range(first, last):
            slot = lo + out[other]
            if weights[other] < weights[queue] and slot != top and undercuts(
                    capacities, loads, top, slot, weights[queue] - weights[other], &load, &capacity):
                moved, target, back = queue, slot, other
    if moved < 0:
        return False
    load = weights[moved] - (weights[back] if back >= 0 else 0)
    loads[top] -= load
    loads[target] += load
    out[moved] = <owner_t> (target - lo)
    if back >= 0:
        out[back] = <owner_t> (top - lo)
    return True


def weighted(
    const offset_t[::1] queue_offsets not None,
    const offset_t[::1] slot_offsets not None,
    const owner_t[::1] order not None,
    const offset_t[::1] weights not None,
    const offset_t[::1] capacities not None,
    offset_t improved,
    offset_t[::1] loads not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t unit
    cdef offset_t place, first, last, lo, hi, slot, steps
    with nogil:
        for unit in range(queue_offsets.shape[0] - 1):
            first, last = queue_offsets[unit], queue_offsets[unit + 1]
            lo, hi = slot_offsets[unit], slot_offsets[unit + 1]
            for place in range(first, last):
                slot = soonest(capacities, loads, lo, hi, weights[first + order[place]])
                loads[slot] += weights[first + order[place]]
                out[first + order[place]] = <owner_t> (slot - lo)
            steps = 4 * (last - first) if last - first <= improved else 0
            while steps and improve(weights, capacities, first, last, lo, hi, loads, out):
                steps -= 1
