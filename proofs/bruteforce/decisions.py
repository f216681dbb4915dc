"""The table of decisions: with which exit codes a verb may end for one group."""

from bruteforce.clusters import RETRY
from bruteforce.states import POP

PLANNING = ("plan", "explain", "compare", "recommend", "rollout", "simulate")
ANSWERED, NO, LEFT_OUT, REFUSED = {0}, {3}, {4}, {1}
FOUND = {0, 2}
"""`check` ends with 2 where it finds a fault, also where something is not known."""


def codes(states, verb):
    """The exit codes of a verb for one group; None where the table does not say."""
    if not any(states.of_topic(topic) for topic in states.topics if not topic.startswith(RETRY)):
        return None
    if verb in ("show", "groups"):
        return ANSWERED
    if verb == "check":
        if states.served == POP and (states.silent or "owners" in states.unknown):
            return FOUND | LEFT_OUT
        return LEFT_OUT | {2} if is_partial(states) else FOUND
    if verb == "guard":
        return guarded(states)
    return planned(states, verb)


def is_partial(states):
    """Whether something is not known that decides who owns what."""
    if states.lists_unknown or routes_unknown(states):
        return True
    is_read_by_all = states.is_shared or states.served == POP
    lacking = {"subscriptions"} if is_read_by_all else {"subscriptions", "owners"}
    if lacking & states.unknown:
        return bool(states.clients)
    if on_silent_broker(states):
        return True
    return has_silent(states)


def routes_unknown(states):
    names = {*states.group["subscriptions"], *states.topics}
    return any(not states.is_whole(name) for name in names if not name.startswith(RETRY))


def on_silent_broker(states):
    return any(queue[1] in states.silent_brokers for queue in states.rows)


def has_silent(states):
    is_read_by_all = states.is_shared or states.served == POP
    return bool(states.reporting and states.silent and not is_read_by_all)


def guarded(states):
    """Exit codes of ``guard --after``."""
    settled = states.settled
    if settled is False:  # what is only computed may be answered with care
        return (
            NO if states.clients and not is_partial(states) and states.reporting else NO | LEFT_OUT
        )
    if has_silent(states) or "owners" in states.unknown:
        return NO | LEFT_OUT | (ANSWERED if states.is_shared or states.served == POP else set())
    is_divided = not states.is_shared and states.served != POP
    if is_divided and lists_differ(states.group) and settled and not is_partial(states):
        return NO
    if settled is None or is_partial(states):
        return NO | LEFT_OUT if states.group.get("broker_client_ids") else LEFT_OUT
    return ANSWERED


def planned(states, verb):
    group = states.group
    if on_silent_broker(states) or is_odd(group):
        return None
    is_divided = not states.is_shared and states.served != POP
    if is_divided and not (states.clients or states.lists_unknown):
        return REFUSED if verb in ("simulate", "explain") else None
    if states.lists_unknown or "subscriptions" in states.unknown:
        return LEFT_OUT
    if routes_unknown(states):
        return LEFT_OUT | ANSWERED | REFUSED if verb == "explain" else LEFT_OUT
    shared = states.is_shared or states.served == POP
    computed = all(states.is_computed(topic) for topic in states.topics)
    if shared:
        if verb == "plan":
            is_sure = computed and bool(states.clients) and "lite_topic" not in group
            return ANSWERED if is_sure else None
        return REFUSED if states.clients else None
    if not computed:
        return REFUSED
    if verb in ("recommend", "rollout", "simulate") and not reads_listed(states):
        return None  # they go by what the group or every client lists
    if states.doubt:
        return ANSWERED if verb == "explain" else REFUSED
    if is_by_client(states):
        return REFUSED if verb in ("recommend", "rollout") else ANSWERED
    if lists_differ(group):
        if verb in ("plan", "explain"):
            return ANSWERED
        return LEFT_OUT
    return ANSWERED


def is_odd(group):
    """Whether a document states a doubt that its clients' rings may settle."""
    clients = group.get("clients", ())
    if group.get("strategy") == "CONFIG" or "server_assignment" in group:
        return any("strategy" in client for client in clients)
    return "strategy_doubt" in group and any("virtual_nodes" in client for client in clients)


def reads_listed(states):
    """Whether the group lists a topic that has queues, every client one of those, and no id twice."""
    ids = [client.client_id for client in states.clients]
    if len(set(ids)) < len(ids) or "" in ids:
        return False
    listed = {topic for topic in states.group["subscriptions"] if states.of_topic(topic)}
    read = [client.get("subscriptions", listed) for client in states.group.get("clients", ())]
    return bool(listed) and all(not listed.isdisjoint(names) for names in read)


def is_by_client(states):
    """Whether clients divide by several strategies, or rings, and each is known."""
    stated = states.group.get("strategy_params", {}).get("virtual_nodes", 10)
    clients = states.group.get("clients", ())
    nodes = {client["virtual_nodes"] for client in clients if "virtual_nodes" in client}
    if "strategy_source" in states.group:  # what is written of it is taken
        return "strategy_doubt" in states.group
    is_ring = any(client.get("strategy") == "CONSISTENT_HASH" for client in clients)
    return "strategy_doubt" in states.group or (is_ring and len(nodes) > 1 and stated not in nodes)


def lists_differ(group):
    ids = sorted(client["client_id"] for client in group.get("clients", ()))
    return any(sorted(listed) != ids for listed in group.get("broker_client_ids", {}).values())


def reason(states):
    """What the decision about a group rests on, in a few words."""
    signs = {
        "clients or brokers not known": states.lists_unknown,
        "subscriptions not known": "subscriptions" in states.unknown,
        "owners not known": "owners" in states.unknown,
        "routes not known": routes_unknown(states),
        "shared": states.is_shared or states.served == POP,
        "no client": not states.clients,
        "not computed": not all(map(states.is_computed, states.topics)),
        "doubt": states.doubt,
        "by client": is_by_client(states),
        "lists differ": lists_differ(states.group),
        "silent": has_silent(states),
        "silent broker": on_silent_broker(states),
    }
    return next((sign for sign, holds in signs.items() if holds), "plain")
