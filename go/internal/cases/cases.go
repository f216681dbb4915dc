// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

// Package cases reads groups from lines, for the vectors and for comparisons; tests/support/strategy_vectors.py describes them.
package cases

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	strategies "github.com/rmqalloc/rmqalloc/go"
)

// A Case is one group, and the owners that its line states.
type Case struct {
	Strategy  strategies.Strategy
	Queues    []*primitive.MessageQueue
	ClientIDs []string
	Stated    string
}

// Read makes a case of a line.
func Read(line string) (Case, error) {
	fields := strings.Split(line, "\t")
	parameters := map[string]string{}
	for _, parameter := range strings.Split(fields[1], ";") {
		name, value, _ := strings.Cut(parameter, "=")
		parameters[name] = decoded(value)
	}
	one := Case{}
	for _, queue := range strings.Split(fields[3], ",") {
		broker, number, _ := strings.Cut(queue, ":")
		id, err := strconv.Atoi(number)
		if err != nil {
			return one, err
		}
		one.Queues = append(one.Queues,
			&primitive.MessageQueue{Topic: decoded(fields[2]), BrokerName: decoded(broker), QueueId: id})
	}
	for _, id := range strings.Split(fields[4], ",") {
		one.ClientIDs = append(one.ClientIDs, decoded(id))
	}
	if len(fields) > 5 {
		one.Stated = fields[5]
	}
	var err error
	one.Strategy, err = strategy(fields[0], parameters)
	return one, err
}

func strategy(name string, parameters map[string]string) (strategies.Strategy, error) {
	pattern, given := parameters["pattern"]
	if !given {
		pattern = "-#"
	}
	switch {
	case name == "ORDINAL" && parameters["tables"] != "":
		return strategies.OrdinalByTables(pattern)
	case name == "ORDINAL" && given:
		return strategies.OrdinalWithPattern(pattern)
	case name == "ORDINAL":
		return strategies.Ordinal(), nil
	case name == "ORDINAL/2" && given:
		return strategies.Ordinal2WithPattern(pattern)
	case name == "ORDINAL/2":
		return strategies.Ordinal2(), nil
	case name == "STABLE" && parameters["slack"] == "1":
		return strategies.StableWithSlack(), nil
	case name == "STABLE":
		return strategies.Stable(), nil
	default:
		return nil, fmt.Errorf("unknown strategy: %s", name)
	}
}

// Owners are the positions of the owners in the client list, as text: what clients are given who ask one by one.
func (c Case) Owners() string {
	owners := make([]string, len(c.Queues))
	for q := range owners {
		owners[q] = "-1"
	}
	position := map[*primitive.MessageQueue]int{}
	for q, queue := range c.Queues {
		position[queue] = q
	}
	asked := map[string]bool{}
	for i, id := range c.ClientIDs {
		if asked[id] {
			continue
		}
		asked[id] = true
		for _, queue := range c.Strategy("group", id, c.Queues, c.ClientIDs) {
			q := position[queue]
			if owners[q] != "-1" {
				panic(fmt.Sprintf("queue %d has two owners", q))
			}
			owners[q] = strconv.Itoa(i)
		}
	}
	return strings.Join(owners, ",")
}

// decoded is a text whose UTF-16 code units are written as \u and four digits where they are not plain.
func decoded(text string) string {
	var units []uint16
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			unit, _ := strconv.ParseUint(text[i+2:i+6], 16, 16)
			units = append(units, uint16(unit))
			i += 5
		} else {
			units = append(units, uint16(text[i]))
		}
	}
	return string(utf16.Decode(units))
}
