// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

import (
	"container/heap"
	"sort"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Stable is STABLE/1: few queues move when clients come and go, whatever their ids are. Loads differ by one at most.
func Stable() Strategy {
	return stable(byProposals)
}

// StableWithSlack is STABLE/1 with a slack of 1: loads differ by two at most, and fewer queues move. All clients of a group
// must have the same slack.
func StableWithSlack() Strategy {
	return stable(byTurns)
}

func stable(divide func(x, y []uint32) []int) Strategy {
	return owned(func(queues []*primitive.MessageQueue, clientIDs []string) []int {
		positions := distinct(clientIDs)
		x, y := make([]uint32, len(queues)), make([]uint32, len(positions))
		for q, number := range queueNumbers(queues) {
			x[q] = uint32(number >> 32)
		}
		for c, position := range positions {
			y[c] = uint32(mix64(javaHash(clientIDs[position])+golden) >> 32)
		}
		owners := divide(x, y)
		for q, c := range owners {
			owners[q] = positions[c]
		}
		return owners
	})
}

// A rank orders the pairs of queues and clients by score, and then by the position of one of them: the greater the better.
type rank uint64

func rankOf(x, y uint32, position int) rank {
	return rank(fmix32(x^y))<<32 | rank(^uint32(position))
}

func (r rank) position() int {
	return int(^uint32(r))
}

// A share is the ranks of what a client holds, a heap with the worst on top.
type share []rank

func (s share) Len() int           { return len(s) }
func (s share) Less(i, j int) bool { return s[i] < s[j] }
func (s share) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *share) Push(one any)      { *s = append(*s, one.(rank)) }
func (s *share) Pop() any {
	last := len(*s) - 1
	one := (*s)[last]
	*s = (*s)[:last]
	return one
}

// proposals: every queue proposes to clients by falling score, a client keeps its best, and what is refused proposes again. Pairs
// are ranked by the one order on both sides, so the result is that of taking all pairs in this order, without a list of them.
type proposals struct {
	x, y     []uint32
	owners   []int
	held     []share
	lo, pool int
}

func byProposals(x, y []uint32) []int {
	p := proposals{x, y, filled(len(x), -1), make([]share, len(y)), len(x) / len(y), len(x) % len(y)}
	for q := range x {
		for free := q; free >= 0; {
			free = p.propose(free, p.best(free))
		}
	}
	return p.owners
}

// best is the client that a queue asks next: after the one that refused it, if there is one.
func (p *proposals) best(q int) int {
	refused := p.owners[q]
	var best rank
	for c := range p.y {
		one := rankOf(p.x[q], p.y[c], c)
		if one > best && (refused < 0 || one < rankOf(p.x[q], p.y[refused], refused)) {
			best = one
		}
	}
	return best.position()
}

// propose gives the client the queue, and returns the queue that is refused for it, -1 if there is room for all.
func (p *proposals) propose(q, c int) int {
	load := len(p.held[c])
	heap.Push(&p.held[c], rankOf(p.x[q], p.y[c], q))
	p.owners[q] = c
	if load < p.lo {
		return -1
	}
	if load == p.lo && p.pool > 0 {
		p.pool--
		return -1
	}
	// A client that has an extra place gives up its own worst; else the worst goes of all that now hold one more.
	from := c
	if load == p.lo {
		for d := range p.held {
			if len(p.held[d]) > p.lo && p.held[d][0] < p.held[from][0] {
				from = d
			}
		}
	}
	return heap.Pop(&p.held[from]).(rank).position()
}

// byTurns: clients choose in turn, each its favourite of what is left.
func byTurns(x, y []uint32) []int {
	m, n := len(x), len(y)
	middle := (2*m + n) / (2 * n)
	lo := max(0, middle-1)
	pool := m - n*lo
	favourites := favourites(x, y)
	owners, load := filled(m, -1), make([]int, n)
	for round, free := 0, m; free > 0; round++ {
		order := make([]rank, 0, n)
		for c := range y {
			if q := favourites[c][round].position(); owners[q] < 0 {
				order = append(order, rankOf(y[c]+0x1234567*x[q], 0, c))
			}
		}
		sort.Slice(order, func(i, j int) bool { return order[i] > order[j] })
		for _, one := range order {
			c := one.position()
			q := favourites[c][round].position()
			if owners[q] < 0 && (load[c] < lo || load[c] <= middle && pool > 0) {
				if load[c] >= lo {
					pool--
				}
				load[c]++
				owners[q] = c
				free--
			}
		}
	}
	return owners
}

// favourites are the ranks of all queues for each client, the best first.
func favourites(x, y []uint32) [][]rank {
	ranks := make([][]rank, len(y))
	for c := range y {
		some := make([]rank, len(x))
		for q := range x {
			some[q] = rankOf(x[q], y[c], q)
		}
		sort.Slice(some, func(i, j int) bool { return some[i] > some[j] })
		ranks[c] = some
	}
	return ranks
}
