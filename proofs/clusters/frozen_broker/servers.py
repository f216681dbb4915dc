"""A name server and four brokers, simulated on loopback: ``python -m clusters.frozen_broker.servers N``
serves N groups.

It prints the name server's address, and serves until its input ends; then it prints, by server, the
most requests of any second and how many there were. The last broker takes connections and requests
and never answers. Bodies have the form of RocketMQ 5's, key objects and all.
"""

import argparse
import asyncio
import json
import struct
import sys
import time
from collections import Counter
from functools import lru_cache

from rmqalloc.remoting.read_codes import ReadCode

BROKERS = tuple(f"broker-{i}" for i in range(4))
FROZEN = BROKERS[-1]
QUEUES_PER_BROKER, CLIENTS, GROUPS_PER_TOPIC = 4, 4, 5
NAME_SERVER = "name server"


def topic_of(group):
    """Return the topic of the i-th group."""
    return f"topic-{group // GROUPS_PER_TOPIC:05}"


def client_id(group, i):
    """Return the id of a client as Java makes them."""
    return f"10.{group >> 8 & 255}.{group & 255}.{i}@{10_000 + group}#82731{group:05}{i}"


@lru_cache(1 << 15)
def clients(group):
    """Return the body of a client list."""
    found = [
        {
            "clientAddr": f"10.0.0.{i}:40000",
            "clientId": client_id(group, i),
            "language": "JAVA",
            "version": 453,
        }
        for i in range(CLIENTS)
    ]
    topic = topic_of(group)
    subscription = {
        "classFilterMode": False,
        "codeSet": [],
        "expressionType": "TAG",
        "subString": "*",
        "tagsSet": [],
    }
    table = {topic: {**subscription, "topic": topic, "subVersion": 1795247990144}}
    return json.dumps({
        "connectionSet": found, "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING", "subscriptionTable": table,
    }).encode()  # fmt: skip


def offsets(group, broker, at):
    """Return the body of offsets; they grow at each reading."""
    entries = ",".join(
        f'{{"brokerName":"{broker}","queueId":{i},"topic":"{topic_of(group)}"}}:{{"brokerOffset":{at + i},'
        f'"consumerOffset":{at},"lastTimestamp":{1795247990144 + at},"pullOffset":{at}}}'
        for i in range(QUEUES_PER_BROKER)
    )
    return f'{{"consumeTps":1.5,"offsetTable":{{{entries}}}}}'.encode()


def running_info(group, client):
    """Return what a client says: by AVG it has the queues of one broker."""
    process = '{"cachedMsgCount":0,"commitOffset":4,"droped":false,"lastPullTimestamp":1795247990144,"locked":false}'
    topic, broker = topic_of(group), BROKERS[client]
    table = ",".join(
        f'{{"brokerName":"{broker}","queueId":{i},"topic":"{topic}"}}:{process}'
        for i in range(QUEUES_PER_BROKER)
    )
    return (
        f'{{"mqPopTable":{{}},"mqTable":{{{table}}},"properties":{{"PROP_CONSUMEORDERLY":"false","PROP_CONSUME_TYPE":'
        f'"CONSUME_PASSIVELY","clientRebalance":"true"}},"subscriptionSet":[{{"topic":"{topic}","subString":"*"}}]}}'
    ).encode()


class Cluster:
    """What all servers answer from."""

    def __init__(self, n):
        self.n, self.addresses, self.counts = n, {}, {}
        names = [f"group-{i:05}" for i in range(n)]
        settings = {
            one: {"groupName": one, "consumeEnable": True, "attributes": {}, "retryMaxTimes": 16}
            for one in names
        }
        self.settings = json.dumps({"subscriptionGroupTable": settings}).encode()
        self.topics = json.dumps({"topicList": sorted({topic_of(i) for i in range(n)})}).encode()
        queues = {
            "readQueueNums": QUEUES_PER_BROKER,
            "writeQueueNums": QUEUES_PER_BROKER,
            "perm": 6,
        }
        self.route = json.dumps(
            {"queueDatas": [{"brokerName": one, **queues} for one in BROKERS]}
        ).encode()

    def answer(self, server, code, fields):
        """Return the body that a server answers."""
        if code == ReadCode.GET_CONSUMER_CONNECTION_LIST:
            return clients(int(fields["consumerGroup"][6:]))
        if code == ReadCode.GET_CONSUME_STATS:
            return offsets(int(fields["consumerGroup"][6:]), server, int(time.monotonic()))
        if code == ReadCode.GET_CONSUMER_RUNNING_INFO:
            return running_info(int(fields["consumerGroup"][6:]), int(fields["clientId"][-1]))
        if code == ReadCode.GET_ROUTE_INFO_BY_TOPIC:
            return self.route
        if code == ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG:
            return self.settings
        if code == ReadCode.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER:
            return self.topics
        table = {
            one: {
                "brokerAddrs": {"0": self.addresses[one]},
                "brokerName": one,
                "cluster": "simulated",
            }
            for one in BROKERS
        }
        return json.dumps(
            {"brokerAddrTable": table, "clusterAddrTable": {"simulated": list(BROKERS)}}
        ).encode()


class Server(asyncio.Protocol):
    """One connection to one of the servers."""

    def __init__(self, cluster, name):
        self.cluster, self.name, self.rest = cluster, name, b""
        self.counts = cluster.counts.setdefault(name, Counter())

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        data, at, found = self.rest + data, 0, []
        while len(data) - at >= 4 and len(data) - at >= 4 + (
            length := int.from_bytes(data[at : at + 4])
        ):
            header = at + 8 + int.from_bytes(data[at + 5 : at + 8])
            found.append(self.answer(json.loads(data[at + 8 : header])))
            at += 4 + length
        self.rest = data[at:]
        if self.name != FROZEN:
            self.transport.write(b"".join(found))

    def answer(self, request):
        """Return the frame of an answer."""
        self.counts[int(time.monotonic())] += 1
        if self.name == FROZEN:
            return b""
        body = self.cluster.answer(self.name, request["code"], request["extFields"])
        head = (
            b'{"code":0,"flag":1,"language":"JAVA","opaque":%d,"version":479}' % request["opaque"]
        )
        return struct.pack(">ii", 4 + len(head) + len(body), len(head)) + head + body


async def serve(n):
    """Serve until the input ends; print what is to be known."""
    loop, cluster = asyncio.get_running_loop(), Cluster(n)
    servers = []
    for name in (NAME_SERVER, *BROKERS):
        server = await loop.create_server(lambda name=name: Server(cluster, name), "127.0.0.1", 0)
        servers.append(server)
        cluster.addresses[name] = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    print(cluster.addresses[NAME_SERVER], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()
    most = {name: max(counts.values(), default=0) for name, counts in cluster.counts.items()}
    print(
        json.dumps(
            {
                "most": most,
                "requests": {name: sum(one.values()) for name, one in cluster.counts.items()},
            }
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="clusters.frozen_broker.servers", description=__doc__)
    parser.add_argument("groups", type=int)
    asyncio.run(serve(parser.parse_args().groups))
