// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

// A chain is a base of ORDINAL/2 on its way to a size: from one size to the next only queues of the slot move that leaves or joins.
type chain struct {
	base
	at     []int
	stacks [][]int // the queues of each slot
}

// ownersInChain are the slots of the queues, of n slots.
func (b base) ownersInChain(n int) []int {
	start := b.start()
	c := chain{b, b.anchor(start), make([][]int, start)}
	for q, slot := range c.at {
		c.stacks[slot] = append(c.stacks[slot], q)
	}
	for len(c.stacks) > n {
		c.leave()
	}
	for len(c.stacks) < n {
		c.join()
	}
	return c.at
}

// start is the size at which the chain begins.
func (b base) start() int {
	m := uint64(len(b.x))
	for sixteenths := uint64(16 + below(mix64(b.seed), 16)); ; sixteenths *= 2 {
		if size := sixteenths / 16; size*size*size >= m*m {
			return int(size)
		}
	}
}

// leave gives the queues of the highest slot to the others.
func (c *chain) leave() {
	m, n := len(c.x), len(c.stacks)-1
	queues := c.stacks[n]
	c.stacks = c.stacks[:n]
	loads := newSlotLoads(n, m/n, m%n)
	for slot, stack := range c.stacks {
		loads.load[slot] = len(stack)
		if len(stack) > loads.f {
			loads.pool--
		}
	}
	fromTop := make([]int, 0, len(queues))
	for i := len(queues) - 1; i >= 0; i-- {
		fromTop = append(fromTop, queues[i])
		c.at[queues[i]] = -1
	}
	loads.roundsOf(fromTop, c.x, c.at, always)
	for _, q := range fromTop {
		c.stacks[c.at[q]] = append(c.stacks[c.at[q]], q)
	}
}

// join takes queues of the fullest slots for a new one.
func (c *chain) join() {
	m, n := len(c.x), len(c.stacks)
	most := (m + n - 1) / n
	nMost := m - n*(most-1)
	v := mix64(c.seed + uint64(n+1)*golden)
	var taken []int
	for left := (m + below(v, n+1)) / (n + 1); left > 0; left-- {
		if nMost == 0 {
			most, nMost = most-1, n
		}
		nMost--
		v = mix64(v + golden)
		slot := below(v, n)
		for len(c.stacks[slot]) < most {
			slot = (slot + 1) % n
		}
		top := len(c.stacks[slot]) - 1
		q := c.stacks[slot][top]
		c.stacks[slot] = c.stacks[slot][:top]
		taken = append(taken, q)
		c.at[q] = n
	}
	c.stacks = append(c.stacks, taken)
}
