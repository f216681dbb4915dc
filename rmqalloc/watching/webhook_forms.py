"""What a webhook sends of findings that are raised and cleared: one message in each of three forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from rmqalloc.audit import Finding, Findings
from rmqalloc.text import printable, shortened

RAISED, CLEARED = "raised", "cleared"
MOST_FINDINGS = 20
"""Findings of one message; Slack takes 50 blocks."""

_LONGEST = 1000
"""Characters of one text of a message."""

_MOST_NAMES = 20
"""Queues, and clients, of one finding."""

_LONGEST_NAME = 255
_OPEN_FOR = (
    30 * 86_400.0
)  # an alert without an end is over for Alertmanager some minutes after it came
_MARKS = {"error": ":red_circle:", "warning": ":large_orange_circle:", "note": ":white_circle:"}
_MARKUP = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "*": "\u2217",
        "_": "\uff3f",
        "~": "\u223c",
        "`": "\u02cb",
    }
)


class FindingNews(NamedTuple):
    """One finding that was raised or cleared.

    Attributes
    ----------
    status : {"raised", "cleared"}
    finding : Finding
    since : float
        When it was raised, in seconds of the Unix clock.
    until : float or None
        When it was cleared, None while it is raised.
    before : Finding or None
        The same fault with the severity that it had, where that has changed.
    """

    status: str
    finding: Finding
    since: float
    until: float | None = None
    before: Finding | None = None


Form = Callable[[str, Sequence[FindingNews]], Any]
"""Makes the document that is sent of a cluster's name and findings, at most `MOST_FINDINGS`."""


def as_json(cluster: str, told: Sequence[FindingNews]) -> dict[str, Any]:
    """Return findings as `rmqalloc check -o json` has them, each with its status and times.

    Examples
    --------
    >>> one = Finding("idle-client", "warning", "g", None, (), ("c9",), "1 of 9 clients owns no queue.", "Stop it.")
    >>> document = as_json("name servers n:9876", [FindingNews(RAISED, one, 0.0)])
    >>> document["cluster"], document["findings"][0]["status"], document["findings"][0]["since"]
    ('name servers n:9876', 'raised', '1970-01-01T00:00:00.000Z')
    """
    rows = Findings(map(_bounded, (one.finding for one in told))).to_dict()["findings"]
    return {
        "apiVersion": "rmqalloc/v1",
        "kind": "FindingChanges",
        "cluster": _text(cluster),
        "findings": [
            {
                "status": one.status,
                "since": _iso(one.since),
                "until": None if one.until is None else _iso(one.until),
                **row,
                "n_queues": len(one.finding.queues),
                "n_clients": len(one.finding.clients),
            }
            for one, row in zip(told, rows, strict=True)
        ],
    }


def as_slack(cluster: str, told: Sequence[FindingNews]) -> dict[str, Any]:
    """Return a message for an incoming webhook of Slack: a block for each finding, and a line for
    notifications.

    Examples
    --------
    >>> one = Finding("idle-client", "warning", "g", None, (), ("c9",), "<!channel> is idle", "Stop it.")
    >>> print(as_slack("c", [FindingNews(RAISED, one, 0.0)])["blocks"][1]["text"]["text"])
    :large_orange_circle: *raised* warning idle-client g
    &lt;!channel&gt; is idle
    Stop it.
    """
    counts = [
        f"{n} {word}"
        for word in (RAISED, CLEARED)
        if (n := sum(one.status == word for one in told))
    ]
    head = f"rmqalloc: {', '.join(counts)} in {_plain(cluster, 150)}"
    return {"text": head, "blocks": [_block(head), *map(_slack_block, told)]}


