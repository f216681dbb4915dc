"""Queues with their readers as numbers: those of ordinary groups in bulk from the state of a plan,
all others one by one.

What is said of the queues of a group and a topic stands once for all of them. Texts are made where
somebody reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
_SAID = columns("consumer_group topic known state reason detail: string")
_LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""

WORST = ("unread", "several-owners", "unknown", "read")
"""What queues are, the worst first."""


class CodedNames(NamedTuple):
    """Numbers that stand for names."""

    names: pa.Array  # once each
    codes: NDArray[Any]

    @classmethod
    def joined(cls, parts: Sequence[CodedNames]) -> CodedNames:
        """Return several columns end to end."""
        coded = pa.concat_arrays([one.names for one in parts]).dictionary_encode()
        starts = offsets_of(len(one.names) for one in parts)[:-1]
        places = [one.codes + start for one, start in zip(parts, starts, strict=True)]
        return cls(coded.dictionary, coded.indices.to_numpy()[np.concatenate(places)])

    def text(self) -> pa.Array:
        """Return the names themselves."""
        return self.names.take(pa.array(self.codes))

    def ranks(self) -> Keys:
        """Return numbers in the order of the names."""
        found: Keys = ranks(self.names)[self.codes]
        return found


class QueueRows(NamedTuple):
    """A row for every queue of some groups, and of topics without a group."""

    said: pa.Table  # what is said of all queues of a group and topic, or of some of them: `_SAID`
    group: Keys  # of what is said, the position of the group; -1 for none
    of_said: Keys  # by row, the position in `said`
    brokers: CodedNames
    queue_ids: Keys
    reader_offsets: Keys  # where the readers of each row begin
    readers: CodedNames
    messages: pa.Array  # the lag, null if unknown
    last_consumed: pa.Array  # ms since the epoch, null if unknown

    @classmethod
    def joined(cls, parts: Sequence[QueueRows]) -> QueueRows:
        """Return several parts end to end."""
        starts = offsets_of(one.said.num_rows for one in parts)[:-1]
        sizes = np.concatenate([np.diff(one.reader_offsets) for one in parts])
        return cls(
            pa.concat_tables([one.said for one in parts]).combine_chunks(),
            np.concatenate([one.group for one in parts]),
            np.concatenate([one.of_said + start for one, start in zip(parts, starts, strict=True)]),
            CodedNames.joined([one.brokers for one in parts]),
            np.concatenate([one.queue_ids for one in parts]),
            offsets_of(sizes),
            CodedNames.joined([one.readers for one in parts]),
            pa.concat_arrays([one.messages for one in parts]),
            pa.concat_arrays([one.last_consumed for one in parts]),
        )

    def take(self, places: Keys) -> QueueRows:
        """Return some of the rows."""
        sizes, some = np.diff(self.reader_offsets)[places], pa.array(places)
        of_reader = ranges(self.reader_offsets[places], sizes)
        return self._replace(
            of_said=self.of_said[places],
            brokers=self.brokers._replace(codes=self.brokers.codes[places]),
            queue_ids=self.queue_ids[places],
            reader_offsets=offsets_of(sizes),
            readers=self.readers._replace(codes=self.readers.codes[of_reader]),
            messages=self.messages.take(some),
            last_consumed=self.last_consumed.take(some),
        )

    def worst_first(self) -> QueueRows:
        """Return the rows in order: by what they are, then the largest lag first, then by name."""
        (lags, is_known), worst = self.lags(), self.worst()[self.of_said]
        order = np.lexsort((self.by_name(), -lags, ~is_known, worst))
        return self if np.array_equal(order, np.arange(order.size)) else self.take(order)

    def of_reader(self) -> Keys:
        """Return the row of every reader."""
        return np.repeat(np.arange(self.of_said.size), np.diff(self.reader_offsets))

    def worst(self) -> Keys:
        """Return of what is said what the queues are, as places in `WORST`."""
        is_several = pc.equal(self.said["reason"], "several-owners")
        found: Keys = pc.index_in(
            pc.if_else(is_several, "several-owners", self.said["state"]), pa.array(WORST)
        ).to_numpy()
        return found

    def lags(self) -> tuple[Keys, Mask]:
        """Return the lag of every queue, 0 if unknown, and whether it is known."""
        return self.messages.fill_null(0).to_numpy(), self.messages.is_valid().to_numpy(
            zero_copy_only=False
        )

    def by_name(self) -> Keys:
        """Return numbers in the order of group, topic, broker and queue id."""
        said = (ranks(self.said[name])[self.of_said] for name in ("consumer_group", "topic"))
        return numbered((*said, self.brokers.ranks(), self.queue_ids))

    def table(self) -> pa.Table:
        """Return the same as text: `OWNED_QUEUES_SCHEMA`."""
        of_said = pa.array(self.of_said)
        made = {name: self.said[name].take(of_said) for name in _SAID.names}
        made |= {
            "broker_name": self.brokers.text(),
            "queue_id": pa.array(self.queue_ids),
            "messages": self.messages,
        }
        texts = pc.replace_substring(self.last_consumed.cast(pa.string()), " ", "T")
        made["last_consumed"] = pc.binary_join_element_wise(texts, "Z", "")
        readers = pa.ListArray.from_arrays(
            pa.array(self.reader_offsets.astype(np.int32)), self.readers.text()
        )
        unknown = pc.equal(self.said["known"], "unknown").to_numpy(zero_copy_only=False)[
            self.of_said
        ]
        made |= {"owners": nulls_where(unknown, readers), "perhaps": nulls_where(~unknown, readers)}
        return pa.table(made, OWNED_QUEUES_SCHEMA)


def nulls_where(mask: Mask, column: pa.Array) -> pa.Array:
    """Return a column with nulls where a condition holds."""
    return column.take(pa.array(np.arange(mask.size), mask=mask)) if mask.any() else column


def numbered(keys: Iterable[Keys]) -> Keys:
    """Return numbers in the order of some keys from -1 on, of which the first comes first; equal
    ones for equal rows.
    """
    first, *others = keys
    numbers: Keys = first.astype(np.int64)
    for one in others:
        n = 2 + int(one.max(initial=0))
        if int(numbers.max(initial=0)) >= np.iinfo(np.int64).max // n - 1:
            numbers = np.unique(numbers, return_inverse=True)[1]
        numbers = (numbers + 1) * n + one
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
    whole, rows, others = list[Answer](), list[int](), list[Answer]()
    for one in answers:
        row = -1 if chosen.owners is None else _row_of(one, chosen.owners)
        if row < 0:
            others.append(one)
        else:
            whole.append(one)
            rows.append(row)
    parts = [_one_by_one(others, place, chosen.owners)]
    if chosen.owners is not None:
        parts.append(_read_whole(chosen, chosen.owners))
        said, group = _said_in(whole, place)
        lags = _lags(whole, [len(one.queues) for one in whole])
        parts.append(
            _of_state(chosen.owners, np.array(rows, np.int64), said, group)._replace(**lags)
        )
    return QueueRows.joined(parts).worst_first()


def _row_of(answer: Answer, owners: ComputedOwners) -> int:
    """Return the row of the unit of an ordinary group of which an answer has all queues; -1 if
    there is none.
    """
    signed, written = answer.signed, answer.written
    if (
        signed is None
        or written is None
        or answer.queues is not written.visible
        or not signed.is_ordinary
    ):
        return -1
    return owners.row_of.get((signed.group.name, answer.topic), -1)


def _read_whole(chosen: ChosenGroups, owners: ComputedOwners) -> QueueRows:
    """Return the rows of groups of which all queues are read: no answer is asked for of these."""
    place, topics = (
        {signed.group.name: at for at, signed in enumerate(chosen.all)},
        owners.units.topics,
    )
    of_row = np.array([place[one.name] for one in owners.units.groups], np.int64)[
        owners.units.group_of
    ]
    is_wanted = np.array([signed.reads_all for signed in chosen.all], bool)[of_row]
    is_wanted &= np.array([bool(chosen.has_topic(one)) for one in topics], bool)
    rows = np.flatnonzero(is_wanted)
    group = of_row[rows]
    is_reported = np.array([bool(signed.signs & Sign.OWNED) for signed in chosen.all], bool)[group]
    for at in np.flatnonzero(is_reported & owners.units.is_retry[rows]).tolist():
        is_reported[at] = reports(chosen.all[group[at]], topics[rows[at]])
    names = pa.array([signed.group.name or None for signed in chosen.all], pa.string())
    known = pa.array(["computed", "reported"]).take(pa.array(is_reported.astype(np.int8)))
    columns = [
        names.take(pa.array(group)),
        pa.array([topics[row] or None for row in rows.tolist()], pa.string()),
        known,
    ]
    columns += [
        pa.repeat("read", rows.size),
        pa.repeat("owner", rows.size),
        pa.nulls(rows.size, pa.string()),
    ]
    return _of_state(owners, rows, pa.table(columns, schema=_SAID), group)


def _of_state(owners: ComputedOwners, rows: Keys, said: pa.Table, group: Keys) -> QueueRows:
    """Return all queues of some rows of the state, of each of which one thing is said: in ordinary
    groups one reads each.
    """
    state, numbers = owners.state, owners.numbers
    first, end = (np.searchsorted(state.queues, at * numbers.stride) for at in (rows, rows + 1))
    places = ranges(first, end - first)
    brokers, queue_ids = np.divmod(state.queues[places], numbers.n_queue_ids)
    return QueueRows(
        said,
        group,
        np.repeat(np.arange(rows.size), end - first),
        CodedNames(pa.array(numbers.brokers, pa.string()), brokers % max(len(numbers.brokers), 1)),
        queue_ids,
        np.arange(places.size + 1),
        CodedNames(text_array(numbers.clients), state.owners[places]),
        pa.nulls(places.size, pa.int64()),
        pa.nulls(places.size, pa.timestamp("ms")),
    )


def _one_by_one(
    answers: Sequence[Answer], place: Mapping[int, int], owners: ComputedOwners | None
) -> QueueRows:
    """Return the rows of answers, each queue of which is looked at."""
    said, group = _said_in(answers, place)
    queues = [queue for one in answers for queue in one.queues]
    readers = [ids for one in answers for ids in _owners_of(one, owners)]
    sizes = [len(one.queues) for one in answers]
    brokers, ids = (
        pa.array(texts, pa.string()).dictionary_encode()
        for texts in ([one.broker_name for one in queues], list(chain.from_iterable(readers)))
    )
    return QueueRows(
        said,
        group,
        np.repeat(np.arange(len(answers)), sizes),
        CodedNames(brokers.dictionary, brokers.indices.to_numpy()),
        np.array([one.queue_id for one in queues], np.int64),
        offsets_of(map(len, readers)),
        CodedNames(ids.dictionary, ids.indices.to_numpy()),
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


def _said_in(answers: Sequence[Answer], place: Mapping[int, int]) -> tuple[pa.Table, Keys]:
    """Return what answers say, and the positions of their groups."""
    texts = {
        name: pa.array([getattr(one, name) or None for one in answers], pa.string())
        for name in _SAID.names
    }
    return pa.table(texts, _SAID), np.array(
        [place.get(id(one.signed), -1) for one in answers], np.int64
    )


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
    for one in answers:
        if one.signed is not last and one.waiting:
            last = one.signed
            times = (
                {}
                if last is None
                else {lag.queue: _time(lag.last_timestamp) for lag in last.group.lags}
            )
        yield times


def _time(milliseconds: int | None) -> int | None:
    """Return a time that has a date; brokers say 0 where nothing was consumed."""
    return None if milliseconds is None or not 0 < milliseconds <= _LAST_MS else milliseconds
