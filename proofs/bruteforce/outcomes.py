"""A plan beside the snapshot that it leads to: the scenario is carried out on the document, and the
two are compared.

Of a snapshot and a plan, or of two snapshots, it is worked out which queues differ, who gains them,
and what went as planned.
"""

from collections import Counter
from copy import deepcopy

from bruteforce import java, mixed, planned, random_changes

KINDS = ("add_clients", "remove_clients", "set_queues", "add_broker", "remove_broker")


def scenario_of(random, document):
    """A random scenario that can be carried out on a document: all its clients have names."""
    changes = []
    while not changes:
        made = random_changes.scenarios(random, document)
        changes = [one for scenario in made for one in scenario["changes"] if _is_plain(one)]
    return {"name": "outcome", "changes": changes[:3]}


def _is_plain(change):
    [(kind, fields)] = change.items()
    return kind in KINDS and (not kind.endswith("clients") or "ids" in fields)


# --- The document after a scenario ---


def outcome(document, scenario):
    """The snapshot after a scenario, in which clients report nothing that they own."""
    made = deepcopy(document)
    planned_topics = {unit.main.topic for unit in mixed.units_of(document)}
    for change in scenario["changes"]:
        [(kind, fields)] = change.items()
        for group in made["groups"]:
            CLIENTS.get(kind, _keep)(group, **fields)
            for client in group.get("clients", []):
                client.pop("owned", None)
                for topic, seen in client.get("sees_read_queue_nums", {}).items():
                    if kind in ROUTES and topic in planned_topics:
                        after = _changed(
                            topic,
                            [(name, range(n), None) for name, n in seen.items()],
                            kind,
                            fields,
                        )
                        client["sees_read_queue_nums"][topic] = {
                            name: len(ids) for name, ids, _ in after
                        }
        for topic in made["topics"] if kind in ROUTES else ():
            if topic["name"] in planned_topics:
                topic["brokers"] = _routes(topic, kind, fields)
    return made


ROUTES = ("set_queues", "add_broker", "remove_broker")


def _keep(group, **fields):
    """Clients stay as they are."""


def _changed(topic, brokers, kind, fields):
    return planned.CHANGES[kind](planned.Unit("", topic, brokers, [], {}), **fields).brokers


def _routes(topic, kind, fields):
    """Brokers of a topic after a change; those that nobody may read stay."""
    by_name = {one["broker_name"]: one for one in topic["brokers"]}
    hidden = [one for one in topic["brokers"] if not one.get("perm", 6) & 4]
    seen = [one for one in topic["brokers"] if one.get("perm", 6) & 4]
    brokers = [
        (one["broker_name"], range(one["read_queue_nums"]), one.get("machine_room")) for one in seen
    ]
    found = []
    for name, ids, room in _changed(topic["name"], brokers, kind, fields):
        entry = {
            "broker_name": name,
            "read_queue_nums": len(ids),
            **({"machine_room": room} if room else {}),
        }
        old = by_name.get(name, {})
        if old.get("read_queue_nums") == len(ids):
            entry = old
        elif "perm" in old and kind == "set_queues":
            entry["perm"] = old["perm"]
        found.append(entry)
    return found + hidden


def _remove(group, ids):
    gone = {ids} if isinstance(ids, str) else set(ids)
    group["clients"] = [one for one in group.get("clients", []) if one["client_id"] not in gone]
    lists = group.get("broker_client_ids", {})
    for name in lists:
        lists[name] = [one for one in lists[name] if one not in gone]


def _add(group, ids, machine_room=None):
    names = [ids] if isinstance(ids, str) else ids
    language = planned.language_of_all(group)
    more = ({"machine_room": machine_room} if machine_room else {}) | (
        {"language": language} if language else {}
    )
    group["clients"] = [*group.get("clients", []), *({"client_id": one, **more} for one in names)]
    for listed in group.get("broker_client_ids", {}).values():
        listed.extend(names)


CLIENTS = {"add_clients": _add, "remove_clients": _remove}

# --- What differs ---


