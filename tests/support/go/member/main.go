// A push consumer of client-go in a group of a running cluster, until its standard input ends.
//
//	member NAMESERVER GROUP TOPIC INSTANCE STRATEGY
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func strategy(name string) consumer.AllocateStrategy {
	switch name {
	case "AVG":
		return consumer.AllocateByAveragely
	case "AVG_BY_CIRCLE":
		return consumer.AllocateByAveragelyCircle
	case "CONSISTENT_HASH":
		return consumer.AllocateByConsistentHash(10)
	}
	panic("unknown strategy " + name)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	nameServer, group, topic, instance, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	rlog.SetLogLevel("error")
	made, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer([]string{nameServer}),
		consumer.WithGroupName(group),
		consumer.WithInstance(instance),
		consumer.WithStrategy(strategy(name)),
	)
	check(err)
	listen := func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		return consumer.ConsumeSuccess, nil
	}
	check(made.Subscribe(topic, consumer.MessageSelector{}, listen))
	check(made.Start())
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	check(made.Shutdown())
}
