"""Made-up clusters, printed as mqadmin of several releases prints them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from damaged_outputs import Files, OutputFile

from rmqalloc import MessageQueue
from rmqalloc.model import RETRY_PREFIX

Release = tuple[int, int, int]

RELEASES: tuple[Release, ...] = (
    (3, 2, 6),
    (4, 0, 0),
    (4, 5, 2),
    (4, 9, 2),
    (4, 9, 3),
    (4, 9, 8),
    (5, 3, 3),
)
"""Releases of which tests/data/mqadmin/formats has outputs."""

_FOLDER = "1613197331645"
_TIME = "2021-02-13 06:22:11"
_LINE = "-" * 158


@dataclass(frozen=True)
class PrintedClient:
    """A client, and what it owns."""

    client_id: str
    owned: tuple[MessageQueue, ...] = ()
    port: int = 50123
    version: str = "V4_9_3"
    start: int = 1613197331645

    @property
    def host(self) -> str:
        """Its address without the port."""
        return self.client_id.partition("@")[0]

    @property
    def instance(self) -> str:
        """Its instance name."""
        return self.client_id.partition("@")[2]


@dataclass(frozen=True)
class PrintedGroup:
    """A group, its offsets by queue (the broker's and the group's), its topics and clients."""

    name: str
    topics: tuple[str, ...]
    clients: tuple[PrintedClient, ...]
    offsets: dict[MessageQueue, tuple[int, int]]
    tps: float = 0.8
    strategy: str = ""
    has_rates: bool = False  # whether files of clients have rows of RT&TPS

    @property
    def lag(self) -> int:
        """Messages that wait."""
        return sum(end - at for end, at in self.offsets.values())

    def owner(self, queue: MessageQueue) -> str:
        """Return the address of a client that has a queue, as consumerProgress shows it."""
        hosts = [client.host for client in self.clients if queue in client.owned]
        return hosts[-1] if hosts else "N/A"


@dataclass(frozen=True)
class PrintedCluster:
    """Brokers by name with their address; topics by name, each with queues by broker."""

    brokers: dict[str, str]
    topics: dict[str, dict[str, int]]
    groups: tuple[PrintedGroup, ...] = ()
    offline: tuple[str, ...] = field(default_factory=tuple)


def route_json(cluster: PrintedCluster, topic: str, release: Release) -> str:
    """Print ``topicRoute -t TOPIC``."""
    queues = cluster.topics[topic]
    flag = "topicSysFlag" if release >= (4, 9, 0) else "topicSynFlag"
    more = ',\n\t\t\t"enableActingMaster":false' if release >= (5, 0, 0) else ""
    datas = [
        f'\t\t{{\n\t\t\t"brokerAddrs":{{0:"{cluster.brokers[name]}"\n\t\t\t}},\n'
        f'\t\t\t"brokerName":"{name}",\n\t\t\t"cluster":"DefaultCluster"{more}\n\t\t}}'
        for name in queues
    ]
    counts = [
        f'\t\t{{\n\t\t\t"brokerName":"{name}",\n\t\t\t"perm":6,\n\t\t\t"readQueueNums":{number},\n'
        f'\t\t\t"{flag}":0,\n\t\t\t"writeQueueNums":{number}\n\t\t}}'
        for name, number in queues.items()
    ]
    return (
        '{\n\t"brokerDatas":[\n' + ",\n".join(datas) + '\n\t],\n\t"filterServerTable":{},\n'
        '\t"queueDatas":[\n' + ",\n".join(counts) + "\n\t]\n}\n"
    )


def route_table(cluster: PrintedCluster, topic: str) -> str:
    """Print ``topicRoute -l -t TOPIC``, of 4.9.0 and later."""
    rows = [("#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm")]
    for name, number in cluster.topics[topic].items():
        address = f"{{0={cluster.brokers[name]}}}"
        rows.append(("DefaultCluster", name, address, str(number), str(number), "6"))
    total = str(sum(cluster.topics[topic].values()))
    last = ("Total:", str(len(cluster.topics[topic])), "", total, total, "")
    lines = [_padded(row, (45, 32, 50, 10, 11, 5)) for row in rows]
    return _lines([*lines, _LINE, _padded(last, (45, 32, 50, 10, 11, 5))])


def connection(group: PrintedGroup, release: Release) -> str:
    """Print ``consumerConnection -g GROUP``."""
    if release >= (4, 9, 3):
        rows = [("#ClientId", "#ClientAddr", "#Language", "#Version")]
        rows += [
            (client.client_id, f"{client.host}:{client.port}", "JAVA", client.version)
            for client in group.clients
        ]
        lines = [_padded(row, (36, 22, 10, 0)) for row in rows]
        lines += ["", "Below is subscription:", _padded(("#Topic", "#SubExpression"), (20, 0))]
        lines += [_padded((topic, "*"), (20, 0)) for topic in group.topics]
        lines += [""]
    else:
        lines = [
            f"{number:03}  {client.client_id:<32} {f'{client.host}:{client.port}':<22} JAVA     {client.version}"
            for number, client in enumerate(group.clients, 1)
        ]
        topics = [
            f"{number:03}  Topic: {topic:<40} SubExpression: *"
            for number, topic in enumerate(group.topics, 1)
        ]
        is_old = release < (4, 0, 0)
        below = "Below is subscription:"
        lines += ["", *([below, *topics, ""] if is_old else [below + topics[0], *topics[1:]])]
    lines += ["ConsumeType: CONSUME_PASSIVELY", "MessageModel: CLUSTERING"]
    return _lines([*lines, "ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET"])


def progress(group: PrintedGroup, release: Release, shows_clients: bool = False) -> str:
    """Print ``consumerProgress -g GROUP``, with ``-s true`` if it shows clients."""
    has_column = shows_clients or (4, 1, 0) <= release < (4, 6, 0)
    cut = _width(release)
    is_new = release >= (5, 1, 0)
    # names of columns, their widths, and the blanks behind them
    columns = [("#Topic", cut, 2), ("#Broker Name", 32, 2), ("#QID", 4, 2)]
    columns += [("#Broker Offset", 20, 2), ("#Consumer Offset", 20, 2)]
    columns += [("#Client IP", 20, 1)] if has_column else []
    columns += [("#Diff", 20, 1), ("#Inflight", 20, 1)] if is_new else [("#Diff", 20, 2)]
    columns += [("#LastTime", 0, 0)] if release >= (4, 0, 0) else []
    rows = []
    for queue in sorted(group.offsets):
        end, at = group.offsets[queue]
        row = [queue.topic[:cut], queue.broker_name[:32], str(queue.queue_id), str(end), str(at)]
        if has_column:
            row.append(group.owner(queue) if shows_clients else "N/A")
        row.append(str(end - at))
        row += ["0"] if is_new else []
        row += [_last_time(queue, release)] if release >= (4, 0, 0) else []
        rows.append(row)
    shape = [column[1:] for column in columns]
    head = _spaced([column[0] for column in columns], shape).replace("#Inflight ", "#Inflight")
    lines = [head, *(_spaced(row, shape) for row in rows)]
    lines += ["", _tps(group.tps, release)]
    return _lines([*lines, *_totals(group.lag, is_new)])


def _last_time(queue: MessageQueue, release: Release) -> str:
    never = "N/A" if release > (4, 0, 0) else "1970-01-01 00:00:00"
    return never if queue.topic.startswith(RETRY_PREFIX) else _TIME


def _width(release: Release) -> int:
    """Return the width that names of topics and groups are cut to."""
    return 64 if release >= (4, 9, 3) else 32


def _spaced(cells: Iterable[str], shape: Iterable[tuple[int, int]]) -> str:
    """Return cells of some widths, with blanks behind them."""
    pieces = (
        f"{cell:<{width}}" + " " * gap for cell, (width, gap) in zip(cells, shape, strict=True)
    )
    return "".join(pieces).rstrip()


def _tps(tps: float, release: Release) -> str:
    if release < (4, 0, 0):
        return f"Consume TPS: {int(tps)}"
    return f"Consume TPS: {tps}" if release == (4, 0, 0) else f"Consume TPS: {tps:.2f}"


def _totals(lag: int, is_new: bool) -> list[str]:
    if is_new:
        return [f"Consume Diff Total: {lag}", "Consume Inflight Total: 0"]
    return [f"Diff Total: {lag}"]


def all_groups(cluster: PrintedCluster, release: Release) -> str:
    """Print ``consumerProgress`` of all groups."""
    cut = _width(release)
    head = ("#Group", "#Count", "#Version", "#Type", "#Model", "#TPS", "#Diff Total")
    rows = [head] + [(name, "0", "OFFLINE", "", "", "0", "0") for name in cluster.offline]
    for group in cluster.groups:
        version = group.clients[0].version if group.clients else "OFFLINE"
        kind = ("PUSH", "CLUSTERING") if group.clients else ("", "")
        count, tps = str(len(group.clients)), str(int(group.tps) if group.clients else 0)
        rows.append((group.name[:cut], count, version, *kind, tps, str(group.lag)))
    shape = ((cut, 2), (6, 2), (23, 2), (5, 2), (14, 2), (7, 2), (0, 0))
    return _lines(_spaced(row, shape) for row in rows)


def status(group: PrintedGroup, release: Release) -> str:
    """Print ``consumerStatus -g GROUP``."""
    has_head = release >= (4, 9, 4)
    lines = [
        "#Index     #ClientId                                #Version             #ConsumerRunningInfoFile"
    ]
    lines = lines if has_head else []
    for number, client in enumerate(group.clients, 1):
        start = f"{number:<10} " if has_head else f"{number:03}  "
        rest = f"{client.client_id:<40} {client.version:<20} {_FOLDER}/{client.client_id}"
        lines.append(start + rest)
    gap = ["", ""] if release < (4, 0, 0) else [""]
    lines += ["", "", "Same subscription in the same group of consumer", *gap, "Rebalance OK"]
    return _lines(lines)


def running_info(group: PrintedGroup, client: PrintedClient, release: Release) -> str:
    """Print ``consumerStatus -g GROUP -i CLIENT``, which is also the file of the client."""
    cut = _width(release)
    properties = {
        "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
        "PROP_CONSUMER_START_TIMESTAMP": str(client.start),
        "PROP_CONSUMEORDERLY": "false",
        "instanceName": client.instance,
        "clientIP": client.host,
        "PROP_CLIENT_VERSION": client.version,
        "PROP_THREADPOOL_CORE_SIZE": "20",
        "consumerGroup": group.name,
    }
    if group.strategy:
        properties["allocateMessageQueueStrategy"] = group.strategy
    lines = ["#Consumer Properties#"]
    lines += [f"{name:<40}: {value}" for name, value in properties.items()]
    lines += ["", "", "#Consumer Subscription#"]
    lines += [
        f"{number:03} Topic: {topic:<40} ClassFilter: false    SubExpression: *"
        for number, topic in enumerate(sorted(group.topics), 1)
    ]
    lines += ["", "", "#Consumer Offset#", _detail(cut, "#Consumer Offset")]
    lines += [
        f"{queue.topic:<32}  {queue.broker_name:<32}  {queue.queue_id:<4}  {4:<20}"
        for queue in client.owned
    ]
    lines += ["", "", "#Consumer MQ Detail#", _detail(cut, "#ProcessQueueInfo")]
    state = _process_queue(release)
    lines += [
        f"{queue.topic:<{cut}}  {queue.broker_name:<32}  {queue.queue_id:<4}  {state}"
        for queue in client.owned
    ]
    if release >= (5, 0, 0):
        lines += ["", "", "#Consumer Pop Detail#", _detail(32, "#ProcessQueueInfo"), ""]
    lines += ["", "", "#Consumer RT&TPS#"] if release < (5, 0, 0) else ["", "#Consumer RT&TPS#"]
    lines.append(
        f"{'#Topic':<{cut}}        #Pull RT      #Pull TPS    #Consume RT #ConsumeOK TPS "
        "#ConsumeFailed TPS  #ConsumeFailedMsgsInHour"
    )
    if group.has_rates:
        lines += [
            f"{topic:<32}  {0:14.2f} {1:14.2f} {0:14.2f} {1:14.2f} {0:18.2f} {0:25}"
            for topic in sorted(group.topics)
        ]
    lines += ["", "", "#User Consume Info#"] if release >= (5, 0, 0) else []
    return _lines(lines)


def _detail(cut: int, last: str) -> str:
    return f"{'#Topic':<{cut}}  {'#Broker Name':<32}  #QID  {last:<20}"


def _process_queue(release: Release) -> str:
    time = "20210213062211645"
    size = "cachedMsgSizeInMiB=0, " if release > (4, 0, 0) else ""
    return (
        "ProcessQueueInfo [commitOffset=4, cachedMsgMinOffset=0, cachedMsgMaxOffset=0, "
        f"cachedMsgCount=0, {size}transactionMsgMinOffset=0, transactionMsgMaxOffset=0, "
        "transactionMsgCount=0, locked=false, tryUnlockTimes=0, lastLockTimestamp=19700101000000000, "
        f"droped=false, lastPullTimestamp={time}, lastConsumeTimestamp={time}]"
    )


def allocation(owned: dict[str, Iterable[MessageQueue]]) -> str:
    """Print ``allocateMQ -t TOPIC -i ADDRESSES``."""
    result = {
        address: [
            {"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic}
            for queue in queues
        ]
        for address, queues in owned.items()
    }
    return json.dumps({"result": result}, separators=(",", ":")) + "\n"


def _padded(cells: Iterable[str], widths: Iterable[int]) -> str:
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


# --- Made-up clusters ---


def made_up_cluster(random: Random) -> PrintedCluster:
    """Return a cluster of up to three brokers and topics, and one or two groups that divide them as
    AVG does, in half of the cases but for one thing that is wrong.
    """
    brokers = {
        f"broker-{letter}": f"10.0.9.{ord(letter)}:10911"
        for letter in "abc"[: random.randint(1, 3)]
    }
    topics = {}
    for topic in ("orders", "payments", "audit_log")[: random.randint(1, 3)]:
        chosen = sorted(random.sample(sorted(brokers), random.randint(1, len(brokers))))
        topics[topic] = {name: random.choice((1, 2, 3, 4, 8)) for name in chosen}
    groups = []
    for number, name in enumerate(("order-svc", "billing")[: random.randint(1, 2)]):
        groups.append(_group(name, 10 * (number + 1), brokers, topics, random))
    offline = ("old-svc",) if random.random() < 0.3 else ()
    return PrintedCluster(brokers, topics, tuple(groups), offline)


def _group(
    name: str, net: int, brokers: dict[str, str], topics: dict[str, dict[str, int]], random: Random
) -> PrintedGroup:
    subscribed = sorted(random.sample(sorted(topics), random.randint(1, len(topics))))
    retry = RETRY_PREFIX + name
    queues = {topic: _queues(topic, topics[topic]) for topic in subscribed}
    queues[retry] = _queues(retry, dict.fromkeys(sorted(brokers), 1))
    is_one_host = random.random() < 0.2
    ids = sorted(
        f"10.1.{net}.{1 if is_one_host else host}@{4000 + host}"
        for host in range(1, random.randint(1, 6) + 1)
    )
    owned: dict[str, list[MessageQueue]] = {client_id: [] for client_id in ids}
    for of_topic in queues.values():
        for client_id, part in zip(ids, _averages(of_topic, len(ids)), strict=True):
            owned[client_id] += part
    if random.random() < 0.5:
        _spoil(owned, random)
    offsets = {}
    for queue in (queue for of_topic in queues.values() for queue in of_topic):
        at = random.randint(0, 100_000)
        offsets[queue] = at + random.choice((0, 0, 1, 7, 4980)), at
    clients = [PrintedClient(client_id, tuple(sorted(found))) for client_id, found in owned.items()]
    random.shuffle(clients)
    average = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@1b2c3d"
    strategy = random.choice(("", average))
    return PrintedGroup(name, (*subscribed, retry), tuple(clients), offsets, 12.5, strategy, True)


def _queues(topic: str, counts: dict[str, int]) -> list[MessageQueue]:
    return [
        MessageQueue(topic, broker, number)
        for broker, count in sorted(counts.items())
        for number in range(count)
    ]


def _averages(queues: list[MessageQueue], n_clients: int) -> list[list[MessageQueue]]:
    """Return what each of the clients gets by AVG."""
    found, at = [], 0
    for place in range(n_clients):
        size = len(queues) // n_clients + (place < len(queues) % n_clients)
        found.append(queues[at : at + size])
        at += size
    return found


def _spoil(owned: dict[str, list[MessageQueue]], random: Random) -> None:
    """Let a queue have no owner, or two."""
    owners = [client_id for client_id, queues in owned.items() if queues]
    queue = random.choice(owned[random.choice(owners)])
    if random.random() < 0.5:
        for queues in owned.values():
            if queue in queues:
                queues.remove(queue)
        return
    for queues in owned.values():
        if queue not in queues:
            queues.append(queue)
            return


def printed(cluster: PrintedCluster, release: Release, random: Random) -> Files:
    """Return outputs about a cluster, of a random choice of commands: in files named after them, or
    in one file with command lines.
    """
    found: list[tuple[str, str, str]] = []  # file, command line, text
    for topic in cluster.topics:
        if release >= (4, 9, 0) and random.random() < 0.5:
            command = f"topicRoute -t {topic} -l"
            found.append((f"topicRoute.{topic}.txt", command, route_table(cluster, topic)))
        else:
            text = route_json(cluster, topic, release)
            found.append((f"topicRoute.{topic}.json", f"topicRoute -t {topic}", text))
    for group in cluster.groups:
        found += _printed_group(group, release, random)
    if random.random() < 0.5:
        found.append(("consumerProgress.txt", "consumerProgress", all_groups(cluster, release)))
    if random.random() < 0.5:
        return tuple(OutputFile(name, text) for name, _, text in found)
    pieces = [f"$ sh mqadmin {command} -n 10.0.0.1:9876\n{text}\n" for _, command, text in found]
    return (OutputFile("all.txt", "".join(pieces)),)


def _printed_group(
    group: PrintedGroup, release: Release, random: Random
) -> list[tuple[str, str, str]]:
    name = group.name
    found = []
    if random.random() < 0.8:
        found.append(
            (
                f"consumerConnection.{name}.txt",
                f"consumerConnection -g {name}",
                connection(group, release),
            )
        )
    if random.random() < 0.7:
        shows_clients = release >= (4, 5, 2) and random.random() < 0.7
        command = f"consumerProgress -g {name}" + (" -s true" if shows_clients else "")
        text = progress(group, release, shows_clients)
        found.append((f"consumerProgress.{name}.txt", command, text))
    if random.random() < 0.4:
        found.append(
            (f"consumerStatus.{name}.txt", f"consumerStatus -g {name}", status(group, release))
        )
    if random.random() < 0.4:
        for client in group.clients:
            command = f"consumerStatus -g {name} -i {client.client_id}"
            text = running_info(group, client, release)
            found.append((f"{_FOLDER}/{client.client_id}", command, text))
    return found


def made_up_cases(count: int, seed: int) -> dict[str, Files]:
    """Return outputs about made-up clusters, by the name of the case."""
    found = {}
    for number in range(count):
        random = Random(f"{seed} {number}")
        release = random.choice(RELEASES)
        name = f"made-up/{seed}-{number}-{'.'.join(map(str, release))}"
        found[name] = printed(made_up_cluster(random), release, random)
    return found
