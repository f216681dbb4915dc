"""Which group an output is about, by its retry topics: a group's own, and those that POP makes of a
group and a topic.

Brokers of 5.0 and later name the retry topic of POP ``%RETRY%group_topic``, or
``%RETRY%group+topic``. No group has a plus in its name, but many have underscores. mqadmin cuts
long names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rmqalloc.model import RETRY_PREFIX


def is_retry_topic_of(topic: str, group: str, topics: Collection[str]) -> bool:
    """Check whether messages of a group come back to a topic.

    Examples
    --------
    >>> is_retry_topic_of("%RETRY%g_orders", "g", {"orders"}), is_retry_topic_of("%RETRY%g_x", "g", {"orders"})
    (True, False)
    """
    if not topic.startswith(RETRY_PREFIX):
        return False
    name = topic.removeprefix(RETRY_PREFIX)
    rest = name.removeprefix(group)
    if len(rest) == len(name):
        return False
    return not rest or rest[0] == "+" or (rest[0] == "_" and rest[1:] in topics)


def may_be_named(group: str, topics: Collection[str], width: int | None = None) -> bool:
    """Check whether an output with these topics may be that of a group: it has no retry topics, or
    some are the group's.
    """
    retry = [topic for topic in topics if topic.startswith(RETRY_PREFIX)]
    if not retry:
        return True
    cut = [topic for topic in retry if _is_cut(topic, width)]
    return any(is_retry_topic_of(topic, group, topics) for topic in retry) or any(
        _is_front(topic, group) for topic in cut
    )


def group_of_retry_topics(
    topics: Collection[str], known: Collection[str], width: int | None = None
) -> str | None:
    """Return the only group that all retry topics may be of, None if there is none or several.

    Examples
    --------
    >>> group_of_retry_topics({"%RETRY%g+orders", "orders"}, (), 64)
    'g'
    >>> group_of_retry_topics({"%RETRY%g_orders", "orders"}, (), 64), group_of_retry_topics({"%RETRY%g_orders"}, ())
    (None, 'g_orders')
    """
    retry = sorted(topic for topic in topics if topic.startswith(RETRY_PREFIX))
    if not retry:
        return None
    if width is None:
        return retry[0].removeprefix(RETRY_PREFIX) if len(retry) == 1 else None
    whole = [topic for topic in retry if not _is_cut(topic, width)]
    cut = [topic for topic in retry if _is_cut(topic, width)]
    names = _names(whole[0], topics) if whole else known
    possible = set()
    for name in names:
        is_of_whole = all(is_retry_topic_of(topic, name, topics) for topic in whole)
        if is_of_whole and all(_is_front(topic, name) for topic in cut):
            possible.add(name)
    decided = possible if len(possible) == 1 else possible & set(known)
    return decided.pop() if len(decided) == 1 else None


def _names(topic: str, topics: Collection[str]) -> Iterator[str]:
    """Yield groups that a retry topic may be of."""
    name = topic.removeprefix(RETRY_PREFIX)
    front, plus, _ = name.partition("+")
    yield front
    if plus:
        return
    all_topics = topics if isinstance(topics, (set, frozenset)) else set(topics)
    for at, character in enumerate(name):
        if at and character == "_" and name[at + 1 :] in all_topics:
            yield name[:at]


def _is_cut(topic: str, width: int | None) -> bool:
    return width is not None and len(topic) >= width


def _is_front(topic: str, group: str) -> bool:
    """Check whether a cut topic may be a retry topic of the group."""
    own = RETRY_PREFIX + group
    return own.startswith(topic) or topic.startswith((f"{own}_", f"{own}+"))
