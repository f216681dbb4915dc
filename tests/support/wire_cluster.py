"""A name server and brokers on loopback, in the loop of a test: RocketMQ's frames over the
product's own broker half.

They hold messages, answer long polls, take heartbeats, locks, offsets and what is sent back, and
notify members; a test may freeze a broker, break its connections, or delay what it answers.
"""

import asyncio
import itertools
import json
import struct
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field

from rmqalloc import MessageQueue
from rmqalloc.broker import Broker
from rmqalloc.client._asyncio_driver import LoopClock
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    BrokerData,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    QueueData,
    ResponseCode,
    ResponseError,
    SubscriptionData,
    TopicRouteData,
)
from rmqalloc.remoting.frames import ONEWAY, RESPONSE, Command, decode, encode

MAGIC = -626843481
FOUND, NOT_FOUND, MOVED = 0, 19, 21


CLOSED, SILENT, GARBAGE = "closed", "silent", "garbage"
"""What a server may do in place of an answer: close the connection, wait, send what nobody can read."""


def refused_by(server, code):
    """The answer to a request that a test refuses, None to others."""
    how = server.refused.get(code)
    if isinstance(how, str):
        return Command({CLOSED: -1, SILENT: -2}.get(how, 0), 0, {"offset": "?"}, b"<html>")
    return None if how is None else Command(how, remark="refused by the test")


def send_answer(writer, command, answer):
    """Answer a request, or do what `refused_by` says."""
    if answer.code == -1:
        writer.close()
    elif answer.code != -2:
        fields, body = answer.ext_fields, answer.body
        writer.write(
            encode(Command(answer.code, command.opaque, fields, body, answer.remark, RESPONSE))
        )


@dataclass
class Stored:
    """A message in a broker's log."""

    body: bytes
    tag: str | None = None
    reconsume_times: int = 0
    properties: dict = field(default_factory=dict)
    stored_at: int = 2_000


class WireChannel:
    """One connection of a member, as the broker half sees it."""

    def __init__(self, writer):
        self.writer, self.numbers, self.answers = writer, itertools.count(1), {}

    def notify_consumer_ids_changed(self, consumer_group):
        self.send(40, {"consumerGroup": consumer_group}, flag=ONEWAY)

    def close(self):
        self.writer.close()

    def send(self, code, fields, body=b"", flag=0):
        number = next(self.numbers)
        self.writer.write(encode(Command(code, number, fields, body, flag=flag)))
        return number

    async def ask(self, code, fields, body=b""):
        """The member's answer to a request of its broker."""
        self.answers[self.send(code, fields, body)] = answer = (
            asyncio.get_running_loop().create_future()
        )
        return await asyncio.wait_for(answer, 120)


