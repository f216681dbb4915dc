"""Arrow columns as numpy arrays that share their memory: text, lists and integers of any width,
chunked, sliced or null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet.checked_columns import check_offsets
from rmqalloc.fleet.columns import Index, Offsets, Strings, offsets_of
from rmqalloc.lazy import import_ahead
from rmqalloc.text import shortened

import_ahead("pyarrow.compute")

Places = NDArray[np.int64]

_NO_TEXT = np.zeros(1, np.uint8)
_NOWHERE = np.zeros(0, np.int64)

# Forms of text and lists that some of Arrow's functions do not read, and types of others' making.
_NULL = pa.null()
_VIEWS = (pa.string_view(), pa.list_view(_NULL), pa.large_list_view(_NULL), pa.list_(_NULL, 1))
_CODED = (pa.dictionary(pa.int8(), _NULL), pa.run_end_encoded(pa.int32(), _NULL), pa.bool8())
_OTHER_IDS = frozenset(kind.id for kind in (*_VIEWS, *_CODED))

_QUEUE = "array<struct<broker_name:string,{}:int>>"
SPARK_LISTS = {"queues": _QUEUE.format("queue_id"), "brokers": _QUEUE.format("read_queue_nums")}
SPARK_LISTS |= dict.fromkeys(
    ("client_ids", "broker_rooms", "client_rooms", "machine_rooms"), "array<string>"
)
"""Types of the columns of lists, as a cast in Spark's SQL names them."""


