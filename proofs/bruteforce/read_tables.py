"""The tables that a plan should have, from its units before and after."""

from bruteforce import planned, totals

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
        self.document, self.before, self.after = document, before, after
        self.pairs = list(zip(before, after, strict=True))
        self.with_rooms = planned.rooms_known([state.unit for state in before])
        self.lags = totals.lags_of(document)

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

    def groups(self):
        yield from totals.groups(self.before, self.after, self.document)

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
                        "gained": gained[one],
                        "lost": lost[one],
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