class WireBroker:
    """One broker: the product's broker half, a log per queue, and what goes wrong."""

    def __init__(self, cluster, name):
        self.name, self.cluster = name, cluster
        self.half = Broker(
            name, LoopClock(asyncio.get_running_loop()), DEFAULT_PROFILE, topic_route=cluster.route
        )
        self.logs = defaultdict(list)
        self.first = defaultdict(int)
        """Offset of the first message that is kept, by queue."""
        self.asked = []
        """Codes and fields of requests, as they came."""
        self.frozen, self.slow = asyncio.Event(), set()
        self.frozen.set()
        self.refused = {}
        """Codes of answers, by code of request; or CLOSED, SILENT, GARBAGE."""
        self.checked = []
        """Bodies of requests to check a subscription."""
        self.channels, self.arrived = {}, asyncio.Condition()
        self.suggested = "0"
        self.waiting = 0
        """Pulls that wait for messages."""
        self.instead = None
        """What serves connections in place of this broker, as in `hostile_ports`."""

    def freeze(self):
        """Take requests and answer none, as after SIGSTOP; codes in ``slow`` alone if there are
        any.
        """
        self.frozen.clear()

    def thaw(self):
        self.frozen.set()

    def drop_connections(self):
        """Close all connections, as a broker that restarts."""
        for channel in list(self.channels.values()):
            channel.close()

    async def put(self, queue, *messages):
        """Append messages, and wake who waits for them."""
        self.logs[queue].extend(messages)
        async with self.arrived:
            self.arrived.notify_all()

    def count(self, code):
        return sum(asked == code for asked, _ in self.asked)

    def client_ids(self, consumer_group):
        """Client ids of a group, none where there is no such group."""
        try:
            return sorted(self.half.consumers.consumer_ids(consumer_group))
        except ResponseError:
            return []

    async def serve(self, reader, writer):
        if self.instead is not None:
            await self.instead(reader, writer)
            return
        channel = WireChannel(writer)
        self.channels[id(channel)] = channel
        tasks = set()
        try:
            while True:
                command = decode(
                    await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
                )
                if command.is_response:
                    channel.answers.pop(command.opaque).set_result(command)
                    continue
                self.asked.append((command.code, command.ext_fields))
                task = asyncio.create_task(self._answer(channel, command))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            for task in tasks:
                task.cancel()
            self.channels.pop(id(channel), None)
            self.half.consumers.channel_closed(channel)
            writer.close()

    async def _answer(self, channel, command):
        if not self.slow or command.code in self.slow:
            await self.frozen.wait()
        try:
            answer = refused_by(self, command.code) or await getattr(self, f"_on_{command.code}")(
                channel, command.ext_fields, command.body
            )
        except ResponseError as error:
            answer = Command(error.code, remark=error.remark)
        if not command.flag & ONEWAY:
            send_answer(channel.writer, command, answer)

    # --- Requests ---

    async def _on_34(self, channel, _fields, body):
        reply = self.half.heartbeat(channel, heartbeat_of(json.loads(body)))
        said = {"IS_SUPPORT_HEART_BEAT_V2": str(reply.supports_v2).lower(),
                "IS_SUB_CHANGE": str(reply.subscriptions_changed).lower()}  # fmt: skip
        return Command(0, ext_fields=said)

    async def _on_35(self, channel, fields, _body):
        self.half.unregister_client(channel, fields["clientID"], fields["consumerGroup"])
        return Command(0)

    async def _on_46(self, _channel, _fields, body):
        self.checked.append(json.loads(body))
        return Command(0)

    async def _on_38(self, _channel, fields, _body):
        ids = self.half.consumers.consumer_ids(fields["consumerGroup"])
        return Command(0, body=json.dumps({"consumerIdList": list(ids)}).encode())

    async def _on_41(self, _channel, _fields, body):
        asked = json.loads(body)
        held = self.half.lock_batch(
            asked["consumerGroup"], asked["clientId"], queues_of(asked["mqSet"])
        )
        return Command(
            0, body=json.dumps({"lockOKMQSet": [as_json(queue) for queue in held]}).encode()
        )

    async def _on_42(self, _channel, _fields, body):
        asked = json.loads(body)
        self.half.unlock_batch(asked["consumerGroup"], asked["clientId"], queues_of(asked["mqSet"]))
        return Command(0)

    async def _on_400(self, _channel, _fields, body):
        asked = json.loads(body)
        found = self.half.query_assignment(asked["topic"], asked["consumerGroup"], asked["clientId"],
                                           asked["strategyName"], MessageModel(asked["messageModel"]))  # fmt: skip
        said = [{"messageQueue": as_json(one.queue), "mode": one.mode.value} for one in found]
        return Command(0, body=json.dumps({"messageQueueAssignments": said}).encode())

    async def _on_14(self, _channel, fields, _body):
        offset = self.cluster.offsets.get((fields["consumerGroup"], self._queue(fields)))
        if offset is None:
            raise ResponseError(ResponseCode.QUERY_NOT_FOUND, "not found")
        return Command(0, ext_fields={"offset": str(offset)})

    async def _on_15(self, _channel, fields, _body):
        self.cluster.offsets[fields["consumerGroup"], self._queue(fields)] = int(
            fields["commitOffset"]
        )
        return Command(0)

    async def _on_30(self, _channel, fields, _body):
        return Command(0, ext_fields={"offset": str(len(self.logs[self._queue(fields)]))})

    async def _on_29(self, _channel, fields, _body):
        log, timestamp = self.logs[self._queue(fields)], int(fields["timestamp"])
        offset = bisect_left([stored.stored_at for stored in log], timestamp)
        return Command(0, ext_fields={"offset": str(offset)})

    async def _on_36(self, _channel, fields, _body):
        self.cluster.sent_back.append(dict(fields))
        queue, offset = self.cluster.place(int(fields["offset"]))
        stored = self.cluster.brokers[queue.broker_name].logs[queue][offset]
        retry = MessageQueue(RETRY_PREFIX + fields["group"], self.name, 0)
        if int(fields["delayLevel"]) >= 0:
            again = Stored(
                stored.body,
                stored.tag,
                stored.reconsume_times + 1,
                {"RETRY_TOPIC": fields["originTopic"]},
            )
            await self.put(retry, again)
        return Command(0)

    async def _on_11(self, _channel, fields, _body):
        queue, offset = self._queue(fields), int(fields["queueOffset"])
        if int(fields["sysFlag"]) & 1:
            self.cluster.offsets[fields["consumerGroup"], queue] = int(fields["commitOffset"])
        log = self.logs[queue]
        if not self.first[queue] <= offset <= len(log):
            return self._pulled(MOVED, min(max(offset, self.first[queue]), len(log)), queue)
        if offset == len(log) and int(fields["sysFlag"]) & 2:
            self.waiting += 1
            try:
                await self._wait(queue, offset, int(fields["suspendTimeoutMillis"]) / 1000)
            finally:
                self.waiting -= 1
        end = min(len(log), offset + int(fields["maxMsgNums"]))
        if end == offset:
            return self._pulled(NOT_FOUND, offset, queue)
        body = b"".join(self._encoded(queue, at, log[at]) for at in range(offset, end))
        return self._pulled(FOUND, end, queue, body)

    async def _wait(self, queue, offset, seconds):
        async with self.arrived:
            try:
                async with asyncio.timeout(min(seconds, self.cluster.longest_poll)):
                    await self.arrived.wait_for(lambda: len(self.logs[queue]) > offset)
            except TimeoutError:
                pass

    def _pulled(self, code, following, queue, body=b""):
        said = {"nextBeginOffset": str(following), "minOffset": str(self.first[queue]),
                "maxOffset": str(len(self.logs[queue])), "suggestWhichBrokerId": self.suggested}  # fmt: skip
        return Command(code, ext_fields=said, body=body)

    def _queue(self, fields):
        return MessageQueue(fields["topic"], self.name, int(fields["queueId"]))

    def _encoded(self, queue, offset, stored):
        properties = dict(stored.properties, **({"TAGS": stored.tag} if stored.tag else {}))
        return message_bytes(
            queue, offset, self.cluster.log_offset(queue, offset), stored, properties
        )


