// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// The orders of so many queues give the same load to every slot of any subset.
const even = 60

//go:embed ordinal-tables.txt
var tableLines string

// orders are those of all slots for each queue, by number of queues; every subset of slots is balanced by the first present.
var orders = func() map[int][]string {
	read := map[int][]string{}
	for _, line := range strings.Split(strings.TrimSpace(tableLines), "\n") {
		words := strings.Fields(line)
		n, err := strconv.Atoi(words[0])
		if err != nil {
			panic(err)
		}
		read[n] = words[2:]
	}
	return read
}()

// OrdinalByTables is ORDINAL/1 by tables, under which no failure of any slots moves more than the least, with a pattern as
// OrdinalWithPattern has it. It is for groups of up to four slots, or five or six with some numbers of queues: in a greater group
// nobody owns anything, as a strategy of client-go cannot refuse. All clients of a group must go by tables, or none.
func OrdinalByTables(pattern string) (Strategy, error) {
	slots, err := newSlotPattern(pattern)
	if err != nil {
		return nil, err
	}
	return ordinal(slots, slotsByTables), nil
}

// slotsByTables are the present slots of the queues, -1 for all if there are more slots than the table has.
func slotsByTables(queues []*primitive.MessageQueue, clients []int) []int {
	m := len(queues)
	rest := m % even
	k := 6
	if rest > 0 {
		k = len(orders[rest][0])
	}
	slots := filled(m, -1)
	if len(clients) > k {
		return slots
	}
	labels := labels(javaHash(queues[0].Topic), k)
	for q := range slots {
		order := orders[even][q%even:]
		if q >= m-rest {
			order = orders[rest][q-(m-rest):]
		}
		slots[q] = firstPresent(order[0], labels, clients)
	}
	return slots
}

func firstPresent(order string, labels, clients []int) int {
	for i := range order {
		digit := int(order[i] - '0')
		if digit < len(labels) && labels[digit] < len(clients) && clients[labels[digit]] >= 0 {
			return labels[digit]
		}
	}
	panic("no slot is present in " + order) // an order has all slots
}

// labels are the slots that the digits stand for, so that the first slots are not the fuller ones of every topic.
func labels(seed uint64, k int) []int {
	labels := make([]int, k)
	for i := range labels {
		labels[i] = i
	}
	for i := k - 1; i > 0; i-- {
		j := below(mix64(seed+uint64(i)*golden), i+1)
		labels[i], labels[j] = labels[j], labels[i]
	}
	return labels
}
