"""The queues of answers as columns: those of ordinary groups in bulk from the state of a plan, all others one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.audit._owner_signs import ComputedOwners
from rmqalloc.audit._signed_groups import SignedGroup
from rmqalloc.audit.reach_answers import Answer
from rmqalloc.fleet.arrow import text_array
from rmqalloc.fleet.columns import ranges
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.reader_sets import Keys

_TEXTS = pa.list_(pa.string())
_LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""


class QueueRows(NamedTuple):
    """A row for every queue of some answers."""

    answers: Sequence[Answer]
    of_answer: Keys  # by row, the position of its answer
    brokers: pa.DictionaryArray
    queue_ids: Keys
    readers: pa.ListArray  # as `Answer.readers`
    messages: pa.Array  # the lag, null if unknown
    last_consumed: pa.Array  # as text, null if unknown

    def per_answer(self, values: Iterable[Any], kind: pa.DataType) -> pa.Array:
        """Return a column of values that each answer has once."""
        return pa.array(values, kind).take(pa.array(self.of_answer))

    def take(self, places: Keys) -> QueueRows:
        """Return some of the rows."""
        columns = (one[places] if isinstance(one, np.ndarray) else one.take(pa.array(places)) for one in self[1:])
        return QueueRows(self.answers, *columns)

    def reading(self) -> tuple[Keys, Keys, pa.Array]:
        """Return every reader of every queue, as the row of the queue and the code of the client id; and the ids by code."""
        coded = self.readers.values.dictionary_encode()
        sizes = np.diff(self.readers.offsets.to_numpy())
        return np.repeat(np.arange(sizes.size), sizes), coded.indices.to_numpy().astype(np.int64), coded.dictionary


def exact_sums(numbers: Keys, places: Keys, n: int) -> NDArray[Any]:
    """Return the sums of numbers from 0 on by place; as objects of Python where an int64 may not hold one."""
    if numbers.size and int(numbers.max()) > np.iinfo(np.int64).max // numbers.size:
        numbers = numbers.astype(object)
    sums = np.zeros(n, numbers.dtype)
    np.add.at(sums, places, numbers)
    return sums


def queue_rows(answers: Iterable[Answer], owners: ComputedOwners | None) -> QueueRows:
    """Return the rows of answers; ``owners`` are those of ordinary groups."""
    computed, rows, others = list[Answer](), list[int](), list[Answer]()
    for one in answers:
        row = -1 if owners is None else _row_of(one, owners)
        if row < 0:
            others.append(one)
        else:
            computed.append(one)
            rows.append(row)
    ordered = [*computed, *others]
    queues = [queue for one in others for queue in one.queues]
    brokers = pa.array([one.broker_name for one in queues], pa.string())
    queue_ids = np.array([one.queue_id for one in queues], np.int64)
    readers = pa.array([ids for one in others for ids in one.readers()], _TEXTS)
    if owners is not None and rows:
        made = _computed(owners, np.array(rows, np.int64))
        brokers, queue_ids = pa.concat_arrays([made[0], brokers]), np.append(made[1], queue_ids)
        readers = pa.concat_arrays([made[2], readers])
    sizes = np.array([len(one.queues) for one in ordered], np.int64)
    of_answer = np.repeat(np.arange(sizes.size), sizes)
    return QueueRows(ordered, of_answer, brokers.dictionary_encode(), queue_ids, readers, *_lags(ordered, sizes))


def _row_of(answer: Answer, owners: ComputedOwners) -> int:
    """Return the row of the unit of an ordinary group of which an answer has all queues; -1 if there is none."""
    signed, written = answer.signed, answer.written
    if signed is None or written is None or answer.queues is not written.visible or not signed.is_ordinary:
        return -1
    return owners.row_of.get((signed.group.name, answer.topic), -1)


def _computed(owners: ComputedOwners, rows: Keys) -> tuple[pa.Array, Keys, pa.ListArray]:
    """Return the brokers, ids and readers of all queues of some rows of the state: in ordinary groups one reads each."""
    state, numbers = owners.state, owners.numbers
    first, end = (np.searchsorted(state.queues, at * numbers.stride) for at in (rows, rows + 1))
    places = ranges(first, end - first)
    brokers, queue_ids = np.divmod(state.queues[places], numbers.n_queue_ids)
    names = pa.array(numbers.brokers, pa.string()).take(pa.array(brokers % len(numbers.brokers)))
    ids = text_array(numbers.clients).take(pa.array(state.owners[places]))
    return names, queue_ids, pa.ListArray.from_arrays(pa.array(np.arange(places.size + 1, dtype=np.int32)), ids)


def _lags(answers: Sequence[Answer], sizes: Keys) -> tuple[pa.Array, pa.Array]:
    """Return the lag of every queue and when its group last consumed from it, null where that is not known."""
    messages, times = list[pa.Array](), list[pa.Array]()
    nothing = 0  # queues in a row without a lag
    for answer, size, found in zip(answers, sizes.tolist(), _times_of(answers), strict=True):
        if not answer.waiting:
            nothing += size
            continue
        messages += [pa.nulls(nothing, pa.int64()), pa.array(map(answer.waiting.get, answer.queues), pa.int64())]
        times += [pa.nulls(nothing, pa.timestamp("ms")), pa.array(map(found.get, answer.queues), pa.timestamp("ms"))]
        nothing = 0
    messages.append(pa.nulls(nothing, pa.int64()))
    times.append(pa.nulls(nothing, pa.timestamp("ms")))
    texts = pc.replace_substring(pa.concat_arrays(times).cast(pa.string()), " ", "T")
    return pa.concat_arrays(messages), pc.binary_join_element_wise(texts, "Z", "")


def _times_of(answers: Iterable[Answer]) -> Iterator[dict[MessageQueue, int | None]]:
    """Yield when the group of each answer last consumed from queues; answers of a group come one after the other."""
    last: SignedGroup | None = None
    times = dict[MessageQueue, int | None]()
    for one in answers:
        if one.signed is not last and one.waiting:
            last = one.signed
            times = {} if last is None else {lag.queue: _time(lag.last_timestamp) for lag in last.group.lags}
        yield times


def _time(milliseconds: int | None) -> int | None:
    """Return a time that has a date; brokers say 0 where nothing was consumed."""
    return None if milliseconds is None or not 0 < milliseconds <= _LAST_MS else milliseconds
