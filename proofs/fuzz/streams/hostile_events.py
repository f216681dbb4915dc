"""Events that are wrong in one way each, of every kind, for topics, groups and clients that good
events have.
"""

import json
import re
import time
from datetime import UTC, datetime
from itertools import chain, zip_longest

N_TOPICS, N_CLIENTS = 12, 6
"""Topics, and clients of each group, of `live_events.history`."""

NUMBERED = 1_000_000
"""The ``sequence`` of the first; those of good events are smaller."""

_DAY = 86_400


def _iso(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _times(now):
    """Values of ``event_time``."""
    return {
        "times in the far future": [
            *map(_iso, (now + 7200, now + 40 * _DAY)),
            "2200-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ],
        "times in the far past": [
            *map(_iso, (now - 8 * _DAY, now - 9000 * _DAY)),
            "1970-01-01T00:00:00Z",
            _DAY,
        ],
        "times before 1970": ["1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", -1, -(10**10)],
        "times beyond the clock's type": ["+292278-01-01T00:00:00Z", 2**63 - 1, -(2**63), 10**15],
        "times beyond 64 bits": [10**30, 2**64, -(10**30), 1e300],
        "milliseconds and smaller for seconds": [
            int(now * unit) for unit in (1_000, 1_000_000, 1_000_000_000)
        ],
        "times of other types": ["now", "yesterday", "", 1.5, True, {}, [], None],
    }


def _route(*queues):
    return [{"broker_name": f"b{i}", "read_queue_nums": n} for i, n in enumerate(queues)]


def _routes():
    """Values of ``brokers``."""
    names = [[{"broker_name": one, "read_queue_nums": 1}] for one in ("", None, "b" * 65_537)]
    return {
        "queues of a broker": [_route(n) for n in (65_537, 1_048_576, 1_048_577, 2**31 - 1)],
        "queues beyond their type": [_route(n) for n in (2**31, 2**63, 10**30, -(2**31) - 1)],
        "negative queues": [_route(-1), _route(-1_048_576), _route(-(2**31)), _route(4, -4)],
        "queues of all brokers": [
            _route(*[1 << 20] * 4),
            _route(1 << 15, 1 << 15, 1),
            _route(*[2**31 - 1] * 9),
        ],
        "many brokers": [_route(*[1] * 70_000)],
        "brokers named twice": [_route(1) * 2, _route(4, 5) + _route(4), _route(0) * 3],
        "names of brokers": names,
        "brokers of other types": [
            {},
            [1],
            [{}],
            "b0",
            None,
            [None],
            [[]],
            _route("4"),
            _route(1.5),
            _route(None),
        ],
    }


def _fields():
    """Fields of an event of a client, and their values."""
    wide = [f"T{i}" for i in range(300)]
    return {
        "channels": [{"channels": n} for n in (2 * 10**9, 1025, 0, -1, 2**31 - 1)],
        "channels of other types": [{"channels": one} for one in (10**10, "2", 1.5, [], True)],
        "long names of clients": [
            {"client_id": one} for one in ("c" * 65_537, "é" * 32_769, "c\n" * 150_000)
        ],
        "long names of groups": [{"consumer_group": one} for one in ("g" * 65_537, "|" * 70_000)],
        "long names of topics": [{"topic": one} for one in ("T" * 65_537, "T\n" * 40_000)],
        "long for many topics": [{"topics": wide, "client_id": "c" * 60_000}],
        "no client": [{"client_id": one} for one in ("", None)],
        "no group": [{"consumer_group": one} for one in ("", None)],
        "no topic": [{"topic": ""}, {"topic": None}, {"topics": []}, {"topics": [""]}],
        "topics of other types": [{"topics": one} for one in ("T0", {}, 5)],
        "kinds": [{"kind": one} for one in ("jion", "JOIN", "join\nleave", ["join"], None, "", 0)],
        "sequences of other types": [
            {"sequence": one} for one in (2**63, -(2**63) - 1, 1.5, "1", [])
        ],
    }


def _texts(now):
    """Lines that are no JSON, or none of an event."""
    join = json.dumps(
        {
            "event_time": _iso(now),
            "kind": "join",
            "topic": "T0",
            "consumer_group": "T0-a",
            "client_id": "x",
        }
    )
    numbers = ("NaN", "Infinity", "-Infinity", "1e999")
    return {
        "no JSON": ["no JSON", "\x1b[2J", "{", "}", '{"kind": join}', "<event/>", "'", "a,b", "0x1F"],
        "JSON that is no object": ["[]", "5", '"join"', "[" * 3000, "true", "null", "-0"],
        "NaN and infinity": [
            *(join.replace("{", f'{{"channels": {one}, ', 1) for one in numbers),
            *(re.sub(r'"event_time": "[^"]*"', f'"event_time": {one}', join) for one in numbers),
        ],
        "cut off": [join[:-1], join[:40], f'{join[:-1]}, "channels": '],
        "broken over two lines": [join[:30], join[30:]],
    }  # fmt: skip


def hostile(n, now=None):
    """So many wrong events with their kinds, as pairs; of every kind the first form comes first.

    What has a time that is taken has one that would make all good events late if it moved the
    watermark.
    """
    now = time.time() if now is None else now
    forms = {
        **{kind: [{"event_time": one} for one in some] for kind, some in _times(now).items()},
        **{
            kind: [{"kind": "route", "brokers": one} for one in some]
            for kind, some in _routes().items()
        },
        **_fields(),
        **_texts(now),
    }
    in_turn = zip_longest(*([(kind, form) for form in some] for kind, some in forms.items()))
    each = [pair for pair in chain.from_iterable(in_turn) if pair is not None]
    if n < len(forms):
        raise ValueError(
            f"there are {len(forms)} kinds of events, and {n} events do not have all of them"
        )
    return [
        (kind, _event(form, number, now))
        for number in range(n)
        for kind, form in [each[number % len(each)]]
    ]


def _event(form, number, now):
    """An event of a form for a topic, a group and a client that are there."""
    if isinstance(form, str):
        return form
    topic = f"T{number % N_TOPICS}"
    of_client = {
        "consumer_group": f"{topic}-{'ab'[number % 2]}",
        "client_id": f"c{number % N_CLIENTS}",
    }
    kind = {"kind": ("join", "heartbeat", "leave")[number % 3], **of_client}
    return {"event_time": _iso(now), "sequence": NUMBERED + number, "topic": topic, **kind, **form}


def kinds_of_rows(rows, events):
    """The kinds of refused rows, given the events of `hostile`; None for any other row."""
    numbers = {
        event["sequence"]: kind
        for kind, event in events
        if isinstance(event, dict) and _is_numbered(event)
    }
    texts = {event if isinstance(event, str) else json.dumps(event): kind for kind, event in events}
    found = []
    for row in rows:
        number = re.search(r'"sequence": ?(1\d{6})\b', row["event"] or "")
        found.append(numbers.get(int(number[1])) if number else texts.get(row["event"]))
    return found


def _is_numbered(event):
    return isinstance(event["sequence"], int) and NUMBERED <= event["sequence"] < 2 * NUMBERED