@dataclass
class Column:
    """A column: a sequence of arrays, nearly always a single array."""

    name: str
    type: pa.DataType
    arrays: list[pa.Array]

    def __post_init__(self) -> None:
        if not is_plain(self.type):
            self.arrays = [plain(array, self.name) for array in self.arrays]
            self.type = plain(pa.nulls(0, self.type), self.name).type

    @classmethod
    def of(cls, table: pa.Table | pa.RecordBatch, name: str) -> Column:
        """Return a column of a table."""
        at = table.schema.get_field_index(name)
        if at < 0:
            raise ArgumentTypeError(f"the table has no column {name}; it has {table.column_names}")
        column = table.column(at)
        arrays = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return cls(name, column.type, arrays)

    def nulls(self) -> Places:
        """Return where the column is null."""
        places = []
        for array in self.arrays:
            places.append(np.flatnonzero(null_mask(array)) if array.null_count else _NOWHERE)
        return self._places(places)

    def text(self) -> tuple[Strings, Places]:
        """Return the column as text, and where it is not UTF-8; there it reads as `utf8` writes it.
        A null is any text.
        """
        parts, wrong = [], []
        for array in self.arrays:
            part = self._text_of(array)
            wrong.append(not_utf8(array))
            parts.append(self._text_of(utf8(array)) if wrong[-1].size else part)
        return parts[0] if len(parts) == 1 else Strings.joined(parts), self._places(wrong)

    def _places(self, found: list[Places]) -> Places:
        """Return places in the column for places in each of its arrays."""
        starts = offsets_of([len(array) for array in self.arrays]).tolist()
        moved = [
            places + start if start else places
            for places, start in zip(found, starts[:-1], strict=True)
        ]
        return moved[0] if len(moved) == 1 else np.concatenate([_NOWHERE, *moved])

    def shown(self, place: int) -> str:
        """Return the bytes of a text of the column, for a message."""
        return shown_bytes(pa.chunked_array(self.arrays, self.arrays[0].type)[place])

    def _text_of(self, array: pa.Array) -> Strings:
        if pa.types.is_null(array.type):
            array = array.cast(pa.large_string())
        check_type(self.name, self.type, is_text(array.type), "strings")
        if not len(array):
            return Strings.of_bytes(_NO_TEXT, np.zeros(1, np.int64))
        _, places, text = array.buffers()
        values = np.frombuffer(text, np.uint8) if text is not None and text.size else _NO_TEXT
        given = np.frombuffer(places, np.int32 if pa.types.is_string(array.type) else np.int64)
        offsets = given[array.offset : array.offset + len(array) + 1].astype(np.int64, copy=False)
        check_offsets(offsets, values.size, self.name)
        return Strings.of_bytes(values, offsets)

    def lists(self) -> tuple[Offsets, Column]:
        """Return the column as lists: offsets from 0, and the values between them."""
        if pa.types.is_null(self.type):
            offsets = np.zeros(sum(map(len, self.arrays)) + 1, np.int64)
            return offsets, Column(self.name, self.type, [])
        if not is_lists(self.type):
            advice = "; split the text into a list first" if is_text(self.type) else ""
            raise ArgumentTypeError(f"column {self.name} must be a list, got {self.type}{advice}")
        parts, values, end = [], [], 0
        for array in filter(len, self.arrays):
            offsets, inner = np.asarray(array.offsets).astype(np.int64), array.values
            check_offsets(offsets, len(inner), self.name)
            begin, size = int(offsets[0]), int(offsets[-1] - offsets[0])
            parts.append(offsets[:-1] + (end - begin))
            values.append(inner.slice(begin, size) if size < len(inner) else inner)
            end += size
        offsets = np.concatenate([*parts, np.array([end])])
        return offsets, Column(self.name, self.type.value_type, values)

    def fields(self, *names: str) -> list[Column]:
        """Return fields of a column of structs; null where the struct is null."""
        kind = self.type
        if pa.types.is_null(kind):
            return [Column(f"{self.name}.{name}", kind, self.arrays) for name in names]
        if not pa.types.is_struct(kind) or any(kind.get_field_index(name) < 0 for name in names):
            raise ArgumentTypeError(
                f"column {self.name} must be a list of struct<{', '.join(names)}>, got a list of {kind}"
            )
        flat = [array.flatten() for array in self.arrays]
        found = []
        for name in names:
            place = kind.get_field_index(name)
            arrays = [fields[place] for fields in flat]
            found.append(Column(f"{self.name}.{name}", kind.field(place).type, arrays))
        return found

    def integers(self, least: int, most: int) -> tuple[Index, Places]:
        """Return the column as integers, 0 for null and out of bounds, and the places of these."""
        read = [self._integers_of(array, least, most) for array in self.arrays]
        wrong = self._places([places for _, places in read])
        if len(read) == 1:
            return read[0][0], wrong
        nothing = np.zeros(0, np.int32)
        return np.concatenate([nothing, *(numbers for numbers, _ in read)]), wrong

    def _integers_of(self, array: pa.Array, least: int, most: int) -> tuple[Index, Places]:
        is_right = pa.types.is_integer(array.type) or pa.types.is_null(array.type)
        check_type(self.name, self.type, is_right, "integers")
        null, given = null_mask(array) if array.null_count else False, filled(array)
        if null is False and least <= given.min(initial=0) and given.max(initial=0) <= most:
            return given.astype(np.int32, copy=False), _NOWHERE
        wrong = null | (given < least) | (given > most)
        return np.where(wrong, 0, given).astype(np.int32), np.flatnonzero(wrong)

    def at(self, place: int) -> Any:
        """Return one value of the column, as Python has it."""
        return pa.chunked_array(self.arrays, self.arrays[0].type)[place].as_py()


def is_text(kind: pa.DataType) -> bool:
    """Return True if a plain column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_lists(kind: pa.DataType) -> bool:
    """Return True if a plain column holds lists, of either width."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def list_lengths(lists: pa.Array) -> Places:
    """Return the length of every list, 0 for a null."""
    if not is_lists(lists.type):
        import pyarrow.compute as pc

        return np.asarray(pc.list_value_length(lists).fill_null(0), np.int64)
    lengths = np.diff(np.asarray(lists.offsets)).astype(np.int64)
    if lists.null_count:
        lengths[null_mask(lists)] = 0
    return lengths


