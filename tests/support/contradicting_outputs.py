"""Outputs that contradict each other: about two clusters that differ in one fact."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import NamedTuple

from damaged_outputs import Files, OutputFile
from printed_outputs import (
    RELEASES,
    PrintedClient,
    PrintedCluster,
    PrintedGroup,
    Release,
    all_groups,
    connection,
    made_up_cluster,
    progress,
    route_json,
    route_table,
    running_info,
    status,
)

from rmqalloc import MessageQueue
from rmqalloc.model import RETRY_PREFIX


class Contradiction(NamedTuple):
    """Outputs of two sources of a fact that differ in it.

    Attributes
    ----------
    kind : str
        A key of `KINDS`.
    subjects : tuple of str
        The group or the topic that a warning has to name.
    files : tuple of OutputFile
    worlds : tuple of tuple of OutputFile
        The same outputs without the contradiction: as the one source has it, and as the other.
    """

    kind: str
    subjects: tuple[str, ...]
    files: Files
    worlds: tuple[Files, ...]


class _World(NamedTuple):
    """A cluster and the group of it that is looked at."""

    cluster: PrintedCluster
    group: PrintedGroup


def contradiction(kind: str, seed: object) -> Contradiction:
    """Return a contradiction of a kind about a made-up cluster."""
    random = Random(f"{kind} {seed}")
    release = random.choice(RELEASES[-4:])
    made = made_up_cluster(random)
    while not _is_plain(made.groups[0]):
        made = made_up_cluster(random)
    group = _on_own_hosts(made.groups[0])
    return KINDS[kind](_World(replace(made, groups=(group,)), group), release, random)


def _is_plain(group: PrintedGroup) -> bool:
    """Return whether a group has several clients, and one owner of each queue: what is wrong
    otherwise may be wrong for one of the sources alone.
    """
    counts = Counter(queue for client in group.clients for queue in client.owned)
    return len(group.clients) > 1 and counts == Counter(list(group.offsets))


def _on_own_hosts(group: PrintedGroup) -> PrintedGroup:
    """Return the group with each client on a host of its own."""
    clients = [
        replace(client, client_id=f"10.1.10.{number}@{client.instance}")
        for number, client in enumerate(
            sorted(group.clients, key=lambda client: client.client_id), 1
        )
    ]
    return replace(group, clients=tuple(clients))


# --- Sources ---


def _routes(world: _World, release: Release) -> Files:
    return tuple(
        OutputFile(f"topicRoute.{topic}.json", route_json(world.cluster, topic, release))
        for topic in world.cluster.topics
    )


def _connection(world: _World, release: Release) -> Files:
    return (
        OutputFile(f"consumerConnection.{world.group.name}.txt", connection(world.group, release)),
    )


def _status(world: _World, release: Release) -> Files:
    return (OutputFile(f"consumerStatus.{world.group.name}.txt", status(world.group, release)),)


def _infos(world: _World, release: Release) -> Files:
    return tuple(
        OutputFile(f"1613197331645/{client.client_id}", running_info(world.group, client, release))
        for client in world.group.clients
    )


def _owners(world: _World, release: Release) -> Files:
    text = progress(world.group, release, shows_clients=True)
    return (OutputFile(f"consumerProgress.{world.group.name}.txt", text),)


def _offsets(world: _World, release: Release) -> Files:
    text = progress(world.group, release)
    return (OutputFile(f"consumerProgress.{world.group.name}.txt", text),)


def _counts(world: _World, release: Release) -> Files:
    return (OutputFile("consumerProgress.txt", all_groups(world.cluster, release)),)


_Source = Callable[[_World, Release], Files]


def _of_two(
    kind: str, first: _World, second: _World, sources: tuple[_Source, _Source], release: Release
) -> Contradiction:
    """Return what the first source prints of one world, and the second of the other."""
    one, two = sources

    def files(left: _World, right: _World) -> Files:
        return _routes(first, release) + one(left, release) + _other(two(right, release), one, two)

    worlds = (files(first, first), files(second, second))
    return Contradiction(kind, (first.group.name,), files(first, second), worlds)


def _other(files: Files, one: _Source, two: _Source) -> Files:
    """Return files of the second source; in a folder of their own, if both are one command."""
    if one is not two:
        return files
    return tuple(file._replace(name=f"again/{file.name}") for file in files)


def _with_group(world: _World, group: PrintedGroup) -> _World:
    return _World(replace(world.cluster, groups=(group,)), group)


# --- What differs ---


def clients(world: _World, release: Release, random: Random) -> Contradiction:
    """One client is another, in one of two lists, in its file, or at its queues."""
    changed = list(world.group.clients)
    # one that owns nothing is not shown by consumerProgress
    number = random.choice([place for place, client in enumerate(changed) if client.owned])
    kind = random.choice(("another", "missing"))
    if kind == "another":
        changed[number] = replace(changed[number], client_id="10.1.10.99@4099")
    else:
        del changed[number]
    sources = random.choice(
        (
            (_connection, _status),
            (_connection, _infos),
            (_connection, _owners),
            (_status, _infos),
            (_status, _owners),
        )
    )
    if kind == "missing" and sources[1] is not _status:
        # Files of some clients, and queues of some, are no contradiction: it is the list that lacks one.
        lacking = _with_group(world, replace(world.group, clients=tuple(changed)))
        return _of_two("clients", lacking, world, sources, release)
    second = _with_group(world, replace(world.group, clients=tuple(changed)))
    return _of_two("clients", world, second, sources, release)


def owners(world: _World, release: Release, random: Random) -> Contradiction:
    """A queue has another owner in consumerProgress than in the files of the clients."""
    queue = random.choice(sorted(world.group.offsets))
    [giver] = (client for client in world.group.clients if queue in client.owned)
    taker = random.choice([client for client in world.group.clients if client is not giver])
    changed = tuple(_moved(client, giver, taker, queue) for client in world.group.clients)
    second = _with_group(world, replace(world.group, clients=changed))
    return _of_two("owners", world, second, (_infos, _owners), release)


def _moved(
    client: PrintedClient, giver: PrintedClient, taker: PrintedClient, queue: MessageQueue
) -> PrintedClient:
    if client is giver:
        return replace(client, owned=tuple(mine for mine in client.owned if mine != queue))
    if client is taker:
        return replace(client, owned=tuple(sorted({*client.owned, queue})))
    return client


def counts(world: _World, release: Release, random: Random) -> Contradiction:
    """The list of all groups counts other clients than consumerConnection lists."""
    changed = list(world.group.clients)
    if random.random() < 0.5:
        changed.pop(random.randrange(len(changed)))
    else:
        changed.append(PrintedClient("10.1.10.99@4099"))
    second = _with_group(world, replace(world.group, clients=tuple(changed)))
    return _of_two("counts", world, second, (_connection, _counts), release)


def routes(world: _World, release: Release, random: Random) -> Contradiction:
    """Two outputs of topicRoute differ in the queues of a broker, or in the brokers."""
    topic = random.choice(sorted(world.cluster.topics))
    queues = dict(world.cluster.topics[topic])
    broker = random.choice(sorted(queues))
    if len(queues) > 1 and random.random() < 0.3:
        del queues[broker]
    else:
        queues[broker] += random.choice((1, 4))
    second = replace(world.cluster, topics={**world.cluster.topics, topic: queues})
    is_table = random.random() < 0.5

    def again(cluster: PrintedCluster) -> Files:
        text = route_table(cluster, topic) if is_table else route_json(cluster, topic, release)
        return (OutputFile(f"again/topicRoute.{topic}.{'txt' if is_table else 'json'}", text),)

    group = _connection(world, release)
    mine, theirs = _routes(world, release), _routes(_World(second, world.group), release)
    files = mine + again(second) + group
    worlds = (mine + again(world.cluster) + group, theirs + again(second) + group)
    return Contradiction("routes", (topic,), files, worlds)


def offsets(world: _World, release: Release, random: Random) -> Contradiction:
    """Two outputs of consumerProgress differ in an offset."""
    queue = random.choice(sorted(world.group.offsets))
    end, at = world.group.offsets[queue]
    changed = {**world.group.offsets, queue: (end + random.choice((1, 700)), at)}
    second = _with_group(world, replace(world.group, offsets=changed))
    return _of_two("offsets", world, second, (_offsets, _offsets), release)


_TOTAL_LINES = {
    "Diff Total": re.compile(r"(?<=Diff Total: )(\d+)"),
    "Inflight Total": re.compile(r"(?<=Consume Inflight Total: )(\d+)"),
    "Total of queues": re.compile(r"(?<=\s)(\d+)(?= +\d+ +\n?\Z)"),
    "Total of brokers": re.compile(r"(?<=Total: {40})(\d+)"),
}


def totals(world: _World, release: Release, random: Random) -> Contradiction:
    """A total is not that of the rows above it."""
    topic = random.choice(sorted(world.cluster.topics))
    name = random.choice(("Diff Total", "Inflight Total", "Total of queues", "Total of brokers"))
    if name == "Inflight Total" and release < (5, 1, 0):
        name = "Diff Total"
    table = (OutputFile(f"topicRoute.{topic}.txt", route_table(world.cluster, topic)),)
    rest = _connection(world, release) + _offsets(world, release)
    whole = table + rest
    shown = whole[0] if name.startswith("Total") else whole[-1]
    text = _TOTAL_LINES[name].sub(lambda found: str(int(found[1]) + 3), shown.text)
    assert text != shown.text, name
    files = tuple(file._replace(text=text) if file is shown else file for file in whole)
    subject = topic if name.startswith("Total") else world.group.name
    return Contradiction("totals", (subject,), files, (whole,))


def message_models(world: _World, release: Release, _: Random) -> Contradiction:
    """Two brokers list another message model."""
    first = _routes(world, release) + _connection(world, release)
    again = _connection(world, release)[0]
    text = again.text.replace("CLUSTERING", "BROADCASTING")
    second = again._replace(name=f"again/{again.name}", text=text)
    return Contradiction(
        "message models", (world.group.name,), (*first, second), (first, (*first[:-1], second))
    )


def versions(world: _World, release: Release, random: Random) -> Contradiction:
    """A client has another version in consumerStatus, or in its file, than in consumerConnection."""
    number = random.randrange(len(world.group.clients))
    changed = list(world.group.clients)
    changed[number] = replace(changed[number], version="V5_1_0")
    second = _with_group(world, replace(world.group, clients=tuple(changed)))
    sources = random.choice(((_connection, _status), (_connection, _infos), (_status, _infos)))
    return _of_two("versions", world, second, sources, release)


def subscriptions(world: _World, release: Release, random: Random) -> Contradiction:
    """All clients subscribe to a topic that consumerConnection lacks, or the reverse."""
    topics = [topic for topic in world.group.topics if not topic.startswith(RETRY_PREFIX)]
    lacking = random.choice(topics)
    fewer = tuple(topic for topic in world.group.topics if topic != lacking)
    clients = tuple(_without_topic(client, lacking) for client in world.group.clients)
    second = _with_group(world, replace(world.group, topics=fewer, clients=clients))
    pair = (world, second) if random.random() < 0.5 else (second, world)
    return _of_two("subscriptions", *pair, (_connection, _infos), release)


def _without_topic(client: PrintedClient, topic: str) -> PrintedClient:
    return replace(client, owned=tuple(queue for queue in client.owned if queue.topic != topic))


KINDS: dict[str, Callable[[_World, Release, Random], Contradiction]] = {
    "clients": clients,
    "owners": owners,
    "counts": counts,
    "routes": routes,
    "offsets": offsets,
    "totals": totals,
    "message models": message_models,
    "versions": versions,
    "subscriptions": subscriptions,
}
"""What may differ."""
