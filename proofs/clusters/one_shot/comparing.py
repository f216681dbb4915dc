"""The rule: each sample of a running service is that of a single reading of the same moment, or absent, or
has its age.

Samples are the series of ``/metrics`` and the values of ``/v1`` answers, by the names of what they
are about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from prometheus_client.parser import text_string_to_metric_families

Place = tuple[str, ...]

_NAMES = (
    "rule", "consumer_group", "name", "topic", "broker_name", "queue_id", "client_id", "source", "queue",
)  # fmt: skip
"""Fields that say what a row is about."""

_OF_THE_PROCESS = (
    "process_", "rmqalloc_info", "rmqalloc_ready", "rmqalloc_reading", "rmqalloc_source_errors",
    "rmqalloc_group_unsettled", "rmqalloc_groups_unsettled", "rmqalloc_group_last_settle",
    "rmqalloc_lasting_findings", "rmqalloc_group_owners_age", "rmqalloc_group_not_known",
)  # fmt: skip
"""Beginnings of metrics that one reading cannot have, or that say how readings went and what is absent."""

_OF_THE_READING = {
    "fetched_at", "read", "events", "unsettled_since", "errors", "unknown", "not_known", "evidence",
    "counts", "message", "advice", "source", "detail", "consume_tps",
}  # fmt: skip
"""Fields of documents of the same kind, texts, and rates that are measured at each moment."""


_COUNTED = {"errors", "warnings", "notes", "worst"}
"""Fields of a group that count what was found: too little where something is not known, as it says."""


_OF_DOWN = ("silent-broker", "broker-left", "silent-name-server")
"""Findings that a source is down."""
_OF_CLIENTS = "GET_CONSUMER_RUNNING_INFO"


class Answers(NamedTuple):
    """What a service says at one moment.

    Attributes
    ----------
    samples : mapping of Place to value
    age : float or None
        Of the data, as each answer states it.
    failed : str or None
        Why the last reading failed, as ``/v1/status`` states it.
    dated : frozenset of str
        Groups and topics whose lists of clients and routes are kept with a time.
    silent : frozenset of str
        Requests to clients without an answer.
    """

    samples: Mapping[Place, Any]
    age: float | None
    failed: str | None
    dated: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()


class Compared(NamedTuple):
    """How many samples there are of each kind, and what breaks the rule."""

    counts: Mapping[str, int]
    faults: tuple[str, ...]


def answers_of(client: Any) -> Answers:
    """Ask a service for everything."""
    status = client.get("/v1/status").json()
    samples = dict(_metrics(client.get("/metrics").text))
    listed = client.get("/v1/groups")
    age = listed.headers["rmqalloc-age"]
    snapshot = client.get("/v1/snapshot").json()
    documents = {"groups": listed.json(), "check": client.get("/v1/check").json()}
    for row in listed.json()["groups"]:
        path = f"/v1/groups/{quote(row['consumer_group'], safe='')}"
        documents[f"group {row['consumer_group']}"] = client.get(path).json()
        documents[f"check {row['consumer_group']}"] = client.get(f"{path}/check").json()
    for name, document in (documents | {"snapshot": snapshot}).items():
        samples |= values(document, (name,))
    failed = status["error"] if status["n_failed_in_row"] else None
    known_age = None if age == "unknown" else float(age)
    requests = [error["request"] for error in snapshot.get("errors", ())]
    silent = frozenset(name for name in requests if name.startswith(_OF_CLIENTS))
    return Answers(samples, known_age, failed, frozenset(_dated(snapshot)), silent)


def _dated(snapshot: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places of groups and topics that state when they were read."""
    for kind, fact in (("groups", "clients"), ("topics", "routes")):
        for part in snapshot.get(kind, ()):
            if "of 20" in part.get("unknown", {}).get(fact, ""):
                yield f"{kind} {part['name']}"


def _metrics(text: str) -> Iterator[tuple[Place, float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            is_counted = family.type == "counter"
            if not is_counted and not sample.name.startswith(_OF_THE_PROCESS):
                labels = sorted(sample.labels.items())
                place = "metrics", sample.name, *(f"{name}={value}" for name, value in labels)
                yield place, sample.value


def values(document: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Yield the values of a document by their places; a row of which nothing is known has none."""
    if isinstance(document, dict):
        if document.get("known") == "unknown":
            return
        left_out = _OF_THE_READING | (_COUNTED if document.get("not_known") else set())
        for name, value in document.items():
            if name not in left_out and not name.endswith("_rows"):
                yield from values(value, (*place, name))
    elif isinstance(document, list) and any(isinstance(row, dict) for row in document):
        seen = Counter[str]()
        for row in document:
            about = " ".join(f"{name}={row[name]}" for name in _NAMES if row.get(name) is not None)
            seen[about] += 1
            yield from values(row, (*place, f"{about} {seen[about]}"))
    elif document not in (None, [], {}):
        yield place, document


def compared(served: Answers, fresh: Collection[Answers | None]) -> Compared:
    """Compare a service with single readings around its own.

    Parameters
    ----------
    served : Answers
    fresh : collection of Answers or None
        Of a reading before and one after; None for one that failed.
    """
    found = [answers.samples for answers in fresh if answers is not None]
    counts, faults = Counter[str](), []
    for place, value in served.samples.items():
        if any(place in samples and samples[place] == value for samples in found):
            counts["equal"] += 1
        elif has_age(place, value, served):
            counts["aged"] += 1
        elif not is_down(place, value):
            single = [samples.get(place) for samples in found]
            faults.append(f"{' / '.join(place)} is {value!r}, of a single reading {single!r}")
    wanted = set[Place]().union(*found)
    counts["absent"] = len(wanted - served.samples.keys())
    counts["samples"] = len(wanted | served.samples.keys())
    return Compared(counts, tuple(faults))


def is_comparable(served: Answers, fresh: Collection[Answers | None]) -> bool:
    """Return whether no client was too slow for the service alone: on a busy machine one may be."""
    silent = [answers.silent for answers in fresh if answers is not None]
    return not silent or served.silent <= frozenset[str]().union(*silent)


def has_age(place: Place, value: Any, served: Answers) -> bool:
    """Return whether the service states how old a sample is: that its last reading failed, and the
    age of the data; or, in the snapshot and in the answer about one group, when it was read.
    """
    is_kept = isinstance(value, str) and "of 20" in value  # it is the sentence that states the time
    if is_kept or (served.failed and served.age is not None):
        return True
    group = place[0].removeprefix("group ")
    if group != place[0]:
        return f"groups {group}" in served.dated
    return place[0] == "snapshot" and any(
        place[1] == kind and place[2] == f"name={name} 1"
        for kind, name in (part.split(" ", 1) for part in served.dated)
    )


def is_down(place: Place, value: Any) -> bool:
    """Return whether a sample says that a source does not answer, of which one reading knows nothing
    once it has left the route.
    """
    is_silent = place[0] == "snapshot" and place[1] in ("brokers", "departed")
    is_found = any(f"rule={rule}" in part for rule in _OF_DOWN for part in place)
    is_sample = place[1] in ("rmqalloc_source_up", "rmqalloc_present")
    return is_silent or is_found or (is_sample and value == 0.0)
