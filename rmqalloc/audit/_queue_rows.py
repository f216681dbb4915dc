"""Queues with their readers as numbers: those of ordinary groups in bulk from the state of a plan,
all others one by one.

What is known of the queues of a group and a topic stands once for all of them. Texts are made where
somebody reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.audit._owner_signs import ComputedOwners
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.reach_answers import Answer, reports
from rmqalloc.evidence.views.unit_views import Ids
from rmqalloc.fleet.arrow import text_array
from rmqalloc.fleet.columns import offsets_of, ranges
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.reader_sets import Keys, Mask
from rmqalloc.results import compute as pc
from rmqalloc.results.renderer import ranks
from rmqalloc.results.schemas import columns

OWNED_QUEUES_SCHEMA = columns(
    "consumer_group topic broker_name: string",
    "queue_id: int64",
    "owners: [string]",
    "known state reason: string",
    "messages: int64",
    "last_consumed detail: string",
    "perhaps: [string]",
)
"""Columns of `CurrentOwners.queues`."""

_TIME = pa.timestamp("ms")
_FACTS = columns("consumer_group topic known state reason detail: string")
_LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""

WORST = ("unread", "several-owners", "unknown", "read")
"""What queues are, the worst first."""


class CodedNames(NamedTuple):
    """Numbers that stand for names."""

    names: pa.Array  # once each
    codes: NDArray[Any]

    @classmethod
    def of(cls, names: list[str]) -> CodedNames:
        """Number names."""
        coded = pc.dictionary_encode(pa.array(names, pa.string()))
        return cls(coded.dictionary, coded.indices.to_numpy())

    @classmethod
    def joined(cls, parts: Sequence[CodedNames]) -> CodedNames:
        """Return several columns end to end."""
        coded = pc.dictionary_encode(pa.concat_arrays([part.names for part in parts]))
        starts = offsets_of(len(part.names) for part in parts)[:-1]
        places = [part.codes + start for part, start in zip(parts, starts, strict=True)]
        return cls(coded.dictionary, coded.indices.to_numpy()[np.concatenate(places)])

    def text(self) -> pa.Array:
        """Return the names themselves."""
        return pc.take(self.names, pa.array(self.codes))

    def ranks(self) -> Keys:
        """Return numbers in the order of the names."""
        found: Keys = ranks(self.names)[self.codes]
        return found


class RowLags(NamedTuple):
    """Messages not yet consumed of each row, 0 if unknown."""

    messages: Keys
    is_known: Mask


class QueueRows(NamedTuple):
    """A row for every queue of some groups, and of topics without a group."""

    facts: (
        pa.Table
    )  # what is known of all queues of a group and topic, or of some of them: `_FACTS`
    group: Keys  # by fact, the position of the group; -1 for none
    fact_of_row: Keys  # by row, the position in `facts`
    brokers: CodedNames
    queue_ids: Keys
    reader_offsets: Keys  # where the readers of each row begin
    readers: CodedNames
    messages: pa.Array  # the lag, null if unknown
    last_consumed: pa.Array  # ms since the epoch, null if unknown

    @classmethod
    def joined(cls, parts: Sequence[QueueRows]) -> QueueRows:
        """Return several parts end to end."""
        parts = [part for part in parts if part.facts.num_rows] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        starts = offsets_of(part.facts.num_rows for part in parts)[:-1]
        fact_of_row = [part.fact_of_row + start for part, start in zip(parts, starts, strict=True)]
        sizes = np.concatenate([np.diff(part.reader_offsets) for part in parts])
        return cls(
            facts=pa.concat_tables([part.facts for part in parts]).combine_chunks(),
            group=np.concatenate([part.group for part in parts]),
            fact_of_row=np.concatenate(fact_of_row),
            brokers=CodedNames.joined([part.brokers for part in parts]),
            queue_ids=np.concatenate([part.queue_ids for part in parts]),
            reader_offsets=offsets_of(sizes),
            readers=CodedNames.joined([part.readers for part in parts]),
            messages=pa.concat_arrays([part.messages for part in parts]),
            last_consumed=pa.concat_arrays([part.last_consumed for part in parts]),
        )

    def take(self, places: Keys) -> QueueRows:
        """Return some of the rows."""
        first, some = self.reader_offsets[places], pa.array(places)
        sizes = self.reader_offsets[places + 1] - first
        of_reader = ranges(first, sizes)
        return self._replace(
            fact_of_row=self.fact_of_row[places],
            brokers=self.brokers._replace(codes=self.brokers.codes[places]),
            queue_ids=self.queue_ids[places],
            reader_offsets=offsets_of(sizes),
            readers=self.readers._replace(codes=self.readers.codes[of_reader]),
            messages=pc.take(self.messages, some),
            last_consumed=pc.take(self.last_consumed, some),
        )

    def worst_first(self) -> QueueRows:
        """Return the rows in order: by what they are, then the largest lag first, then by name."""
        lags, worst = self.lags(), self.worst()[self.fact_of_row]
        order = np.lexsort((self.by_name(), -lags.messages, ~lags.is_known, worst))
        return self if np.array_equal(order, np.arange(order.size)) else self.take(order)

    def of_reader(self) -> Keys:
        """Return the row of every reader."""
        return np.repeat(np.arange(self.fact_of_row.size), np.diff(self.reader_offsets))

    def worst(self) -> Keys:
        """Return what the queues of each fact are, as places in `WORST`."""
        is_several = pc.equal(self.facts["reason"], "several-owners")
        kinds = pc.if_else(is_several, "several-owners", self.facts["state"])
        found: Keys = pc.index_in(kinds, pa.array(WORST)).to_numpy()
        return found

    def lags(self) -> RowLags:
        """Return the lag of every queue."""
        is_known = pc.is_valid(self.messages).to_numpy(zero_copy_only=False)
        return RowLags(pc.fill_null(self.messages, 0).to_numpy(), is_known)

    def by_name(self) -> Keys:
        """Return numbers in the order of group, topic, broker and queue id."""
        groups = ranks(self.facts["consumer_group"])[self.fact_of_row]
        topics = ranks(self.facts["topic"])[self.fact_of_row]
        return numbered((groups, topics, self.brokers.ranks(), self.queue_ids))

    def table(self) -> pa.Table:
        """Return the same as text: `OWNED_QUEUES_SCHEMA`."""
        of_row = pa.array(self.fact_of_row)
        made = {name: pc.take(self.facts[name], of_row) for name in _FACTS.names}
        made |= {
            "broker_name": self.brokers.text(),
            "queue_id": pa.array(self.queue_ids),
            "messages": self.messages,
        }
        texts = pc.replace_substring(pc.cast(self.last_consumed, pa.string()), " ", "T")
        made["last_consumed"] = pc.binary_join_element_wise(texts, "Z", "")
        readers = pa.ListArray.from_arrays(
            pa.array(self.reader_offsets.astype(np.int32)), self.readers.text()
        )
        unknown = pc.equal(made["known"], "unknown").to_numpy()
        made |= {"owners": nulls_where(unknown, readers), "perhaps": nulls_where(~unknown, readers)}
        return pa.table(made, OWNED_QUEUES_SCHEMA)


def nulls_where(mask: Mask, column: pa.Array) -> pa.Array:
    """Return a column with nulls where a condition holds."""
    return pc.take(column, pa.array(np.arange(mask.size), mask=mask)) if mask.any() else column


def numbered(keys: Iterable[Keys]) -> Keys:
    """Return numbers in the order of some keys from -1 on, of which the first comes first; equal
    ones for equal rows.
    """
    first, *others = keys
    numbers: Keys = first.astype(np.int64)
    for key in others:
        n = 2 + int(key.max(initial=0))
        if int(numbers.max(initial=0)) >= np.iinfo(np.int64).max // n - 1:
            numbers = np.unique(numbers, return_inverse=True)[1]
        numbers = (numbers + 1) * n + key
    return numbers


def exact_sums(numbers: Keys, places: Keys, n: int) -> NDArray[Any]:
    """Return the sums of numbers from 0 on by place; as objects of Python where an int64 may not
    hold one.
    """
    if numbers.size and int(numbers.max()) > np.iinfo(np.int64).max // numbers.size:
        numbers = numbers.astype(object)
    sums = np.zeros(n, numbers.dtype)
    np.add.at(sums, places, numbers)
    return sums


# --- Where they come from ---


def queue_rows(chosen: ChosenGroups, answers: Iterable[Answer]) -> QueueRows:
    """Return the rows of groups of which all queues are read, and those of the answers of all
    others, the worst first.
    """
    place = {id(signed): at for at, signed in enumerate(chosen.all)}
    owners = chosen.owners
    if owners is None:
        return QueueRows.joined([_one_by_one(list(answers), place, None)]).worst_first()
    whole, rows, others = list[Answer](), list[int](), list[Answer]()
    for answer in answers:
        row = _row_of(answer, owners)
        if row < 0:
            others.append(answer)
        else:
            whole.append(answer)
            rows.append(row)
    facts, group = _facts_of(whole, place)
    lags = _lags(whole, [len(answer.queues) for answer in whole])
    of_whole = _of_state(owners, np.array(rows, np.int64), facts, group)._replace(**lags)
    parts = [_one_by_one(others, place, owners), _read_whole(chosen, owners), of_whole]
    return QueueRows.joined(parts).worst_first()


def _row_of(answer: Answer, owners: ComputedOwners) -> int:
    """Return the row of the unit of an ordinary group of which an answer has all queues; -1 if
    there is none.
    """
    signed, written = answer.signed, answer.written
    if signed is None or written is None or not signed.is_ordinary:
        return -1
    if answer.queues is not written.visible:
        return -1
    return owners.row_of.get((signed.group.name, answer.topic), -1)


def _read_whole(chosen: ChosenGroups, owners: ComputedOwners) -> QueueRows:
    """Return the rows of groups of which all queues are read: no answer is asked for of these."""
    place = {signed.group.name: at for at, signed in enumerate(chosen.all)}
    units, topics = owners.units, owners.units.topics
    positions = np.array([place[group.name] for group in units.groups], np.int64)
    of_row = positions[units.group_of]
    is_wanted = np.array([signed.reads_all for signed in chosen.all], bool)[of_row]
    is_wanted &= np.array([bool(chosen.has_topic(topic)) for topic in topics], bool)
    rows = np.flatnonzero(is_wanted)
    group = of_row[rows]
    is_reported = np.array([bool(signed.signs & Sign.OWNED) for signed in chosen.all], bool)[group]
    for at in np.flatnonzero(is_reported & units.is_retry[rows]).tolist():
        is_reported[at] = reports(chosen.all[group[at]], topics[rows[at]])
    names = pa.array([signed.group.name or None for signed in chosen.all], pa.string())
    facts = {
        "consumer_group": pc.take(names, pa.array(group)),
        "topic": pa.array([topics[row] or None for row in rows.tolist()], pa.string()),
        "known": pc.take(pa.array(["computed", "reported"]), pa.array(is_reported.astype(np.int8))),
        "state": pa.repeat("read", rows.size),
        "reason": pa.repeat("owner", rows.size),
        "detail": pa.nulls(rows.size, pa.string()),
    }
    return _of_state(owners, rows, pa.table(facts, schema=_FACTS), group)


def _of_state(owners: ComputedOwners, rows: Keys, facts: pa.Table, group: Keys) -> QueueRows:
    """Return all queues of some rows of the state, with one fact for each row: in ordinary groups
    one client reads each queue.
    """
    state, numbers = owners.state, owners.numbers
    first = np.searchsorted(state.queues, rows * numbers.stride)
    sizes = np.searchsorted(state.queues, (rows + 1) * numbers.stride) - first
    places = ranges(first, sizes)
    routes, queue_ids = np.divmod(state.queues[places], numbers.n_queue_ids)
    broker_names = pa.array(numbers.brokers, pa.string())
    return QueueRows(
        facts=facts,
        group=group,
        fact_of_row=np.repeat(np.arange(rows.size), sizes),
        brokers=CodedNames(broker_names, routes % max(len(numbers.brokers), 1)),
        queue_ids=queue_ids,
        reader_offsets=np.arange(places.size + 1),
        readers=CodedNames(text_array(numbers.clients), state.owners[places]),
        messages=pa.nulls(places.size, pa.int64()),
        last_consumed=pa.nulls(places.size, _TIME),
    )


def _one_by_one(
    answers: Sequence[Answer], place: Mapping[int, int], owners: ComputedOwners | None
) -> QueueRows:
    """Return the rows of answers, each queue of which is looked at."""
    facts, group = _facts_of(answers, place)
    sizes = [len(answer.queues) for answer in answers]
    queues = list(chain.from_iterable(answer.queues for answer in answers))
    readers = list(chain.from_iterable(_owners_of(answer, owners) for answer in answers))
    return QueueRows(
        facts=facts,
        group=group,
        fact_of_row=np.repeat(np.arange(len(answers)), sizes),
        brokers=CodedNames.of([queue.broker_name for queue in queues]),
        queue_ids=np.array([queue.queue_id for queue in queues], np.int64),
        reader_offsets=offsets_of(map(len, readers)),
        readers=CodedNames.of(list(chain.from_iterable(readers))),
        **_lags(answers, sizes),
    )


def _owners_of(answer: Answer, owners: ComputedOwners | None) -> Iterable[Ids]:
    """Return the owners by queue; in ordinary groups one that is computed already."""
    signed = answer.signed
    if signed is None or owners is None or not signed.is_ordinary or not answer.is_owned:
        return answer.owners()
    row = owners.row_of.get((signed.group.name, answer.topic), -1)
    if row < 0:
        return answer.owners()
    of_queue = owners.owners_of(row)
    found = (of_queue.get((queue.broker_name, queue.queue_id)) for queue in answer.queues)
    return [() if owner is None else (owner,) for owner in found]


def _facts_of(answers: Sequence[Answer], place: Mapping[int, int]) -> tuple[pa.Table, Keys]:
    """Return the facts of answers, and the positions of their groups."""
    texts = {}
    for name in _FACTS.names:
        values = [getattr(answer, name) or None for answer in answers]
        texts[name] = pa.array(values, pa.string())
    groups = [place.get(id(answer.signed), -1) for answer in answers]
    return pa.table(texts, _FACTS), np.array(groups, np.int64)


def _lags(answers: Sequence[Answer], sizes: Sequence[int]) -> dict[str, pa.Array]:
    """Return the lag of every queue and when its group last consumed from it, null where that is
    not known.
    """
    messages, times = [pa.nulls(0, pa.int64())], [pa.nulls(0, _TIME)]
    for answer, size, found in zip(answers, sizes, _times_of(answers), strict=True):
        if answer.waiting:
            messages.append(pa.array(map(answer.waiting.get, answer.queues), pa.int64()))
            times.append(pa.array(map(found.get, answer.queues), _TIME))
        else:
            messages.append(pa.nulls(size, pa.int64()))
            times.append(pa.nulls(size, _TIME))
    return {"messages": pa.concat_arrays(messages), "last_consumed": pa.concat_arrays(times)}


def _times_of(answers: Iterable[Answer]) -> Iterator[dict[MessageQueue, int | None]]:
    """Yield when the group of each answer last consumed from queues; answers of a group come one
    after the other.
    """
    last: SignedGroup | None = None
    times = dict[MessageQueue, int | None]()
    for answer in answers:
        if answer.signed is not last and answer.waiting:
            last = answer.signed
            lags = () if last is None else last.group.lags
            times = {lag.queue: _time(lag.last_timestamp) for lag in lags}
        yield times


def _time(milliseconds: int | None) -> int | None:
    """Return a time that has a date; brokers say 0 where nothing was consumed."""
    return None if milliseconds is None or not 0 < milliseconds <= _LAST_MS else milliseconds
