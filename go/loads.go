// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

import "math/bits"

// slotLoads are the loads of slots. Each may take f queues; one that takes another lowers a pool of such places, old slots and new
// ones each their own.
type slotLoads struct {
	load        []int
	f           int
	pool, extra int // extra is the pool of slots from firstNew on
	firstNew    int
}

func newSlotLoads(n, f, pool int) *slotLoads {
	return &slotLoads{load: make([]int, n), f: f, pool: pool, firstNew: n}
}

// take tells whether the slot takes one more queue.
func (l *slotLoads) take(slot int, withPool bool) bool {
	if l.load[slot] >= l.f {
		pool := &l.pool
		if slot >= l.firstNew {
			pool = &l.extra
		}
		if l.load[slot] > l.f || !withPool || *pool == 0 {
			return false
		}
		*pool--
	}
	l.load[slot]++
	return true
}

const lastDraw = 4

// rounds gives all queues without an owner (-1) to slots, in the order of the list.
func (l *slotLoads) rounds(x []uint64, owners []int, present func(slot int) bool) {
	queues := make([]int, len(owners))
	for q := range queues {
		queues[q] = q
	}
	l.roundsOf(queues, x, owners, present)
}

// roundsOf gives those of the queues that have no owner to slots, in their order. In three rounds each asks for a draw; what is left
// counts up from its last draw to the first slot that has room, so that the time is bounded.
func (l *slotLoads) roundsOf(queues []int, x []uint64, owners []int, present func(slot int) bool) {
	n := len(l.load)
	draw := func(q int, t uint64) int { return slotOf(mix64(x[q]+t*golden), n) }
	for t := uint64(1); t < lastDraw; t++ {
		for _, q := range queues {
			if owners[q] >= 0 {
				continue
			}
			if slot := draw(q, t); present(slot) && l.take(slot, true) {
				owners[q] = slot
			}
		}
	}
	for _, q := range queues {
		if owners[q] >= 0 {
			continue
		}
		slot := draw(q, lastDraw)
		for !present(slot) || !l.take(slot, true) {
			slot = (slot + 1) % n
		}
		owners[q] = slot
	}
}

// slotOf is one of n slots for a random number; with n + 1 slots one draw in n + 1 changes, and then to the new slot.
func slotOf(u uint64, n int) int {
	rest := u & (1<<bits.Len(uint(n-1)) - 1)
	for rest != 0 {
		top := uint64(1) << (bits.Len64(rest) - 1)
		v := mix64(u + top)
		slot := top + v>>32&(top-1)
		for slot >= top {
			if slot < uint64(n) {
				return int(slot)
			}
			v = mix64(v)
			slot = v >> 32 & (2*top - 1)
		}
		rest -= top
	}
	return 0
}
