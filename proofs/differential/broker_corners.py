"""Differences of the broker half that are let pass: orders that Java takes from hashes."""

from typing import Any

from differential.corner import Corner, Seen


def _groups_sorted(seen: Seen, *kinds: str) -> tuple[Any, Any]:
    """What was heard and sent, group by group; in one group the order stays."""
    if seen.event["kind"] not in kinds and not seen.config["nested"]:  # a nested event may be any
        return seen.java, seen.product
    return _by_group(seen.java), _by_group(seen.product)


def _by_group(side: dict[str, Any]) -> dict[str, Any]:
    by_name = {name: sorted(side[name], key=lambda one: one[1]) for name in ("heard", "notices")}
    return {**side, **by_name}


def _channels_sorted(seen: Seen) -> tuple[Any, Any]:
    """Channels of a group as sets; where notices make something happen at once, their order counts."""
    if seen.config["nested"]:
        return seen.java, seen.product
    return _by_channel(seen.java), _by_channel(seen.product)


def _by_channel(side: dict[str, Any]) -> dict[str, Any]:
    groups = side["groups"]
    if groups is not None:
        groups = {
            name: [*how, sorted(members), topics]
            for name, (*how, members, topics) in groups.items()
        }
    heard = [[*one[:2], sorted(one[2])] if one[0] == "CHANGE" else one for one in side["heard"]]
    answer = side["answer"]
    is_list_of_clients = isinstance(answer, list) and all(isinstance(one, str) for one in answer)
    return {
        **side,
        "answer": sorted(answer) if is_list_of_clients else answer,
        "groups": groups,
        "heard": _runs_sorted(heard),
        "notices": sorted(side["notices"], key=lambda one: (one[1], one[0])),
    }


def _runs_sorted(heard: list[Any]) -> list[Any]:
    """Channels of a group that went one after the other."""
    made: list[Any] = []
    for one in heard:
        if made and one[0] == made[-1][0][0] == "CLIENT_UNREGISTER" and one[1] == made[-1][0][1]:
            made[-1].append(one)
        else:
            made.append([one])
    return [one for run in made for one in sorted(run)]


_TABLE, _GROUP, _FLUSH = "ConsumerManager", "ConsumerGroupInfo", "DefaultConsumerIdsChangeListener"

CORNERS: tuple[Corner, ...] = (
    Corner(
        "groups of one heartbeat",
        "broker",
        {
            "4.9.8": "ClientManageProcessor:84",
            "5.3.3": "ClientManageProcessor:91",
            "5.5.0": "ClientManageProcessor:91",
        },
        "a heartbeat's groups are a `HashSet` of objects without a hash of their own: their order is another in every run; the "
        "product takes them as they come",
        lambda seen: _groups_sorted(seen, "heartbeat"),
    ),
    Corner(
        "groups of a broker",
        "broker",
        {
            "4.9.8": f"{_TABLE}:78, 145",
            "5.3.3": f"{_TABLE}:169, 355; {_FLUSH}:128",
            "5.5.0": f"{_TABLE}:170, 356; {_FLUSH}:127",
        },
        "a scan, a closed channel and a flush go through the groups by the hash of their names, the product by their age",
        lambda seen: _groups_sorted(seen, "close", "advance"),
    ),
    Corner(
        "channels of a group",
        "broker",
        {
            "4.9.8": f"{_GROUP}:78, 86; {_TABLE}:153",
            "5.3.3": f"{_GROUP}:87, 95; {_TABLE}:363",
            "5.5.0": f"{_GROUP}:87, 95; {_TABLE}:364",
        },
        "a group's channels are told, listed and scanned by the hash of their ids, which are drawn at random; in the product "
        "by age. Where notices make something happen before the next is sent, both orders are made to be one",
        _channels_sorted,
    ),
)
