"""Check a client half with recorded sequences: those of the level "simple" in the given file.

docs/authors/conformance.md describes the lines. A checker of another client has the same parts: a stub that
answers requests and records them, a clock that only moves on command, and a loop over events.
"""

import gzip
import json
import sys
from random import Random

from rmqalloc import strategy
from rmqalloc.rebalance import ClientIdentity, MQClientManager, PushConsumer
from rmqalloc.remoting import (
    PROFILES,
    BrokerData,
    ConsumeFromWhere,
    QueueData,
    RemotingError,
    ResponseError,
    TopicRouteData,
)
from rmqalloc.simulation import VirtualClock

USUAL = {
    "route": {"code": 17},
    "stored": {"code": 22},
    "clients": {"code": 1},
    "max": {"offset": 100},
}


def text(queue):
    """Return a queue in the form of the lines."""
    return f"{queue.topic}|{queue.broker_name}|{queue.queue_id}"


def texts(queues):
    """Return queues in order."""
    return [text(queue) for queue in sorted(queues)]


class Draws(Random):
    """The one random choice: the broker that is asked for the clients of a group."""

    def __init__(self, seed):
        super().__init__()
        self.state = seed

    def choice(self, seq):
        """Return one of several values."""
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return seq[(self.state >> 8) % len(seq)]


class Stub:
    """Answers requests as a line states, and records them; also in place of the puller."""

    def __init__(self, answers):
        self.clock, self.seen = VirtualClock(), []
        self.answers = {(one["what"], one["key"]): one["answer"] for one in answers}

    def see(self, *line):
        """Record an event."""
        self.seen.append([self.clock.elapsed(), *line])

    def ask(self, what, key, address, *line, oneway=False):
        """Return the line's answer to a request, or raise its error."""
        self.see(what, *line)
        answer = self.answers.get((what, key), USUAL.get(what, {}))
        if answer.get("lost") or self.answers.get(("down", address), {}).get("lost"):
            raise RemotingError("lost")
        if "code" in answer and not oneway:
            raise ResponseError(answer["code"], "refused")
        return answer

    def topic_route(self, topic):
        """Code 105."""
        body = self.ask("route", topic, None, "10.0.0.1@x", topic)["body"]
        queues = [
            QueueData(q["brokerName"], q["readQueueNums"], q["writeQueueNums"], q["perm"])
            for q in body["queueDatas"]
        ]
        brokers = [(one["brokerName"], one["brokerAddrs"].items()) for one in body["brokerDatas"]]
        return TopicRouteData(
            tuple(queues),
            tuple(BrokerData(name, {int(i): at for i, at in ids}) for name, ids in brokers),
        )

    def send_heartbeat(self, address, heartbeat):
        """Code 34."""
        groups = []
        for one in heartbeat.consumers:
            subscriptions = sorted(
                [each.topic, each.sub_string, each.sub_version] for each in one.subscriptions
            )
            what = one.consume_type.value, one.message_model.value, one.consume_from_where.value
            groups.append([one.consumer_group, *what, one.unit_mode, subscriptions])
        self.ask(
            "heartbeat",
            address,
            address,
            heartbeat.client_id,
            address,
            [heartbeat.client_id, False, groups],
        )

    def unregister_client(self, address, client_id, group):
        """Code 35."""
        self.ask("unregister", address, address, client_id, address, client_id, group)

    def consumer_ids(self, address, group):
        """Code 38."""
        answer = self.ask("clients", group, address, "10.0.0.1@x", address, group)
        return (
            answer["body"]["consumerIdList"]
            if "body" in answer
            else self.ask("clients", group, address)
        )

    def lock_batch(self, address, group, client_id, queues, timeout):
        """Code 41."""
        answer = self.ask(
            "lock", address, address, client_id, address, group, client_id, texts(queues), timeout
        )
        return (
            set()
            if answer.get("refuses all")
            else {q for q in queues if text(q) not in answer.get("refused", ())}
        )

    def unlock_batch(self, address, group, client_id, queues, oneway):
        """Code 42."""
        self.ask(
            "unlock",
            address,
            address,
            client_id,
            address,
            group,
            client_id,
            texts(queues),
            oneway,
            oneway=oneway,
        )

    def query_offset(self, address, group, queue):
        """Code 14."""
        line = "10.0.0.1@x", address, group, text(queue)
        return self.ask("stored", f"{group} {text(queue)}", address, *line)["offset"]

    def update_offset(self, address, group, queue, offset):
        """Code 15."""
        self.ask(
            "commit",
            address,
            address,
            "10.0.0.1@x",
            address,
            group,
            text(queue),
            offset,
            True,
            oneway=True,
        )

    def max_offset(self, address, queue):
        """Code 30."""
        return self.ask("max", text(queue), address, "10.0.0.1@x", address, text(queue))["offset"]

    def pull_later(self, request, delay):
        """Record that reading of a queue would begin."""
        self.see(
            "dispatch", request.consumer_group, text(request.queue), request.next_offset, delay
        )


def first_wrong(line):
    """Return the number of the first event after which requests or queues differ from Java's; None
    if there is none.
    """
    config = line["config"]
    given, stub = config["consumers"]["c0"], Stub(config["answers"])
    profile = PROFILES[line["release"][:3]]
    manager = MQClientManager(
        stub.clock, lambda factory: stub, profile=profile, random=Draws(config["seed"])
    )
    settings = {
        "strategy": strategy(given["strategy"]),
        "orderly": given["orderly"],
        "dispatcher": stub,
    }
    settings["consume_from_where"] = ConsumeFromWhere(given["from"])
    consumer = PushConsumer(
        manager, given["group"], identity=ClientIdentity(given["ip"], given["instance"]), **settings
    )
    for topic in given["topics"]:
        consumer.subscribe(topic)
    for number, (event, after) in enumerate(zip(line["events"], line["after"], strict=True)):
        match event["kind"]:
            case "answer":
                stub.answers[event["what"], event["key"]] = event["answer"]
            case "advance":
                stub.clock.run(until=stub.clock.now() + event["ms"])
            case "notice":
                consumer.client_factory.notify_consumer_ids_changed(given["group"])
            case kind:
                getattr(consumer, kind)()  # start, shutdown
        queues = {text(queue) for queue in consumer.rebalance.process_queue_table}
        seen, stub.seen = stub.seen, []
        if seen != after["seen"] or queues != set(after["consumers"]["c0"]["table"]):
            return number
    return None


def main():
    """Check all sequences of a file."""
    with gzip.open(sys.argv[1], "rt") as lines:
        simple = [line for line in map(json.loads, lines) if line["level"] == "simple"]
    wrong = [(line["seed"], number) for line in simple if (number := first_wrong(line)) is not None]
    print(
        f"{len(simple)} sequences, {sum(len(line['events']) for line in simple)} events: {len(wrong)} differ from Java"
    )
    for seed, number in wrong:
        print(f"seed {seed}: event {number}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
