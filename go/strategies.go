// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

// Package strategies has allocation strategies for rocketmq-client-go that move few queues when clients come and go.
//
// Ordinal and Stable divide as the Java classes AllocateOrdinal and AllocateStable do, so that a group may have clients of both
// languages; docs/reference of rmqalloc specifies them. Both take queues and clients in the order in which client-go sorts
// them, which is Java's unless a name has characters beyond U+FFFF.
package strategies

import "github.com/apache/rocketmq-client-go/v2/primitive"

// Strategy is what consumer.WithStrategy takes: it returns the queues of one client of a group, of all queues of a topic.
type Strategy func(consumerGroup, currentCID string, mqAll []*primitive.MessageQueue,
	cidAll []string) []*primitive.MessageQueue

// owned makes a strategy of a function that finds the owners of all queues, as positions in the client list. As in
// client-go a client has no queues if there are none, or if it is not in the list.
func owned(owners func(queues []*primitive.MessageQueue, clientIDs []string) []int) Strategy {
	return func(_, currentCID string, mqAll []*primitive.MessageQueue, cidAll []string) []*primitive.MessageQueue {
		self := position(cidAll, currentCID)
		if currentCID == "" || len(mqAll) == 0 || self < 0 {
			return nil
		}
		own := []*primitive.MessageQueue{}
		for q, owner := range owners(mqAll, cidAll) {
			if owner == self {
				own = append(own, mqAll[q])
			}
		}
		return own
	}
}

func position(clientIDs []string, clientID string) int {
	for i, one := range clientIDs {
		if one == clientID {
			return i
		}
	}
	return -1
}

// distinct returns the positions of the ids that take part: not empty, and not there before.
func distinct(clientIDs []string) []int {
	seen := map[string]bool{"": true}
	positions := make([]int, 0, len(clientIDs))
	for i, id := range clientIDs {
		if !seen[id] {
			seen[id] = true
			positions = append(positions, i)
		}
	}
	return positions
}

// filled returns n numbers that are all the same.
func filled(n, value int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = value
	}
	return numbers
}
