"""Observations made by hand from snapshots, with the owners that their clients report."""

from rmqalloc.evidence import Known
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.watching import Observation, OwnersSeen

TOPIC = "orders"


class Watched:
    """Takes snapshots one after the other; findings and settle times are given."""

    def observe(self, snapshot, at, not_read=(), is_whole=True, **found):
        reading = ClusterReading(snapshot, at, at, {}, frozenset(not_read), is_whole, {})
        lasting = found.pop("lasting", ())
        findings = found.pop("findings", lasting)
        seen = {
            group.name: OwnersSeen(at, owners_of(group))
            for group in snapshot.groups
            if group.name not in not_read
        }
        known = Known.of(snapshot)
        return Observation(reading, known, None, None, findings, lasting, owners_seen=seen, **found)


def owners_of(group):
    """Return the owners that the clients of a group report."""
    owners = {}
    for client in group.clients:
        for queue in client.owned or ():
            owners[queue] = (*owners.get(queue, ()), client.client_id)
    return owners


def cluster(*groups, n_queues=8):
    """A cluster of one topic and groups, each a name with its clients, which divide the queues in
    order.
    """
    queues = [MessageQueue(TOPIC, "broker-a", i) for i in range(n_queues)]
    made = []
    for name, *ids in groups:
        owned = {one: tuple(queues[i :: len(ids)]) for i, one in enumerate(ids)}
        made.append(
            Group(
                name,
                (TOPIC,),
                tuple(Client(one, owned=owned[one], subscriptions=(TOPIC,)) for one in ids),
            )
        )
    return Snapshot((Topic(TOPIC, (TopicBroker("broker-a", n_queues),)),), tuple(made))
