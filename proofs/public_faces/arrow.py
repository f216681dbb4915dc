"""Arrow tables of units as nobody should make them: nulls, slices, other types, damaged buffers."""

from contextlib import suppress

import numpy as np
import pyarrow as pa

ROWS = [
    {
        "consumer_group": f"group {i}",
        "topic": f"topic {i % 3}",
        "client_ids": [f"client é{i}-{c}" for c in range(i % 4)] + ["x"] * (i % 2),
        "client_rooms": [f"room {c % 2}" for c in range(i % 4 + i % 2)],
        "queues": [{"broker_name": f"b{q % 2}", "queue_id": q} for q in range(i % 5)],
        "brokers": [{"broker_name": f"b{q}", "read_queue_nums": q} for q in range(i % 3)],
    }
    for i in range(9)
]
_PLAIN = {name: pa.array([row[name] for row in ROWS]) for name in ROWS[0]}
_PLAIN["broker_rooms"] = pa.array([["r"] * len(row["queues"]) for row in ROWS])
_PLAIN["virtual_nodes"] = pa.array([10, None, -1, 0, 2**31 - 1, 1, 5, 7, 9])
_PLAIN["strategy"] = pa.array(
    ["AVG", None, "", "CONSISTENT_HASH", "nobody", "AVG", "é", "AVG", "STABLE"]
)
BASE = ("consumer_group", "topic", "client_ids")


def table(random):
    """A table of a few units, of which one column or a few are odd; and whether Arrow itself says
    that it is sound.
    """
    queues = random.choice(("queues", "brokers"))
    names = [
        *BASE,
        queues,
        *(one for one in ("client_rooms", "virtual_nodes", "strategy") if random.random() < 0.2),
    ]
    columns = {name: _PLAIN[name] for name in names}
    for name in random.sample(names, random.choice((0, 1, 1, 2))):
        with suppress(
            pa.ArrowInvalid
        ):  # Arrow itself sees the coarsest damage, and makes no such column
            columns[name] = random.choice(_CHANGES)(random, columns[name])
    if random.random() < 0.1:
        columns.pop(random.choice(names))
    size = min(map(len, columns.values()))
    try:
        made = pa.table({name: column[:size] for name, column in columns.items()})
    except pa.ArrowInvalid:
        made = pa.table({name: _PLAIN[name] for name in names})
    return made, _is_sound(made)


def batch(random):
    """The same as one record batch."""
    made, sound = table(random)
    columns = [
        column.chunk(0) if column.num_chunks == 1 else _whole(column) for column in made.columns
    ]
    size = min(map(len, columns))
    return pa.RecordBatch.from_arrays([one[:size] for one in columns], made.column_names), sound


def _whole(column):
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _is_sound(made):
    try:
        made.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _nulls(random, column):
    return pa.array(
        [None if random.random() < 0.3 else one for one in column.to_pylist()], column.type
    )


def _sliced(random, column):
    at = random.randrange(len(column) + 1)
    return column.slice(at, random.randrange(len(column) - at + 1))


def _chunked(random, column):
    at = random.randrange(len(column) + 1)
    return pa.chunked_array([column[:at], column[:0], column[at:]])


def _inner(random, column):
    """Lists of which a value is null."""
    if not pa.types.is_list(column.type):
        return _nulls(random, column)
    values = column.to_pylist()
    return pa.array(
        [[None if random.random() < 0.3 else one for one in row] for row in values], column.type
    )


def _cast(random, column):
    kinds = [pa.large_string(), pa.binary(), pa.int64(), pa.large_list(pa.string()), pa.list_(pa.string(), 2), pa.float64(),
             pa.dictionary(pa.int32(), pa.string()), pa.string_view(), pa.list_(pa.large_string()), pa.null()]  # fmt: skip
    try:
        return column.cast(random.choice(kinds))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return pa.nulls(len(column), random.choice(kinds))


