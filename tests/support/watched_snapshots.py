"""Observations made by hand from snapshots: what lasts two of them, with the times between which it
changed.
"""

from rmqalloc.evidence import Known
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.watching import LastingStates, Observation

TOPIC = "orders"


class Watched:
    """Takes snapshots one after the other; findings and settle times are given."""

    def __init__(self):
        self._members, self._moves = LastingStates(), LastingStates()
        self._clients, self._queues, self._read_at = {}, {}, {}

    def observe(self, snapshot, at, not_read=(), is_whole=True, **found):
        reading = ClusterReading(snapshot, at, at, {}, frozenset(not_read), is_whole, {})
        members, moves = [], []
        for group in snapshot.groups:
            if group.name not in not_read:
                members += self._seen(
                    self._members, self._clients, group.name, dict.fromkeys(group.client_ids, 1), at
                )
                owners = {}
                for client in group.clients:
                    for queue in client.owned or ():
                        owners[queue] = (*owners.get(queue, ()), client.client_id)
                moves += self._seen(self._moves, self._queues, group.name, owners, at)
                self._read_at[group.name] = at
        if is_whole:
            names = {group.name for group in snapshot.groups}
            for name in [one for one in self._clients if one not in names]:
                members += self._seen(self._members, self._clients, name, {}, at)
                moves += self._seen(self._moves, self._queues, name, {}, at)
        of_all = {"members": tuple(members), "moves": tuple(moves)}
        lasting = found.pop("lasting", ())
        findings = found.pop("findings", lasting)
        return Observation(
            reading, Known.of(snapshot), None, None, findings, lasting, **of_all, **found
        )

    def _seen(self, states, keys, group, now, at):
        known, before = keys.setdefault(group, set()), self._read_at.get(group)
        for one in now.keys() - known if before is not None else ():  # known not to be there
            states.seen((group, one), None, before), states.seen((group, one), None, before)
        known.update(now)
        return [
            change
            for one in sorted(known)
            if (change := states.seen((group, one), now.get(one), at))
        ]


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
