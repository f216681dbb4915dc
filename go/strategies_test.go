// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

package strategies_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	strategies "github.com/rmqalloc/rmqalloc/go"
	"github.com/rmqalloc/rmqalloc/go/internal/cases"
)

var ids = []string{"ip@c-0", "ip@c-1", "ip@c-2"}

func queues(n int) []*primitive.MessageQueue {
	some := make([]*primitive.MessageQueue, n)
	for i := range some {
		some[i] = &primitive.MessageQueue{Topic: "orders", BrokerName: "broker-a", QueueId: i}
	}
	return some
}

func TestOwnersAreThoseOfTheVectors(t *testing.T) {
	for _, name := range []string{"ordinal", "ordinal-2", "stable"} {
		file, err := os.Open("../tests/data/" + name + "-vectors.tsv")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		n := 0
		for ; lines.Scan(); n++ {
			one, err := cases.Read(lines.Text())
			if err != nil {
				t.Fatal(err)
			}
			if owners := one.Owners(); owners != one.Stated {
				t.Errorf("owners are %s in\n%s", owners, lines.Text())
			}
		}
		if n < 60 {
			t.Errorf("%d vectors of %s", n, name)
		}
	}
}

func TestAClientThatIsNotInTheListHasNothing(t *testing.T) {
	for _, strategy := range []strategies.Strategy{strategies.Ordinal(), strategies.Ordinal2(), strategies.Stable(), strategies.StableWithSlack()} {
		for _, own := range [][]*primitive.MessageQueue{
			strategy("group", "stranger", queues(4), ids),
			strategy("group", "", queues(4), append([]string{""}, ids...)),
			strategy("group", ids[0], nil, ids),
			strategy("group", ids[0], queues(4), nil),
		} {
			if len(own) > 0 {
				t.Errorf("has %v", own)
			}
		}
	}
}

func TestTheTablesAreThoseOfThePythonPackage(t *testing.T) {
	theirs, err := os.ReadFile("../rmqalloc/strategies/ordinal-tables.txt")
	if err != nil {
		t.Fatal(err)
	}
	if ours, _ := os.ReadFile("ordinal-tables.txt"); !bytes.Equal(ours, theirs) {
		t.Error("copy rmqalloc/strategies/ordinal-tables.txt to go/")
	}
}

func TestInAGroupThatIsTooGreatForATableNobodyOwnsAnything(t *testing.T) {
	strategy, err := strategies.OrdinalByTables("-#")
	if err != nil {
		t.Fatal(err)
	}
	if own := strategy("group", "ip@c-0", queues(3), []string{"ip@c-0", "ip@c-4"}); len(own) > 0 {
		t.Errorf("has %v", own)
	}
	if own := strategy("group", "ip@c-0", queues(3), []string{"ip@c-0"}); len(own) != 3 {
		t.Errorf("has %v", own)
	}
}

func TestClientGoTakesTheStrategies(t *testing.T) {
	for _, strategy := range []strategies.Strategy{strategies.Ordinal(), strategies.Ordinal2(), strategies.Stable()} {
		consumer.WithStrategy(consumer.AllocateStrategy(strategy))
	}
}

func TestPatternsThatCannotBeAreRefused(t *testing.T) {
	for _, pattern := range []string{"", "-", "##", "1#", "#9"} {
		if _, err := strategies.OrdinalWithPattern(pattern); err == nil {
			t.Errorf("%q is taken", pattern)
		}
	}
}

func BenchmarkOrdinal(b *testing.B)  { benchmark(b, strategies.Ordinal()) }
func BenchmarkOrdinal2(b *testing.B) { benchmark(b, strategies.Ordinal2()) }
func BenchmarkStable(b *testing.B)   { benchmark(b, strategies.Stable()) }

// 1024 queues, 100 clients.
func benchmark(b *testing.B, strategy strategies.Strategy) {
	var many []string
	for slot := 0; slot < 100; slot++ {
		many = append(many, fmt.Sprintf("10.0.3.%d@consumer-%d", slot, slot))
	}
	all := queues(1024)
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		strategy("group", many[i%100], all, many)
	}
}