def text_lengths(texts: pa.Array) -> Places:
    """Return the bytes of every text of a plain array, 0 for a null; without `pyarrow.compute`.

    Examples
    --------
    >>> text_lengths(pa.array(["ü", None, "id"]))
    array([2, 0, 2])
    """
    if pa.types.is_null(texts.type) or not len(texts):
        return np.zeros(len(texts), np.int64)
    width = np.int32 if pa.types.is_string(texts.type) else np.int64
    places = np.frombuffer(texts.buffers()[1], width)
    lengths = np.diff(places[texts.offset : texts.offset + len(texts) + 1]).astype(np.int64)
    if texts.null_count:
        lengths[null_mask(texts)] = 0
    return lengths


def null_mask(array: pa.Array) -> NDArray[np.bool_]:
    """Return where a plain array is null; without `pyarrow.compute`, whose import takes longer than
    to plan a small table.
    """
    if pa.types.is_null(array.type) or array.buffers()[0] is None:
        return np.full(len(array), pa.types.is_null(array.type))
    begin, first = divmod(array.offset, 8)
    held = np.frombuffer(array.buffers()[0], np.uint8)[
        begin : begin + (first + len(array) + 7) // 8
    ]
    valid = np.unpackbits(held, bitorder="little")[first : first + len(array)].view(np.bool_)
    return ~valid


