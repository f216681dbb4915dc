"""A large cluster of which a broker is frozen: `loopback` with many topics, each group dividing a topic
by AVG, and requests counted by the second.
"""

import json
import time
from collections import Counter

from loopback import Loopback, running_info

from rmqalloc.remoting.read_codes import ReadCode

BROKERS = tuple(f"broker-{i}" for i in range(4))
FROZEN = BROKERS[-1]
QUEUES_PER_BROKER, CLIENTS, GROUPS_PER_TOPIC = 4, 4, 5
NAME_SERVER = "name server"


def topic_of(group):
    """Return the topic of a group by the group's name."""
    return f"topic-{int(group[6:]) // GROUPS_PER_TOPIC:05}"


def client_id(group, i):
    """Return the id of a client as Java makes them."""
    return f"10.{group >> 8 & 255}.{group & 255}.{i}@{10_000 + group}#82731{group:05}{i}"


class Requests(dict):
    """Requests of each server by the second; takes what `Loopback` notes of each."""

    def append(self, request):
        """Count a request."""
        self.setdefault(request[0], Counter())[int(time.monotonic())] += 1


class Servers(Loopback):
    """Four brokers; the last takes requests and never answers."""

    def __init__(self, n_groups):
        groups = {
            f"group-{number:05}": [client_id(number, i) for i in range(CLIENTS)]
            for number in range(n_groups)
        }
        more = {ReadCode.GET_CONSUME_STATS: self._offsets}
        super().__init__(len(BROKERS), groups, frozen=(FROZEN,), more=more)
        self.asked = Requests()

    def get_all_topic_list_from_name_server(self, _fields):
        return json.dumps({"topicList": sorted({*map(topic_of, self.groups)})})

    def get_consumer_connection_list(self, fields):
        body = json.loads(super().get_consumer_connection_list(fields))
        topic = topic_of(fields["consumerGroup"])
        body["subscriptionTable"] = {topic: {"subString": "*", "topic": topic}}
        return json.dumps(body)

    def get_route_info_by_topic(self, _fields):
        queues = {"readQueueNums": QUEUES_PER_BROKER, "writeQueueNums": QUEUES_PER_BROKER}
        return json.dumps(
            {"queueDatas": [{"brokerName": name, "perm": 6, **queues} for name in BROKERS]}
        )

    def get_consumer_running_info(self, fields):
        """By AVG a client has the queues of one broker."""
        topic, broker = topic_of(fields["consumerGroup"]), BROKERS[int(fields["clientId"][-1])]
        said = running_info(range(QUEUES_PER_BROKER), topic)
        return said.replace('"broker-0"', f'"{broker}"')

    def _offsets(self, broker, request):
        """Offsets of the queues at a broker; they grow at each reading."""
        topic, at = topic_of(request.ext_fields["consumerGroup"]), int(time.monotonic())
        entries = ",".join(
            f'{{"brokerName":"{broker}","queueId":{i},"topic":"{topic}"}}:{{"brokerOffset":{at + i},'
            f'"consumerOffset":{at},"lastTimestamp":{1795247990144 + at},"pullOffset":{at}}}'
            for i in range(QUEUES_PER_BROKER)
        )
        return f'{{"consumeTps":1.5,"offsetTable":{{{entries}}}}}'
