"""The tables that a plan should have, from its units before and after."""

from bruteforce import planned
from bruteforce.clusters import queue_key

KEYS = {
    "units": ("consumer_group", "topic"),
    "groups": ("consumer_group",),
    "clients": ("consumer_group", "topic", "client_id"),
    "queues": ("consumer_group", "topic", "broker_name", "queue_id"),
}
"""Columns that name a row of each table."""


class Tables:
    """Figures of one scenario: by unit, group, client and queue.

    Parameters
    ----------
    document : dict
    before, after : list of planned.State
        Of all units, in one order.
    """

    def __init__(self, document, before, after):
        self.pairs = list(zip(before, after, strict=True))
        self.with_rooms = planned.rooms_known([state.unit for state in before])
        self.lags = {
            (group["name"], queue_key(lag["queue"])): max(0, lag["broker_offset"] - max(0, lag["consumer_offset"]))
            for group in document["groups"]
            for lag in group.get("lags", [])
        }

    def units(self):
        for before, after in self.pairs:
            key = after.unit.group, after.unit.topic
            code, text = after.error or (0, None)
            figures = {"err_code": code}
            if code in (planned.EMPTY, planned.REFUSED):
                figures["err_msg"] = text
            if not code:
                figures |= planned.unit_figures(before, after, self.with_rooms)
                figures["strategy"] = planned.java.title(after.unit.rule)
            yield key, figures

    def _groups(self):
        found = {}
        for before, after in self.pairs:
            found.setdefault(after.unit.group, []).append((before, after))
        return found

    def groups(self):
        for group, pairs in self._groups().items():
            good = [pair for pair in pairs if not pair[1].error]
            yield (group,), self._group_figures(group, good)

    def _group_figures(self, group, pairs):
        loads, change, affected, sums = {}, {}, set(), dict.fromkeys(("unowned", "moved", "least_moves"), 0)
        messages, known = 0, False
        for before, after in pairs:
            times = {}
            for one, load in zip(after.unit.ids, planned.loads_of(after), strict=True):
                times[one] = times.get(one, 0) + 1
                loads[one, times[one]] = loads.get((one, times[one]), 0) + load
            figures = planned.unit_figures(before, after, self.with_rooms)
            for name in sums:
                sums[name] += figures[name]
            gained, lost = planned.flows(before, after)
            affected |= gained.keys() | lost.keys()
            for sign, flow in ((1, gained), (-1, lost)):
                for one, queues in flow.items():
                    change[one] = change.get(one, 0) + sign * len(queues)
            messages += sum(self.lags.get((group, queue), 0) for queue in planned.moved(before, after))
            known |= any((group, queue) in self.lags for queue in {**before.owners, **after.owners})
        n_queues = sum(len(after.owners) for _, after in pairs)
        return (
            planned.balance(n_queues, list(loads.values()))
            | sums
            | {
                "n_topics": len(pairs),
                "clients_affected": len(affected),
                "clients_gaining": sum(n > 0 for n in change.values()),
                "clients_losing": sum(n < 0 for n in change.values()),
                "backlog_moved": messages if known else None,
                "cross_room": sum(map(planned.cross_room, (a for _, a in pairs)))
                if self.with_rooms and pairs
                else None,
            }
        )

    def clients(self):
        for before, after in self.pairs:
            if after.error:
                continue
            gained, lost = planned.flows(before, after)
            rooms = dict(after.unit.clients) | {one: room for one, room in before.unit.clients if room is not None}
            for one in dict.fromkeys([*before.unit.ids, *after.unit.ids]):
                had, has = one in before.unit.ids, one in after.unit.ids
                yield (
                    (after.unit.group, after.unit.topic, one),
                    {
                        "before": sum(owner == one for owner in before.owners.values()),
                        "after": sum(owner == one for owner in after.owners.values()),
                        "gained": len(gained.get(one, [])),
                        "lost": len(lost.get(one, [])),
                        "status": "stays" if had and has else "new" if has else "gone",
                        "host": one.split("@")[0],
                        "machine_room": rooms.get(one),
                    },
                )

    def queues(self):
        for before, after in self.pairs:
            if after.error:
                continue
            for queue in {**before.owners, **after.owners}:
                yield (
                    (after.unit.group, *queue),
                    {
                        "owner_before": before.owners.get(queue),
                        "owner_after": after.owners.get(queue),
                        "change": _change(queue, before.owners, after.owners),
                        "lag": self.lags.get((after.unit.group, queue)),
                    },
                )


def _change(queue, before, after):
    if queue not in after:
        return "gone"
    if after[queue] is None:
        return "unowned"
    if queue not in before:
        return "new"
    return "kept" if before[queue] == after[queue] else "moved"
