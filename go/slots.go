// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

const digits = "0123456789"

// mostDigits is the length of the longest slot.
const mostDigits = 9

// A slotPattern is what stands before and after the number of the slot at the end of an instance name.
type slotPattern struct {
	before, after string
}

func newSlotPattern(pattern string) (slotPattern, error) {
	before, after, found := strings.Cut(pattern, "#")
	if !found || strings.Contains(after, "#") {
		return slotPattern{}, fmt.Errorf("a pattern has one # where the number of the slot stands, as in -#; it is %s", pattern)
	}
	if strings.TrimRight(before, digits) != before || strings.TrimLeft(after, digits) != after {
		return slotPattern{}, fmt.Errorf("a pattern has no digit next to its #; it is %s", pattern)
	}
	return slotPattern{before, after}, nil
}

// slotOf is the slot of a client, -1 if its id has none.
func (p slotPattern) slotOf(clientID string) int {
	parts := strings.SplitN(clientID, "@", 3)
	if len(parts) < 2 || !strings.HasSuffix(parts[1], p.after) {
		return -1
	}
	name := strings.TrimSuffix(parts[1], p.after)
	before := strings.TrimRight(name, digits)
	number := name[len(before):]
	leadingZero := len(number) > 1 && number[0] == '0'
	if number == "" || len(number) > mostDigits || leadingZero || !strings.HasSuffix(before, p.before) {
		return -1
	}
	slot, _ := strconv.Atoi(number) // nine digits fit
	return slot
}

// numbers are those of the clients: its slot if that is usable and nobody before has it, else one above all of these. Repeats
// of an id and empty ids have -1.
func (p slotPattern) numbers(clientIDs []string) []int {
	type repeat struct{ slot, position int }
	var repeats []repeat
	var others []int
	positions := distinct(clientIDs)
	numbers := filled(len(clientIDs), -1)
	taken := make([]bool, 4*len(positions)+64)
	next := 0
	for _, i := range positions {
		slot := p.slotOf(clientIDs[i])
		switch {
		case slot < 0 || slot >= len(taken):
			others = append(others, i)
		case taken[slot]:
			repeats = append(repeats, repeat{slot, i})
		default:
			taken[slot] = true
			numbers[i] = slot
			next = max(next, slot+1)
		}
	}
	sort.SliceStable(repeats, func(i, j int) bool { return repeats[i].slot < repeats[j].slot })
	for _, one := range repeats {
		numbers[one.position] = next
		next++
	}
	for _, i := range others {
		numbers[i] = next
		next++
	}
	return numbers
}
