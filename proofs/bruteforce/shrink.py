"""A smaller case that still differs in the same way."""

from copy import deepcopy

from bruteforce.runs import differences

KEPT = ("apiVersion", "kind", "name", "strategy", "client_id", "topic", "broker_name", "queue_id")


def shrunk(verb, case, kind, rounds=6):
    """Leave out whatever is not needed for a difference of that kind."""

    def differs(tried):
        return any(one.kind == kind for one in differences(verb, tried).differences)

    for _ in range(rounds):
        size = repr(case)
        for path in sorted(_paths(case), key=len):
            for tried in _smaller(case, path):
                if differs(tried):
                    case = tried
                    break
        if repr(case) == size:
            break
    return case


def _paths(value, path=()):
    if path:
        yield path
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in reversed(list(inside)):
        yield from _paths(item, (*path, key))


def _smaller(case, path):
    """The case without what stands at the path, or with less there."""
    made = deepcopy(case)
    holder = made
    try:
        for key in path[:-1]:
            holder = holder[key]
        value = holder[path[-1]]
    except (KeyError, IndexError, TypeError):
        return
    if len(path) > 1 and path[-1] not in KEPT:
        del holder[path[-1]]
        yield deepcopy(made)
        if isinstance(holder, list):
            holder.insert(path[-1], value)
        else:
            holder[path[-1]] = value
    if isinstance(value, int) and not isinstance(value, bool):
        for less in (1, value // 2, value - 1):
            if 0 <= less < value:
                holder[path[-1]] = less
                yield deepcopy(made)
