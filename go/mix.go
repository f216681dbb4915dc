// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies

import (
	"unicode/utf16"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const golden = 0x9E3779B97F4A7C15

// javaHash is Java's String.hashCode, sign-extended to 64 bits.
func javaHash(text string) uint64 {
	var hash int32
	for _, unit := range utf16.Encode([]rune(text)) {
		hash = 31*hash + int32(unit)
	}
	return uint64(int64(hash))
}

// mix64 is the finalizer of SplitMix64.
func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// fmix32 is the finalizer of Murmur3.
func fmix32(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85EBCA6B
	h = (h ^ h>>13) * 0xC2B2AE35
	return h ^ h>>16
}

// below is one of n numbers from 0 on, by the upper half of a random number.
func below(random uint64, n int) int {
	return int((random >> 32) * uint64(n) >> 32)
}

// queueNumbers are the random numbers of the queues of a topic. Each depends on its queue alone, never on the position.
func queueNumbers(queues []*primitive.MessageQueue) []uint64 {
	topic := mix64(javaHash(queues[0].Topic))
	numbers := make([]uint64, len(queues))
	for q, queue := range queues {
		numbers[q] = mix64(topic + javaHash(queue.BrokerName)<<32 + uint64(uint32(queue.QueueId)))
	}
	return numbers
}