def as_alerts(cluster: str, told: Sequence[FindingNews]) -> list[dict[str, Any]]:
    """Return alerts as `POST /api/v2/alerts` of Alertmanager takes them; one that is cleared has
    ended.

    Two alerts are the same for Alertmanager if their labels are: so queues and clients stand in
    annotations, and ``fault``, a few letters, tells faults of one rule and group apart. One that is
    raised ends in 30 days, unless it is cleared before.

    Examples
    --------
    >>> one = Finding("idle-client", "warning", "g", None, (), ("c9",), "1 of 9 clients owns no queue.", "Stop it.")
    >>> as_alerts("c", [FindingNews(RAISED, one, 0.0)])[0]["labels"]["rule"]
    'idle-client'
    """
    ended = [
        FindingNews(CLEARED, one.before, one.since, one.since)
        for one in told
        if one.before is not None
    ]  # the severity is a label: with another one it is another alert
    return [_alert(cluster, one) for one in (*ended, *told)]


FORMS: Mapping[str, Form] = MappingProxyType(
    {"json": as_json, "slack": as_slack, "alertmanager": as_alerts}
)
"""Every form by its name."""


def _alert(cluster: str, told: FindingNews) -> dict[str, Any]:
    one, end = told.finding, told.since + _OPEN_FOR if told.until is None else told.until
    labels = {
        "alertname": f"rmqalloc {one.rule}",
        "rule": one.rule,
        "severity": one.severity,
        "consumer_group": one.consumer_group,
        "topic": one.topic or "",
        "cluster": cluster,
        "fault": _fingerprint(one),
    }
    annotations = {
        "summary": one.message,
        "description": one.advice,
        "queues": _names(
            (f"{it.topic} {it.broker_name}:{it.queue_id}" for it in one.queues), len(one.queues)
        ),
        "clients": _names(one.clients, len(one.clients)),
    }
    return {
        "startsAt": _iso(told.since),
        "endsAt": _iso(end),
        "labels": {name: _text(value) for name, value in labels.items() if value},
        "annotations": {name: _text(value) for name, value in annotations.items() if value},
    }


def _fingerprint(one: Finding) -> str:
    """Return a few letters that differ for findings with other queues or clients."""
    from hashlib import sha256

    return sha256(repr((one.queues, one.clients)).encode("utf-8", "backslashreplace")).hexdigest()[
        :12
    ]


def _slack_block(told: FindingNews) -> dict[str, Any]:
    one = told.finding
    mark = ":white_check_mark:" if told.status == CLEARED else _MARKS.get(one.severity, "")
    where = " ".join(_plain(part, 300) for part in (one.consumer_group, one.topic) if part)
    lines = [
        f"{mark} *{told.status}* {one.severity} {one.rule} {where}".rstrip(),
        _plain(one.message, 1200),
    ]
    return _block(
        "\n".join([*lines, *([_plain(one.advice, 900)] if told.status == RAISED else [])])
    )


def _block(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _plain(text: str, most: int) -> str:
    """Return text that Slack shows as it is, without links, mentions and styles; so many characters
    as they are sent.
    """
    shown = _text(text, most).translate(_MARKUP)
    return shown if len(shown) <= most else re.sub("&[a-z]*$", "", shown[: most - 1]) + "…"


def _text(text: str, most: int = _LONGEST) -> str:
    return shortened(printable(shortened(text, most)), most)


def _name(text: str) -> str:
    return _text(text, _LONGEST_NAME)


def _bounded(one: Finding) -> Finding:
    """Return a finding with texts and lists of bounded length."""
    queues = (
        it._replace(topic=_name(it.topic), broker_name=_name(it.broker_name))
        for it in one.queues[:_MOST_NAMES]
    )
    return Finding(
        one.rule,
        one.severity,
        _name(one.consumer_group),
        None if one.topic is None else _name(one.topic),
        tuple(queues),
        tuple(map(_name, one.clients[:_MOST_NAMES])),
        _text(one.message),
        _text(one.advice),
    )


def _names(names: Iterable[str], n: int) -> str:
    """Return the first few of some names, and how many there are besides."""
    first = [name for name, _ in zip(names, range(10), strict=False)]
    return ", ".join(
        [*(shortened(name, 80) for name in first), *([f"{n - 10:,} more"] if n > 10 else [])]
    )


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