def _view(random, column):
    """Lists that lie anywhere."""
    if not pa.types.is_list(column.type):
        return _cast(random, column)
    size = len(column)
    offsets = np.array([random.randrange(len(column.values) + 1) for _ in range(size)], np.int32)
    sizes = np.array([random.randrange(len(column.values) - at + 1) for at in offsets], np.int32)
    if random.random() < 0.3:
        sizes[random.randrange(size)] = random.choice((2**31 - 1, -1, len(column.values) + 1))
    return pa.ListViewArray.from_arrays(pa.array(offsets), pa.array(sizes), column.values)


def _offsets_damaged(random, column):
    """Offsets that decrease, begin below 0 or end past the values."""
    if not pa.types.is_list(column.type) and not pa.types.is_string(column.type):
        return column
    buffers = column.buffers()
    offsets = np.frombuffer(buffers[1], np.int32)[: len(column) + 1].copy()
    for _ in range(random.choice((1, 1, 3))):
        bad = random.choice((-1, 0, 2**31 - 1, -(2**31), 1000, random.randrange(30)))
        offsets[random.randrange(offsets.size)] = bad
    made = pa.py_buffer(offsets)
    if pa.types.is_string(column.type):
        return pa.Array.from_buffers(column.type, len(column), [None, made, buffers[2]])
    return pa.Array.from_buffers(column.type, len(column), [None, made], children=[column.values])


def _truncated(random, column):
    """A buffer that is shorter than the array says."""
    if not pa.types.is_string(column.type):
        return _offsets_damaged(random, column)
    buffers = column.buffers()
    which = random.choice((1, 2))
    short = buffers[which].slice(0, random.randrange(buffers[which].size))
    buffers[which] = pa.py_buffer(bytes(short))
    return pa.Array.from_buffers(column.type, len(column), buffers)


def _dictionary(random, column):
    """Numbers of values that are not there, or values that are damaged."""
    if not pa.types.is_string(column.type):
        return _inner(random, column)
    made = column.dictionary_encode()
    if random.random() < 0.5:
        indices = np.array(made.indices)
        indices[random.randrange(indices.size)] = random.choice(
            (-1, 2**30, len(made.dictionary), 0)
        )
        return pa.DictionaryArray.from_buffers(
            made.type, len(made), [None, pa.py_buffer(indices)], made.dictionary
        )
    return pa.DictionaryArray.from_arrays(
        made.indices, _offsets_damaged(random, made.dictionary), safe=False
    )


def _bytes_damaged(random, column):
    """Text that is not UTF-8."""
    if not pa.types.is_string(column.type):
        return _inner(random, column)
    buffers = column.buffers()
    data = bytearray(buffers[2])
    for _ in range(random.choice((1, 2, 9))):
        data[random.randrange(len(data))] = random.randrange(256)
    return pa.Array.from_buffers(
        column.type, len(column), [None, buffers[1], pa.py_buffer(bytes(data))]
    )


def _numbers_far(random, column):
    """Queue ids and numbers of queues that no broker has."""
    if not pa.types.is_list(column.type) or not pa.types.is_struct(column.type.value_type):
        return _nulls(random, column)
    rows = column.to_pylist()
    name = column.type.value_type.field(1).name
    for row in rows:
        for one in row:
            if random.random() < 0.3:
                one[name] = random.choice((-1, 2**31 - 1, 2**31, 2**40, -(2**63), 2**24 + 1, None))
    return pa.array(rows)


_CHANGES = [
    _nulls,
    _sliced,
    _chunked,
    _inner,
    _cast,
    _view,
    _offsets_damaged,
    _truncated,
    _bytes_damaged,
    _numbers_far,
    lambda random, column: _dictionary(random, column),
    lambda _random, column: column[:0],
    lambda _random, column: column.take(pa.array(list(range(len(column) - 1, -1, -1)))),
    lambda _random, column: (
        column.dictionary_encode() if pa.types.is_string(column.type) else column
    ),
]