class WireCluster:
    """A name server and brokers; an asynchronous context manager.

    Parameters
    ----------
    topics : dict of str to int
        Queues per broker, by topic.
    brokers : int
    """

    broker_class = WireBroker

    def __init__(self, topics=None, brokers=1):
        self._topics, self._n_brokers = topics or {"orders": 4}, brokers
        self.brokers, self.offsets, self.sent_back, self.addresses = {}, {}, [], {}
        self.slaves = {}
        """Broker that serves as a slave, by the name of its master."""
        self.longest_poll = 0.2
        self.refused = {}
        """As that of a broker, for the name server."""
        self._places, self._numbers = {}, {}
        self._servers = []

    async def __aenter__(self):
        for i in range(self._n_brokers):
            name = f"broker-{'abcdef'[i]}"
            broker = self.brokers[name] = self.broker_class(self, name)
            for topic, n_queues in self._topics.items():
                broker.half.topics[topic] = QueueData(name, n_queues, n_queues)
            self.addresses[name] = await self._listen(broker.serve)
        self.name_server = await self._listen(self._name)
        return self

    async def __aexit__(self, *_error):
        for broker in self.brokers.values():
            broker.thaw()
            broker.drop_connections()
        for server in self._servers:
            server.close()

    async def _listen(self, serve):
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self._servers.append(server)
        return f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _name(self, reader, writer):
        try:
            while True:
                command = decode(
                    await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
                )
                send_answer(
                    writer, command, refused_by(self, command.code) or self._route_of(command)
                )
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _route_of(self, command):
        route = self.route(command.ext_fields["topic"])
        if route is None:
            return Command(ResponseCode.TOPIC_NOT_EXIST, remark="no such topic")
        return Command(0, body=json.dumps(route_json(route)).encode())

    def route(self, topic):
        holders = [broker for broker in self.brokers.values() if topic in broker.half.topics]
        if not holders:
            return None
        datas = tuple(BrokerData(broker.name, self._servers_of(broker.name)) for broker in holders)
        return TopicRouteData(tuple(broker.half.topics[topic] for broker in holders), datas)

    def _servers_of(self, name):
        slave = self.slaves.get(name)
        return {0: self.addresses[name]} | ({} if slave is None else {1: self.addresses[slave]})

    def queues(self, topic="orders"):
        return sorted(self.route(topic).readable_queues(topic))

    async def put(self, queue, *bodies, tag=None):
        await self.brokers[queue.broker_name].put(queue, *(Stored(body, tag) for body in bodies))

    def log_offset(self, queue, offset):
        """A number that stands for a message, as its place in the commit log does."""
        number = self._numbers.setdefault((queue, offset), len(self._numbers) + 1)
        self._places[number] = (queue, offset)
        return number

    def place(self, number):
        return self._places[number]

    def stored(self, group, topic="orders"):
        return {
            queue: offset
            for (one, queue), offset in self.offsets.items()
            if one == group and queue.topic == topic
        }


