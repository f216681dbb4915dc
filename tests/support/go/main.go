// Asks client-go's own strategy functions. A line of input is one group, a line of output what every client that is asked takes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

type group struct {
	Strategy     string          `json:"strategy"`
	VirtualNodes int             `json:"virtual_nodes"`
	MachineRooms []string        `json:"machine_rooms"`
	Queues       [][]interface{} `json:"queues"`
	Clients      []string        `json:"clients"`
	Asked        []string        `json:"asked"`
}

// The positions of the queues that each client takes, or what it panics with.
type answer struct {
	Taken [][]int `json:"taken"`
	Panic string  `json:"panic,omitempty"`
}

func strategyOf(one group) consumer.AllocateStrategy {
	switch one.Strategy {
	case "AVG":
		return consumer.AllocateByAveragely
	case "AVG_BY_CIRCLE":
		return consumer.AllocateByAveragelyCircle
	case "CONSISTENT_HASH":
		return consumer.AllocateByConsistentHash(one.VirtualNodes)
	case "MACHINE_ROOM":
		return consumer.AllocateByMachineRoom(one.MachineRooms)
	case "MACHINE_ROOM_NEARBY":
		return consumer.AllocateByMachineNearby
	}
	panic("no strategy " + one.Strategy)
}

func queuesOf(one group) []*primitive.MessageQueue {
	queues := make([]*primitive.MessageQueue, len(one.Queues))
	for i, fields := range one.Queues {
		queues[i] = &primitive.MessageQueue{
			Topic: fields[0].(string), BrokerName: fields[1].(string), QueueId: int(fields[2].(float64)),
		}
	}
	return queues
}

func ask(one group) (found answer) {
	defer func() {
		if said := recover(); said != nil {
			found = answer{Panic: fmt.Sprint(said)}
		}
	}()
	queues, allocate := queuesOf(one), strategyOf(one)
	position := make(map[*primitive.MessageQueue]int, len(queues))
	for i, queue := range queues {
		position[queue] = i
	}
	found.Taken = make([][]int, len(one.Asked))
	for i, client := range one.Asked {
		found.Taken[i] = []int{}
		for _, queue := range allocate("group", client, queues, one.Clients) {
			found.Taken[i] = append(found.Taken[i], position[queue])
		}
	}
	return found
}

func main() {
	rlog.SetLogLevel("fatal")
	lines, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	decoder, encoder := json.NewDecoder(lines), json.NewEncoder(out)
	for decoder.More() {
		var one group
		if err := decoder.Decode(&one); err != nil {
			panic(err)
		}
		if err := encoder.Encode(ask(one)); err != nil {
			panic(err)
		}
	}
	if err := out.Flush(); err != nil {
		panic(err)
	}
}
