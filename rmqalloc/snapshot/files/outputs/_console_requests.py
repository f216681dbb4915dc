"""Requests to RocketMQ Console (now Dashboard) that stand above its answers: ``curl URL``.

An answer does not name what was asked about. As for mqadmin, that is taken from the line with the
request, or from the name of a file: ``route.orders.json``, ``route.query?topic=orders`` (wget).
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote_plus

READ_QUERIES = (
    "groupList",
    "group",
    "consumerConnection",
    "queryTopicByConsumer",
    "consumerRunningInfo",
    "route",
    "queryConsumerByTopic",
)
"""Queries whose answers are read, by the last part of their path."""

OF_TOPICS = ("route", "queryConsumerByTopic")
"""Queries about a topic; the others are about a group."""

_PATH = re.compile(r"/(?:consumer|topic|cluster)/(?P<query>\w{1,64})\.(?:query|refresh)\b")
_SENDER = re.compile(r"\b(?:curl|wget|https?)\b")
_FIELD = re.compile(r"\b(consumerGroup|topic|address|clientId)=([^\s&'\"]*)")
_NAME = re.compile(r"(?P<query>\w{1,64})\.query\?.*", re.DOTALL)


class ConsoleRequest(NamedTuple):
    """A request: the last part of its path, without ``.query``, and its fields."""

    query: str
    fields: dict[str, str]
    start: int = 0  # where its path stands in the line

    @property
    def subject(self) -> str | None:
        """The topic or group that it is about."""
        return self.fields.get("topic" if self.query in OF_TOPICS else "consumerGroup")


def request_in(line: str) -> ConsoleRequest | None:
    """Return the request that a line sends, None if it sends none.

    Examples
    --------
    >>> found = request_in("$ curl -s 'http://127.0.0.1:8080/topic/route.query?topic=%25RETRY%25g'")
    >>> found.query, found.subject
    ('route', '%RETRY%g')
    >>> request_in('{"status":404,"path":"/topic/route.query"}') is None
    True
    """
    path = _PATH.search(line) if "/" in line else None
    if path is None or not _SENDER.search(line, 0, path.start()):
        return None
    return ConsoleRequest(path["query"], _fields(line[path.start() :]), path.start())


def request_of_name(name: str) -> ConsoleRequest | None:
    """Return the request that a file is named after, as wget names it.

    Examples
    --------
    >>> request_of_name("route.query?topic=orders").subject
    'orders'
    """
    found = _NAME.fullmatch(name)
    return ConsoleRequest(found["query"], _fields(name)) if found else None


def _fields(text: str) -> dict[str, str]:
    """Return fields with a value; those whose value is a shell's variable are not known."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        if value and "$" not in value:
            found.setdefault(name, unquote_plus(value))
    return found
