// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

import "github.com/apache/rocketmq-client-go/v2/primitive"

// Ordinal is ORDINAL/1: the fewest queues move, by slot numbers that survive a restart.
//
// The slot is the number at the end of the instance name: 7 in 10.0.3.17@consumer-7 (consumer.WithInstance). If a client goes,
// its queues alone move; if its slot comes back, it gets exactly these queues. Loads differ by one at most.
func Ordinal() Strategy {
	return ordinal(slotPattern{before: "-"}, slotsByBase(base.owners))
}

// OrdinalWithPattern is Ordinal with another pattern of instance names: a text with one # where the number stands, and no digit
// next to it, as in "-#", the default. All clients of a group must have the same.
func OrdinalWithPattern(pattern string) (Strategy, error) {
	slots, err := newSlotPattern(pattern)
	if err != nil {
		return nil, err
	}
	return ordinal(slots, slotsByBase(base.owners)), nil
}

// Ordinal2 is ORDINAL/2: as Ordinal, and the highest slot is as any other. If it goes, its queues alone move, and no queue moves
// between clients that stay. More queues move than under Ordinal if brokers come and go in a group of unusual size.
func Ordinal2() Strategy {
	return ordinal(slotPattern{before: "-"}, slotsByBase(base.ownersInChain))
}

// Ordinal2WithPattern is Ordinal2 with a pattern as OrdinalWithPattern has it.
func Ordinal2WithPattern(pattern string) (Strategy, error) {
	slots, err := newSlotPattern(pattern)
	if err != nil {
		return nil, err
	}
	return ordinal(slots, slotsByBase(base.ownersInChain)), nil
}

// ordinal divides by slots: the function finds the slot of each queue, of the clients by slot (-1 where there is none).
// A slot of -1 is nobody's.
func ordinal(pattern slotPattern, slots func(queues []*primitive.MessageQueue, clients []int) []int) Strategy {
	return owned(func(queues []*primitive.MessageQueue, clientIDs []string) []int {
		numbers := pattern.numbers(clientIDs)
		highest := -1
		for _, number := range numbers {
			highest = max(highest, number)
		}
		clients := filled(highest+1, -1)
		for i, number := range numbers {
			if number >= 0 {
				clients[number] = i
			}
		}
		owners := slots(queues, clients)
		for q, slot := range owners {
			if slot >= 0 {
				owners[q] = clients[slot]
			}
		}
		return owners
	})
}

// slotsByBase finds the present slots of the queues: those that the owners of a base are, or where these are not present some by draws.
func slotsByBase(owners func(b base, n int) []int) func(queues []*primitive.MessageQueue, clients []int) []int {
	return func(queues []*primitive.MessageQueue, clients []int) []int {
		x := queueNumbers(queues)
		slots := owners(base{javaHash(queues[0].Topic), x}, len(clients))
		return filledHoles(x, slots, clients)
	}
}

// filledHoles are the slots with those by draws where slots are not present.
func filledHoles(x []uint64, slots, clients []int) []int {
	present := func(slot int) bool { return clients[slot] >= 0 }
	m, n := len(x), 0
	for slot := range clients {
		if present(slot) {
			n++
		}
	}
	if n == len(clients) {
		return slots
	}
	loads := newSlotLoads(len(clients), m/n, m%n)
	for q, slot := range slots {
		loads.load[slot]++
		if !present(slot) {
			slots[q] = -1
		}
	}
	for slot, load := range loads.load {
		if present(slot) && load > loads.f {
			loads.pool--
		}
	}
	loads.rounds(x, slots, present)
	return slots
}