def filled(array: pa.Array) -> NDArray[Any]:
    """Return the numbers of a plain array, 0 where it is null."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int32)
    if not array.null_count:
        return np.asarray(array)
    whole = pa.Array.from_buffers(
        array.type, len(array), [None, array.buffers()[1]], 0, array.offset
    )
    return np.where(null_mask(array), 0, np.asarray(whole))


def check_type(name: str, kind: pa.DataType, is_right: bool, words: str) -> None:
    """Refuse a column that holds something else, with the cast that corrects it.

    Examples
    --------
    >>> check_type("brokers.read_queue_nums", pa.float64(), False, "integers")
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: column brokers.read_queue_nums must hold integers, got double: cast it, as in \
cast(brokers as array<struct<broker_name:string,read_queue_nums:int>>) in Spark, Array.cast in pyarrow, or astype('Int64') \
of the numbers in pandas
    """
    if not is_right:
        column = name.partition(".")[0]
        if name in ("consumer_group", "topic") and "binary" not in str(kind):
            raise ArgumentTypeError(
                f"column {name} must hold {words}, got {kind}. If the source has text, or directories such as {name}=001, "
                "read it again as text, because a cast makes 1 of 001. For names of directories, set "
                "spark.sql.sources.partitionColumnTypeInference.enabled=false in Spark, or give pyarrow or pandas "
                f"partitioning=pyarrow.dataset.partitioning(pyarrow.schema([({name!r}, pyarrow.string())]), flavor='hive'). "
                f"For files, give a schema in which {name} is a string. If the source has no text, cast({name} as string) "
                "is right"
            )
        number = "string" if words == "strings" else "bigint"
        kind_of_spark = number if words.startswith("numbers") else SPARK_LISTS.get(column, number)
        elsewhere = " in Spark, Array.cast in pyarrow"
        if pa.types.is_floating(kind):  # what pandas makes of whole numbers with a gap
            elsewhere += ", or astype('Int64') of the numbers in pandas"
        raise ArgumentTypeError(
            f"column {name} must hold {words}, got {kind}: cast it, as in cast({column} as {kind_of_spark})"
            f"{elsewhere}"
        )


# --- All forms of text and lists that Arrow has, as one ---


def is_plain(kind: pa.DataType) -> bool:
    """Return True if all of Arrow's functions read a type: no views, no dictionaries, no runs, no
    lists of one length.
    """
    if is_lists(kind):
        return is_plain(kind.value_type)
    if pa.types.is_struct(kind):
        return all(is_plain(field.type) for field in kind)
    return kind.id not in _OTHER_IDS


def plain(array: pa.Array, name: str) -> pa.Array:
    """Return an array as plain text, lists and structs; see `is_plain`.

    Examples
    --------
    >>> regions = pa.array(["eu", "us", "eu"]).dictionary_encode()
    >>> plain(pa.array([["eu"], []], pa.list_view(pa.string_view())), "regions").type, plain(regions, "region").to_pylist()
    (LargeListType(large_list<item: large_string>), ['eu', 'us', 'eu'])
    """
    if is_plain(array.type):
        return array
    check_sound(array, name)  # Arrow reads wherever offsets and indices lead
    return _plain(array)


def _plain(array: pa.Array) -> pa.Array:
    kind = array.type
    if is_plain(kind):
        return array
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    if pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary).take(array.indices)
    if pa.types.is_run_end_encoded(kind):
        runs = np.searchsorted(
            np.asarray(array.run_ends), array.offset + np.arange(len(array)), side="right"
        )
        return _plain(array.values).take(pa.array(runs))
    if pa.types.is_struct(kind):
        parts = [_plain(part) for part in array.flatten()]
        return pa.StructArray.from_arrays(
            parts, [field.name for field in kind], mask=array.is_null()
        )
    lists = array if is_lists(kind) else _end_to_end(array)
    offsets = pa.array(np.array(lists.offsets))
    return type(lists).from_arrays(offsets, _plain(lists.values), mask=lists.is_null())


def taken(array: pa.Array, places: Places) -> pa.Array:
    """Return the values at some places in the type that they have: Arrow's ``take`` lacks the newer
    forms.

    Examples
    --------
    >>> taken(pa.array(["eu", "us"], pa.string_view()), np.array([1, 1])).to_pylist()
    ['us', 'us']
    """
    try:
        return array.take(pa.array(places))
    except pa.ArrowNotImplementedError:
        if pa.types.is_string_view(array.type):
            return array.cast(pa.large_string()).take(pa.array(places)).cast(array.type)
        return pa.concat_arrays(
            [array.slice(0, 0), *(array.slice(place, 1) for place in places.tolist())]
        )


_BYTES_OF = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def check_sound(array: pa.Array, name: str) -> None:
    """Refuse an array of which a value lies outside of its buffers: Arrow's own kernels read
    wherever offsets lead.

    Text need not be UTF-8; where it is not, is found later, row by row.

    Examples
    --------
    >>> offsets = pa.py_buffer(np.array([0, 9, 2], np.int32))
    >>> names = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    >>> check_sound(names, "topic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rmqalloc.errors.ArgumentError: column topic is damaged: ...
    """
    try:
        _validate(array, name)
    except pa.ArrowInvalid as error:
        raise ArgumentError(f"column {name} is damaged: {error}") from None


def _validate(array: pa.Array, name: str) -> None:
    kind = array.type
    array.validate()
    if kind in _BYTES_OF:
        array.view(_BYTES_OF[kind]).validate(full=True)
    elif is_lists(kind):
        check_offsets(np.asarray(array.offsets).astype(np.int64), len(array.values), name)
        _validate(array.values, name)
    elif pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        nothing = pa.nulls(
            len(array.values)
        )  # a full look at the values would refuse text that is not UTF-8
        type(array).from_arrays(array.offsets, array.sizes, nothing).validate(full=True)
        _validate(array.values, name)
    elif pa.types.is_run_end_encoded(kind):
        type(array).from_arrays(array.run_ends, pa.nulls(len(array.values))).validate(full=True)
        _validate(array.values, name)
    elif pa.types.is_fixed_size_list(kind):
        _validate(array.values, name)
    elif pa.types.is_struct(kind):
        for at in range(kind.num_fields):
            _validate(array.field(at), name)
    elif pa.types.is_dictionary(kind):
        _validate(array.dictionary, name)
        import pyarrow.compute as pc

        n, found = len(array.dictionary), pc.min_max(array.indices).as_py()
        if found["min"] is not None and not 0 <= found["min"] <= found["max"] < n:
            raise pa.ArrowInvalid(
                f"an index leaves the {n} values of its dictionary: {found['min']} to {found['max']}"
            )
    elif isinstance(array, pa.ExtensionArray):
        _validate(array.storage, name)
    else:
        array.validate(full=True)


def shown_bytes(scalar: pa.Scalar) -> str:
    """Return the bytes of a text that is not UTF-8, as Python spells bytes."""
    return shortened(repr(bytes(scalar.as_buffer())), 120)


def not_utf8(array: pa.Array) -> Places:
    """Return where an array of text is not UTF-8, which Arrow looks for in no file that it reads."""
    if not (
        pa.types.is_string(array.type)
        or pa.types.is_large_string(array.type)
        or pa.types.is_string_view(array.type)
    ):
        return _NOWHERE
    # Nearly all names are ASCII, which is seen in a tenth of the time that Arrow's full look takes.
    if not pa.types.is_string_view(array.type) and _bytes_of(array).max(initial=0) < 0x80:
        return _NOWHERE
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return np.array(
            [i for i, text in enumerate(array) if text.is_valid and not _is_utf8(text)], np.int64
        )
    return _NOWHERE


def _bytes_of(array: pa.Array) -> NDArray[np.uint8]:
    """Return what the texts of an array lie in, end to end."""
    _, places, text = array.buffers()
    if not len(array) or text is None or not text.size:
        return _NO_TEXT
    offsets = np.frombuffer(places, np.int32 if pa.types.is_string(array.type) else np.int64)
    return np.frombuffer(text, np.uint8)[offsets[array.offset] : offsets[array.offset + len(array)]]


def _is_utf8(scalar: pa.Scalar) -> bool:
    try:
        bytes(scalar.as_buffer()).decode()
    except UnicodeDecodeError:
        return False
    return True


def hosts_of(client_ids: pa.Array) -> pa.Array:
    """Return `rmqalloc.model.host_of` of a column of client ids.

    Examples
    --------
    >>> hosts_of(pa.array(["10.0.0.1@1009", "pod-1", None])).to_pylist()
    ['10.0.0.1', 'pod-1', None]
    """
    from rmqalloc.results import compute as pc

    return pc.list_element(pc.split_pattern(client_ids, pattern="@", max_splits=1), 0)


def utf8(array: pa.Array) -> pa.Array:
    """Return an array of text, or of lists of text, with bytes that are not UTF-8 as ``\\xNN``, so
    that any reader accepts it.

    Examples
    --------
    >>> broken = pa.array([b"caf\\xe9", b"caf\\xc3\\xa9"]).view(pa.string())
    >>> utf8(broken).to_pylist()
    ['caf\\\\xe9', 'café']
    """
    if is_lists(array.type):
        inner = array.flatten()
        if (whole := utf8(inner)) is inner:
            return array
        offsets = pa.array(
            offsets_of(list_lengths(array)),
            pa.int32() if pa.types.is_list(array.type) else pa.int64(),
        )
        return type(array).from_arrays(offsets, whole, mask=array.is_null())
    places = not_utf8(array)
    if not places.size:
        return array
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    mask = np.zeros(len(array), bool)
    mask[places] = True
    import pyarrow.compute as pc

    texts = [
        bytes(array[i].as_buffer()).decode("utf-8", "backslashreplace") for i in places.tolist()
    ]
    return pc.replace_with_mask(array, mask, pa.array(texts, array.type))


def _end_to_end(array: pa.Array) -> pa.LargeListArray:
    """Return lists that lie anywhere, or have one length, as lists that lie end to end. Arrow's own
    cast reads views wrongly.
    """
    lengths = list_lengths(array)
    return pa.LargeListArray.from_arrays(
        pa.array(offsets_of(lengths)), array.flatten(), mask=array.is_null()
    )
