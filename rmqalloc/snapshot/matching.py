"""Select groups and topics by name or pattern, with errors if nothing matches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rmqalloc.errors import Error
from rmqalloc.model import host_of
from rmqalloc.results.and_more import named
from rmqalloc.text import matching, nearest, printable

if TYPE_CHECKING:
    from rmqalloc.snapshot.snapshot import Snapshot

ALL = ("*",)
_MOST_LISTED = 5


class NoMatchError(Error, ValueError):
    """Nothing of a snapshot matches a pattern, or nothing that does can be planned."""


class NamedTwiceError(Error, ValueError):
    """Two groups or two topics of a snapshot have the same name."""


def none_planned(warnings: Sequence[str]) -> NoMatchError:
    """Return the error that nothing is left to plan, with the groups left out."""
    return NoMatchError(
        f"no group can be planned: {'; '.join(warnings) or 'the snapshot has none'}"
    )


def by_name(items: Iterable[Any], what: str) -> dict[str, Any]:
    """Return items by their names."""
    given = list(items)
    named = {item.name: item for item in given}
    if len(named) < len(given):
        raise NamedTwiceError(
            f"two {what} of the snapshot are named {_twice(given)!r}; names must differ"
        )
    return named


def _twice(items: Iterable[Any]) -> str | None:
    """Return the first name that was there before."""
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            return str(item.name)
        seen.add(item.name)
    return None


def chosen(
    patterns: Sequence[str],
    items: Mapping[str, Any],
    what: str,
    snapshot: Snapshot | None = None,
) -> dict[str, Any]:
    """Return items whose name matches one of the patterns.

    Raises
    ------
    NoMatchError
        A pattern matches no item. With a snapshot, the error lists objects of a different kind with
        that name.
    """
    if tuple(patterns) == ALL:
        return dict(items)
    found: set[str] = set()
    for pattern in patterns:
        mine = matching(pattern, items)
        if not mine:
            raise no_match(pattern, items, what, snapshot)
        found.update(mine)
    return {name: item for name, item in items.items() if name in found}


def no_match(
    name: str, names: Collection[str], what: str, snapshot: Snapshot | None = None
) -> NoMatchError:
    """Return the error that nothing has a name or matches a pattern."""
    kind = "" if snapshot is None else kind_of(name, snapshot)
    hint = kind or near(name, names) or _listed(names)
    return NoMatchError(f"no {what} matches {name!r}; {hint.removeprefix('; ')}")


def _listed(names: Collection[str]) -> str:
    """Return how many names the snapshot has, and the first of them."""
    few = named(sorted(names), _MOST_LISTED)
    return f"the snapshot has {len(names):,}" + (f": {few}" if few else "")


def kind_of(name: str, snapshot: Snapshot) -> str:
    """Describe the topic, group, client, host or broker that has a name; "" if none has it."""
    shown = printable(name)
    readers = [group.name for group in snapshot.groups if name in group.subscriptions]
    if readers or any(topic.name == name for topic in snapshot.topics):
        return f"{shown} is a topic; groups that read it: {named(readers) or 'none'}"
    for group in snapshot.groups:
        if group.name == name:
            topics = named(sorted(group.subscriptions))
            return f"{shown} is a consumer group; topics that it reads: {topics or 'none'}"
    clients: dict[str, str] = {}
    for group in reversed(snapshot.groups):
        clients |= dict.fromkeys(group.client_ids, group.name)
    if name in clients:
        return f"{shown} is a client of group {clients[name]}"
    for client_id, group_name in clients.items():
        if host_of(client_id) == name:
            return f"{shown} is a host; client {client_id} of group {group_name} is on it"
    for topic in snapshot.topics:
        if any(broker.broker_name == name for broker in topic.brokers):
            return f"{shown} is a broker; it has queues of topic {topic.name}"
    return ""


def near(name: str, names: Iterable[str]) -> str:
    """Return the end of an error about a name that is not there: those that may be meant, or
    nothing.

    Examples
    --------
    >>> near("order", ["orders", "refunds"]), near("x", ["orders"])
    ("; near it is 'orders'", '')
    """
    found = nearest(name, names, 3, 0.5)
    return (
        f"; near it {'is' if len(found) == 1 else 'are'} {', '.join(map(repr, found))}"
        if found
        else ""
    )
