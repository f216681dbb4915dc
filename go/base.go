// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

// A base is the owners of ORDINAL if no slot is missing. Some sizes are anchors; all others are found by going from the two
// anchors around a size towards it. A queue that has one owner at both ends keeps it in between.
type base struct {
	seed uint64
	x    []uint64
}

// owners are the slots of the queues, of n slots.
func (b base) owners(n int) []int {
	low, high := 1, 2+below(mix64(b.seed), 22)
	for high <= n {
		low, high = high, 12*high
	}
	atLow := b.anchor(low)
	if low == n {
		return atLow
	}
	atHigh := b.anchor(high)
	for low < n {
		middle := low + max(1, 5*(high-low)/16)
		owners := b.between(low, middle, atLow, atHigh)
		if middle <= n {
			low, atLow = middle, owners
		} else {
			high, atHigh = middle, owners
		}
	}
	return atLow
}

func always(int) bool { return true }

func (b base) anchor(n int) []int {
	owners := filled(len(b.x), -1)
	newSlotLoads(n, len(b.x)/n, len(b.x)%n).rounds(b.x, owners, always)
	return owners
}

// between are the owners at a size c between two sizes, as far as there is room those of one or the other.
func (b base) between(low, c int, atLow, atHigh []int) []int {
	owners, loads := filled(len(b.x), -1), b.loads(low, c)
	pass := func(kind byte, to []int, withPool bool) {
		for q := range owners {
			if owners[q] < 0 && kindOf(atLow[q], atHigh[q], low, c) == kind && loads.take(to[q], withPool) {
				owners[q] = to[q]
			}
		}
	}
	pass('X', atLow, true)
	pass('Y', atLow, true)
	pass('Z', atLow, false)
	pass('Z', atHigh, false)
	pass('W', atLow, false)
	pass('Z', atLow, true)
	pass('W', atHigh, true)
	pass('Z', atHigh, true)
	loads.rounds(b.x, owners, always)
	return owners
}

// kindOf is X for one owner at both ends, Y for going to a slot that size c does not have, Z from old to old, W to a new slot.
func kindOf(atLow, atHigh, low, c int) byte {
	switch {
	case atLow == atHigh:
		return 'X'
	case atHigh >= c:
		return 'Y'
	case atHigh < low:
		return 'Z'
	default:
		return 'W'
	}
}

// loads: if there are fewer queues than slots, new slots have a pool of their own, so that they get their share.
func (b base) loads(low, c int) *slotLoads {
	m := len(b.x)
	loads := newSlotLoads(c, m/c, m%c)
	if m < c {
		drawn := below(mix64(b.seed+uint64(c)*golden), c)
		loads.extra = (m*(c-low) + drawn) / c
		loads.pool = m - loads.extra
		loads.firstNew = low
	}
	return loads
}