class Sides:
    """The units of two sides; those that cannot be assigned on one of them are left out.

    Parameters
    ----------
    before, after : list of mixed.State
    start : list of mixed.State, optional
        Of a plan, the states before its scenario; ``before`` is the state after its scenario then.
    """

    def __init__(self, before, after, start=None):
        states = [_by_unit(one) for one in (before, after, *([] if start is None else [start]))]
        bad = {key for side in states for key, state in side.items() if _is_bad(state)}
        if start is not None:
            bad = {key for side in states[:2] for key, state in side.items() if _is_bad(state)}
        self.states = [
            {key: state for key, state in side.items() if key not in bad} for side in states
        ]
        if start is not None:
            empty = {
                key: self._as_beside(key) for key, state in self.states[0].items() if state.error
            }
            self.states[0].update(empty)
            self.states[2].update(empty)

    def _as_beside(self, key):
        """A unit without clients, of which a plan lists no queues: those of the other side, which
        nobody has.
        """
        planned_, beside = self.states[0][key], self.states[1].get(key)
        queues = {} if beside is None else dict.fromkeys(beside.owners, frozenset())
        return planned_._replace(owners=queues, doubled=set())

    def units(self, group):
        """Owners by queue and the doubly owned on all sides, unit by unit."""
        keys = {key for side in self.states for key in side if key[0] == group}
        for key in keys:
            yield [
                (side[key].owners, side[key].doubled) if key in side else ({}, set())
                for side in self.states
            ]

    def figures(self, group):
        """Counts of queues, as `rmqalloc.plans.diffs.Diff.groups` has them."""
        found = Counter()
        for (old, doubled), (new, doubled_after), *_ in self.units(group):
            both = old.keys() & new.keys()
            moved = [queue for queue in both if old[queue] != new[queue]]
            found.update(
                {
                    "queues_before": len(old),
                    "queues_after": len(new),
                    "moved": len(moved),
                    "new": len(new.keys() - old.keys()),
                    "gone": len(old.keys() - new.keys()),
                    "unowned_before": sum(not ids for ids in old.values()),
                    "unowned_after": sum(not ids for ids in new.values()),
                    "double_owned_before": len(doubled),
                    "double_owned_after": len(doubled_after),
                    "least_before": len(doubled & _of_several(old)),
                    "least_after": len(doubled_after & _of_several(new)),
                    "most_before": len(doubled | _of_several(old)),
                    "most_after": len(doubled_after | _of_several(new)),
                    "repaired": sum(len(new[queue]) == 1 != len(old[queue]) for queue in moved),
                }
            )
        return found

    def queues(self, group):
        """Rows of queues that differ."""
        for (old, _), (new, _), *_ in self.units(group):
            for queue in {**old, **new}:
                if old.get(queue) != new.get(queue):
                    had, has = (sorted(side.get(queue, ()), key=java.utf16) for side in (old, new))
                    change = _change(queue in old, queue in new, len(had), len(has))
                    yield (
                        (group, *queue),
                        {"owners_before": had, "owners_after": has, "change": change},
                    )

    def clients(self, group):
        """Queues that clients have, gain and lose."""
        found = {}
        for (old, _), (new, _), *_ in self.units(group):
            for queue in {**old, **new}:
                had, has = (side.get(queue, mixed.NOBODY) for side in (old, new))
                counted = (
                    ("before", had),
                    ("after", has),
                    ("gained", has - had),
                    ("lost", had - has),
                )
                for name, ids in counted:
                    for one in ids:
                        row = found.setdefault(
                            (group, one), dict.fromkeys(("before", "after", "gained", "lost"), 0)
                        )
                        row[name] += 1
        return found

    def planned(self, group):
        """What a plan moves, and what of it came true: queues that are there before and after it."""
        found = Counter(planned=0, as_planned=0, not_yet=0, elsewhere=0)
        for (goal, _), (now, _), (start, _) in self.units(group):
            for queue in start.keys() & goal.keys():
                if start[queue] != goal[queue]:
                    is_at = "as_planned" if now.get(queue) == goal[queue] else "elsewhere"
                    found[is_at if now.get(queue) != start[queue] else "not_yet"] += 1
                    found["planned"] += 1
        return found


def _of_several(owners):
    return {queue for queue, ids in owners.items() if len(ids) > 1}


def _by_unit(states):
    return {(state.unit.main.group, state.unit.main.topic): state for state in states}


def _is_bad(state):
    return bool(state.error) and state.error[0] != planned.EMPTY


def _change(was, is_, n_had, n_has):
    if not (was and is_):
        return "gone" if was else "new"
    if n_had and not n_has:
        return "unowned"
    if n_has > 1 and n_had < 2:
        return "double_owned"
    return "repaired" if n_has == 1 != n_had else "moved"
