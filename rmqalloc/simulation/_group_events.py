"""Events of one consumer group in a line of text, such as ``restart batch=2``, and the steps of a
script that they become.

``KIND key=value ...``: the kinds are those of scripts, with two of a group's own (``restart``,
``scale``), and the fields are those of the kind. ``clients`` and ``brokers`` are names or patterns,
or how many: then every run takes others.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Any, NamedTuple

from rmqalloc.client_ids import new_id
from rmqalloc.documents.fields import Duration, FieldError, Milliseconds, ScenarioError, Text, Whole
from rmqalloc.documents.records import Checked, by_name, needed, optional
from rmqalloc.globs import matching
from rmqalloc.limits import MOST_MEMBERS
from rmqalloc.scenarios.client_changes import joining_names
from rmqalloc.simulation._events import EVENTS, StrategyText, WithStrategy
from rmqalloc.snapshot.matching import near
from rmqalloc.text import did_you_mean

APART = 60_000
"""Milliseconds from the end of an event to the next one, where that does not say when it is."""

Step = dict[str, Any]
"""An event of a script, as plain data."""


@dataclass(frozen=True)
class Restart(WithStrategy):
    """All clients are shut down and started again, a batch at a time, in another order in every
    run.
    """

    batch: int = optional(Whole(1, MOST_MEMBERS), 1, "How many clients at a time.")
    every: int = optional(Duration(1), Milliseconds(30_000), "From one batch to the next.")
    down: int = optional(Duration(1), Milliseconds(10_000), "How long a client is gone.")
    ids: str = optional(
        Text(("suffix", "stable", "address")),
        "suffix",
        "Ids with which clients come back, as `rollout restart` has them.",
    )
    strategy: str | None = optional(
        StrategyText(), says="Strategy with which they come back, if it is another one."
    )
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Scale(Checked):
    """Clients join, or are shut down, until there are so many."""

    to: int = needed(Whole(0, MOST_MEMBERS), "How many.")


_LEFT_OUT = ("rolling_restart", "set_consume_mode")
GROUP_EVENTS = by_name(Restart, Scale) | {
    kind: cls for kind, cls in EVENTS.items() if kind not in _LEFT_OUT
}
"""What can happen to a group, by what an event calls it."""

_ALL_IF_LEFT_OUT = {"disconnect", "change_topic", "update_broker_config", "update_sub_group"}
"""Kinds that concern all brokers where none are named; of others one is chosen."""


class StagedEvent(NamedTuple):
    """An event of a group.

    Attributes
    ----------
    text : str
        As it was given.
    kind : str
        A key of `GROUP_EVENTS`.
    given : mapping
        Its fields.
    after : int or None
        Milliseconds after the first event; None: `APART` after the one before is over.
    """

    text: str
    kind: str
    given: Mapping[str, Any]
    after: int | None = None


def read_event(text: str) -> StagedEvent:
    """Read an event.

    Raises
    ------
    ScenarioError
        There is no such kind, or a field is wrong.

    Examples
    --------
    >>> read_event("freeze clients=10.0.* lasts=45s at=2m")[1:]
    ('freeze', {'clients': '10.0.*', 'lasts': '45s'}, 120000)
    """
    try:
        kind, *words = shlex.split(text)
    except ValueError as error:
        raise _wrong(
            text, f"must be KIND key=value ..., such as 'restart batch=2': {str(error).lower()}"
        ) from None
    if kind not in GROUP_EVENTS:
        near_it = did_you_mean(kind, GROUP_EVENTS)
        raise _wrong(
            text, f"has no kind of event {kind!r}; there are {', '.join(GROUP_EVENTS)}{near_it}"
        )
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name in given:
            raise _wrong(text, f"must be KIND key=value ..., each key once, got {word!r}")
        given[name] = _value(value)
    try:
        after = Duration().read(given.pop("at")) if "at" in given else None
        _check(kind, given)
    except FieldError as error:
        raise _wrong(text, str(error)) from None
    return StagedEvent(text, kind, given, after)


def _wrong(text: str, what: str) -> ScenarioError:
    return ScenarioError(what, (), f"event {text[:200]!r}:")


def _value(text: str) -> Any:
    """Return a value as a script holds it: true or false, a whole number, a list, or text."""
    if text in ("true", "false"):
        return text == "true"
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return text.split(",") if "," in text and "(" not in text else text


def _check(kind: str, given: Mapping[str, Any]) -> None:
    """Refuse fields that the kind does not have, and values that are none of their kinds."""
    names = {one.name for one in fields(GROUP_EVENTS[kind])}
    filled: dict[str, Any] = {"clients": "c", "brokers": "b", "group": "g"}
    if "group" in given:
        raise ScenarioError("belongs to the group that is simulated; leave it out", "group")
    for name in ("clients", "brokers"):
        if isinstance(number := given.get(name), int) and not 1 <= number <= MOST_MEMBERS:
            raise ScenarioError(
                f"must be names, patterns or a number from 1 on, got {number}", name
            )
    some = {name: value for name, value in filled.items() if name in names}
    GROUP_EVENTS[kind].of({**given, **some, **{name: some[name] for name in given if name in some}})


class StartedClient(NamedTuple):
    """A client of the group: what a ``join`` of a script says of it.

    Attributes
    ----------
    client_id : str
    strategy : str or None
        None for the group's.
    params : mapping or None
    topics : tuple of str or None
        None for the group's.
    """

    client_id: str
    strategy: str | None = None
    params: Mapping[str, Any] | None = None
    topics: tuple[str, ...] | None = None


class Timed(NamedTuple):
    """An event of a run: when it begins, and when its last step is over."""

    text: str
    at: int
    until: int


class Director:
    """Turn events into steps of a script, while clients come and go.

    Parameters
    ----------
    consumer_group : str
    brokers, topics : sequence of str
        Names.
    random : Random
        Chooses where an event says how many.
    """

    def __init__(
        self, consumer_group: str, brokers: Sequence[str], topics: Sequence[str], random: Random
    ) -> None:
        self.steps: list[Step] = []
        self._group, self._brokers, self._topics, self._random = (
            consumer_group,
            brokers,
            topics,
            random,
        )
        self._living: dict[str, StartedClient] = {}
        self._known: set[str] = set()

    def play(self, events: Sequence[StagedEvent], start: int) -> list[Timed]:
        """Add the steps of all events, the first of which begins at ``start`` (ms)."""
        timed: list[Timed] = []
        for event in events:
            at = start if not timed else timed[-1].until + APART
            if event.after is not None:
                at = start + event.after
            if timed and at <= timed[-1].at:
                raise _wrong(
                    event.text,
                    "must begin after the event before it; give events in the order of time",
                )
            try:
                lasts = self._play(event, at)
            except ScenarioError as error:
                raise _wrong(event.text, str(error)) from None
            timed.append(Timed(event.text, at, at + lasts))
        return timed

    def _play(self, event: StagedEvent, at: int) -> int:
        cls, given = GROUP_EVENTS[event.kind], dict(event.given)
        if cls is Restart:
            return self._restart(Restart.of(given), at)
        if cls is Scale:
            return self._scale(Scale.of(given), at)
        names = {one.name for one in fields(cls)}
        if "group" in names:
            given["group"] = self._group
        if event.kind == "join":
            return self._join_named(given, at)
        if "clients" in names:
            given["clients"] = self._chosen(given.get("clients", 1), self._living, "client")
        if "brokers" in names and ("brokers" in given or event.kind not in _ALL_IF_LEFT_OUT):
            given["brokers"] = self._chosen(given.get("brokers", 1), self._brokers, "broker")
        for topic in (
            self._chosen(given["topic"], self._topics, "topic") if "topic" in names else [None]
        ):
            self._add(at, event.kind, given if topic is None else given | {"topic": topic})
        if event.kind in ("shutdown", "crash", "vanish"):
            for name in given["clients"]:
                del self._living[name]
        return int(getattr(cls.of(given), "lasts", 0))

    def _chosen(self, asked: Any, there: Collection[str], what: str) -> list[str]:
        """Return names: so many by chance, or those that are named or match a pattern."""
        names = sorted(there)
        if isinstance(asked, int):
            if asked > len(names):
                raise ScenarioError(f"asks for {asked} {what}s, and there are {len(names)}")
            return sorted(self._random.sample(names, asked))
        found: dict[str, None] = {}
        for one in [asked] if isinstance(asked, str) else asked:
            mine = [one] if one in there else matching(one, dict.fromkeys(names))
            if not mine:
                raise ScenarioError(
                    f"names {one!r}, which no {what} has that is there then{near(one, names)}"
                )
            found |= dict.fromkeys(mine)
        return list(found)

    def _add(self, at: int, kind: str, given: Mapping[str, Any]) -> None:
        self.steps.append({"at": f"{at}ms", kind: dict(given)})

    def _restart(self, restart: Restart, at: int) -> int:
        names = sorted(self._living)
        if not names:
            raise ScenarioError("restarts the clients of a group, and none is there then")
        self._random.shuffle(names)
        batches = [names[i : i + restart.batch] for i in range(0, len(names), restart.batch)]
        taken = {one.client_id for one in self._living.values()}
        for i, batch in enumerate(batches):
            stop = at + i * restart.every
            self._add(stop, "shutdown", {"clients": sorted(batch)})
            for old in (self._living.pop(name) for name in sorted(batch)):
                back = (
                    old
                    if restart.strategy is None
                    else old._replace(strategy=restart.strategy, params=restart.params)
                )
                if restart.ids != "stable":
                    taken.discard(old.client_id)
                    back = back._replace(client_id=new_id(old.client_id, restart.ids, taken))
                    taken.add(back.client_id)
                self.join([back], stop + restart.down)
        return (len(batches) - 1) * restart.every + restart.down

    def _scale(self, scale: Scale, at: int) -> int:
        more = scale.to - len(self._living)
        if more == 0:
            raise ScenarioError(f"changes nothing: {scale.to} clients are there already")
        if more > 0:
            taken = {one.client_id for one in self._living.values()} | self._known
            self.join(
                [
                    StartedClient(one)
                    for one, _ in zip(joining_names(taken), range(more), strict=False)
                ],
                at,
            )
        else:
            self._add(
                at, "shutdown", {"clients": (gone := self._chosen(-more, self._living, "client"))}
            )
            for name in gone:
                del self._living[name]
        return 0

    def _join_named(self, given: dict[str, Any], at: int) -> int:
        """Let clients join that an event names, or so many."""
        asked = given.pop("clients", 1)
        if isinstance(asked, int):
            names: Iterable[str] = [
                one for one, _ in zip(joining_names(self._known), range(asked), strict=False)
            ]
        else:
            names = [asked] if isinstance(asked, str) else asked
        del given["group"]
        client_id = given.pop("client_id", None)
        self.join([StartedClient(client_id or one, **given) for one in names], at, names)
        return 0

    def join(
        self, clients: Sequence[StartedClient], at: int, names: Iterable[str] | None = None
    ) -> None:
        """Let clients join; those that are alike and have no id besides their names do so in one
        step.
        """
        alike: dict[str, Step] = {}
        for client, wanted in zip(
            clients, names or [one.client_id for one in clients], strict=True
        ):
            name = wanted if wanted not in self._living else self._free(wanted)
            self._living[name] = client
            self._known.add(name)
            step = {one: value for one, value in client._asdict().items() if value is not None}
            if name == client.client_id:
                del step["client_id"]
            step = alike.setdefault(
                repr(sorted(step.items())) if name == client.client_id else name, step
            )
            step["group"] = self._group
            step.setdefault("clients", []).append(name)
        for step in alike.values():
            self._add(at, "join", step)

    def _free(self, name: str) -> str:
        """Return a name for a second client of one id."""
        number = 2
        while f"{name} ({number})" in self._known:
            number += 1
        return f"{name} ({number})"
