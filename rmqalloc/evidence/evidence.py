"""Evidence of the groups of a snapshot: a table with a row per group, from which notes are made."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import floor
from typing import ClassVar

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.evidence.client_method import are_plain, known_by_client
from rmqalloc.evidence.method import Method
from rmqalloc.results import TableResult
from rmqalloc.results.and_more import named
from rmqalloc.results.schemas import table_of
from rmqalloc.snapshot.cut_names import all_cut_names
from rmqalloc.snapshot.data_time import age_of, taken_at
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic
from rmqalloc.snapshot.unknown import KINDS, Unknowns
from rmqalloc.text import counted, matcher

EVIDENCE_SCHEMA = pa.schema(
    [
        ("consumer_group", pa.string()),
        ("source", pa.string()),
        ("strategy", pa.string()),
        ("parameters", pa.string()),
        ("explains", pa.float64()),
        ("differs", pa.int64()),
        ("n_clients", pa.int64()),
        ("n_reporting", pa.int64()),
        ("doubt", pa.string()),
        ("fetched_at", pa.string()),
        ("age_seconds", pa.float64()),
        ("errors", pa.list_(pa.string())),
        ("may_be_cut", pa.list_(pa.string())),
    ]
)
"""Columns of `Evidence.groups`."""

BY_CLIENT = "by client"
STRENGTHS: Mapping[str, int] = {"given": 3, "reported": 2, BY_CLIENT: 2, "fitted": 1, "assumed": 0}
"""Sources of a strategy; a greater number is more to rest on."""

_OLD = 3600.0
"""Seconds from which on the notes say when the snapshot was taken."""


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(TableResult):
    """Evidence of the groups of a snapshot; the result of `evidence_of`.

    Attributes
    ----------
    groups : pyarrow.Table
        One row per group, in the order of the snapshot: `EVIDENCE_SCHEMA`. ``source`` is "given",
        "reported", "fitted", "assumed", or "by client" if clients differ and each client's strategy
        is known; null if the clients do not divide the queues. ``parameters`` is JSON. ``explains``
        is the share of the queues with one known owner that the strategy gives to that owner,
        ``differs`` the number of queues whose reported owners are not the computed owners; both
        null if not known. ``n_reporting`` clients report their queues. ``errors`` are unknown facts of
        the group, and failed requests about the group, its topics or their brokers; ``may_be_cut``
        are names of its topics and brokers that mqadmin may have cut. ``age_seconds`` is null if
        the time of the snapshot is not known.
    """

    TABLES: ClassVar = ("groups",)
    NOTES: ClassVar = ()

    groups: pa.Table

    def notes(self) -> Iterator[str]:
        """Yield the evidence in a few lines, without stated strategies that nothing contradicts."""
        columns = [self.groups[name].to_pylist() for name in ("consumer_group", *_REMARKED)]
        found: dict[str, list[str]] = {}
        text_of = lru_cache(maxsize=None)(_remarks)  # most groups are alike
        for name, *about in zip(*columns, strict=True):
            *facts, may_be_cut = about
            for text in text_of(*facts, tuple(may_be_cut)):
                found.setdefault(text, []).append(name)
        yield from self._taken()
        yield from (f"{text}: {named(names)}" for text, names in found.items())

    def lacking_something(self) -> list[str]:
        """Return groups that a failed request affects."""
        names, errors = self.groups["consumer_group"], self.groups["errors"]
        rows = zip(names.to_pylist(), errors.to_pylist(), strict=True)
        return [name for name, texts in rows if not all(map(_is_stated, texts))]

    def _taken(self) -> Iterator[str]:
        """Yield when the snapshot was taken, if that is a while ago."""
        age = self.groups["age_seconds"][0].as_py() if self.groups.num_rows else None
        if age is not None and age >= _OLD:
            yield f"the snapshot was taken at {self.groups['fetched_at'][0]}"

    def weaker(self, least: str) -> list[str]:
        """Return groups that divide their queues and whose strategy has weaker evidence than a
        source; a strategy in doubt counts as assumed.

        Parameters
        ----------
        least : {"given", "reported", "fitted", "assumed"}

        Raises
        ------
        ValueError
            There is no such source.
        """
        if least not in STRENGTHS:
            raise ArgumentError(
                f"{least!r} is no source of a strategy; sources are {', '.join(STRENGTHS)}"
            )
        columns = (self.groups[name].to_pylist() for name in ("consumer_group", "source", "doubt"))
        return [
            name
            for name, source, doubt in zip(*columns, strict=True)
            if source is not None and _strength(source, doubt) < STRENGTHS[least]
        ]

    def weaker_notes(self, names: Collection[str]) -> Iterator[str]:
        """Yield the evidence of some groups, one line for equal evidence."""
        found: dict[str, list[str]] = {}
        columns = (self.groups[name].to_pylist() for name in ("consumer_group", "source", "doubt"))
        for name, source, doubt in zip(*columns, strict=True):
            if name in names:
                basis = source if doubt is None else f"{source}, in doubt"
                found.setdefault(basis, []).append(name)
        yield from (f"{source}: {named(some)}" for source, some in found.items())


def evidence_of(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    differing: Mapping[str, int | None] | None = None,
    now: datetime | None = None,
) -> Evidence:
    """Return the evidence of groups.

    Parameters
    ----------
    snapshot : Snapshot
        With its strategies, see `with_strategies`.
    groups : sequence of str
        Patterns for `fnmatch.fnmatchcase`.
    differing : mapping of str to int or None, optional
        ``differs`` by group, see `rmqalloc.evaluation.differing.differing_queues`.
    now : datetime, optional
        By default the present time.

    Examples
    --------
    >>> from rmqalloc.evidence import with_strategies
    >>> evidence = evidence_of(with_strategies(Snapshot(groups=(Group("g", strategy="AVG"), Group("h")))))
    >>> evidence.groups.select(["consumer_group", "source", "explains"]).to_pylist()[1]
    {'consumer_group': 'h', 'source': 'assumed', 'explains': None}
    >>> evidence.weaker("fitted")
    ['h']
    """
    is_wanted = matcher(tuple(groups))
    cut = all_cut_names(snapshot.topics)
    routes = {topic.name: topic for topic in snapshot.topics if cut or snapshot.errors}
    unknown, differing = Unknowns(snapshot), differing or {}
    age = age_of(taken_at(snapshot), (now or datetime.now(UTC)).timestamp())
    rows = []
    for group in snapshot.groups:
        if not is_wanted(group.name):
            continue
        names = group.subscriptions if routes else ()
        topics = [routes[name] for name in names if name in routes]
        params = group.strategy_params
        row = (
            group.name,
            _source(group),
            group.strategy,
            json.dumps(params, sort_keys=True) if params else None,
            group.strategy_explains,
            differing.get(group.name),
            len(group.clients),
            len([client for client in group.clients if client.owned is not None]),
            group.strategy_doubt,
            snapshot.fetched_at,
            age,
            unknown.touching(group, topics),
            _cut(topics, cut),
        )
        rows.append(row)
    return Evidence(table_of(rows, EVIDENCE_SCHEMA))


def _source(group: Group) -> str | None:
    """Return what the strategy of a group rests on."""
    if group.strategy_source is None or are_plain(group):
        return group.strategy_source
    return BY_CLIENT if known_by_client(group) else group.strategy_source


def _strength(source: str, doubt: str | None) -> int:
    return STRENGTHS["assumed"] if doubt is not None and source != BY_CLIENT else STRENGTHS[source]


def _cut(topics: Sequence[Topic], cut: Mapping[str, list[str]]) -> list[str]:
    names: dict[str, None] = {}
    if cut:
        for topic in topics:
            names.update(dict.fromkeys(cut.get(topic.name, ())))
    return list(names)


# --- Notes ---

_REMARKED = ("source", "strategy", "parameters", "explains", "differs", "may_be_cut")


def _remarks(
    source: str | None,
    strategy: str | None,
    parameters: str | None,
    explains: float | None,
    differs: int | None,
    may_be_cut: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the notes on a group, without its name."""
    found = []
    if source is not None and (source != "given" or explains not in (None, 1.0)):
        owners = "owners not known"
        if explains is not None:
            owners = f"explains {floor(explains * 100)} % of the known owners"
        if source == BY_CLIENT:  # that clients differ, and how, is said as a doubt
            if explains is not None:
                found.append(f"the strategy of the group {owners}")
        else:
            method = Method(strategy or "", json.loads(parameters or "{}"))
            found.append(f"strategy {method}, {source}, {owners}")
    if differs:
        found.append(
            f"{counted(differs, 'queue has', 'queues have')} reported owners that differ from the computed owners"
        )
    if may_be_cut:
        found.append(f"mqadmin may have cut {named(may_be_cut)}")
    return tuple(found)


def _is_stated(error: str) -> bool:
    """Return whether a text of ``errors`` is what the snapshot says of itself."""
    return error.partition(": ")[0] in KINDS