def message_bytes(queue, offset, log_offset, stored, properties):
    """Java's ``MessageDecoder.encode``."""
    topic = queue.topic.encode()
    text = "".join(f"{key}\x01{value}\x02" for key, value in properties.items()).encode()
    host = bytes([127, 0, 0, 1]) + (10911).to_bytes(4)
    rest = struct.pack(">iiii", MAGIC, 0, queue.queue_id, 0) + struct.pack(
        ">qqi", offset, log_offset, 0
    )
    rest += struct.pack(">q8sq8siq", 1_000, host, stored.stored_at, host, stored.reconsume_times, 0)
    rest += struct.pack(">i", len(stored.body)) + stored.body + bytes([len(topic)]) + topic
    rest += struct.pack(">h", len(text)) + text
    return struct.pack(">i", len(rest) + 4) + rest


def queues_of(found):
    return [MessageQueue(one["topic"], one["brokerName"], one["queueId"]) for one in found]


def as_json(queue):
    return {"topic": queue.topic, "brokerName": queue.broker_name, "queueId": queue.queue_id}


def route_json(route):
    return {
        "queueDatas": [{"brokerName": one.broker_name, "readQueueNums": one.read_queue_nums, "perm": one.perm,
                        "writeQueueNums": one.write_queue_nums, "topicSysFlag": 0} for one in route.queue_datas],
        "brokerDatas": [{"cluster": one.cluster, "brokerName": one.broker_name,
                         "brokerAddrs": {str(number): where for number, where in one.addresses.items()}}
                        for one in route.broker_datas],
    }  # fmt: skip


def heartbeat_of(said):
    """The product's own data of Java's ``HeartbeatData``."""
    consumers = tuple(
        ConsumerData(
            one["groupName"], ConsumeType(one["consumeType"]), MessageModel(one["messageModel"]),
            ConsumeFromWhere(one["consumeFromWhere"]),
            frozenset(SubscriptionData(each["topic"], each["subString"], each["subVersion"])
                      for each in one["subscriptionDataSet"]),
            one["unitMode"],
        )
        for one in said["consumerDataSet"]
    )  # fmt: skip
    return HeartbeatData(
        said["clientID"],
        consumers,
        said.get("heartbeatFingerprint", 0),
        said.get("withoutSub", False),
    )
