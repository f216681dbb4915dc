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
        return LEFT_OUT | {2} if is_partial(states) else FOUND
    if verb == "guard":
        return guarded(states)
    return planned(states, verb)


def is_partial(states):
    """Whether something is not known that decides who owns what."""
    if states.lists_unknown or routes_unknown(states):
        return True
    if "subscriptions" in states.unknown or "owners" in states.unknown:
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
    return bool(states.reporting and states.silent and not states.is_shared)


def guarded(states):
    """Exit codes of ``guard --after``."""
    settled = states.settled
    if settled is False:  # what is only computed may be answered with care
        return NO if states.clients and not is_partial(states) and states.reporting else NO | LEFT_OUT
    if settled is None or is_partial(states):
        return NO | LEFT_OUT if states.group.get("broker_client_ids") else LEFT_OUT
    return ANSWERED


def planned(states, verb):
    group = states.group
    if states.lists_unknown or "subscriptions" in states.unknown or routes_unknown(states):
        return LEFT_OUT
    if on_silent_broker(states):
        return None
    shared = states.is_shared or states.served == POP
    computed = all(states.is_computed(topic) for topic in states.topics)
    if shared:
        if verb == "plan":
            return ANSWERED if computed and "lite_topic" not in group else None
        return REFUSED if states.clients else None
    if not states.clients:
        return REFUSED if verb in ("simulate", "explain") else None
    if not computed:
        return REFUSED
    if "strategy_doubt" in group:
        if states.doubt:
            return REFUSED
        return REFUSED if verb == "recommend" else ANSWERED
    if group.get("broker_client_ids"):
        if verb in ("plan", "explain"):
            return ANSWERED
        return LEFT_OUT
    return ANSWERED


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
        "by client": "strategy_doubt" in states.group,
        "lists differ": bool(states.group.get("broker_client_ids")),
        "silent": has_silent(states),
        "silent broker": on_silent_broker(states),
    }
    return next((sign for sign, holds in signs.items() if holds), "plain")
