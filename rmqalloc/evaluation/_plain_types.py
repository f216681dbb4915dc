"""Arrow's forms of text and lists as one form each, so that files which differ in these alone can
be read as one table.
"""

import pyarrow as pa

from rmqalloc.fleet.arrow_columns import list_lengths
from rmqalloc.fleet.columns import offsets_of

_LISTS = (
    pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view, pa.types.is_large_list_view,
)  # fmt: skip


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the plain form of a type: text, lists and structs, whatever Arrow's forms of them."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if any(is_list(kind) for is_list in _LISTS):
        return pa.list_(plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain(field.type)) for field in kind])
    return kind


def merged(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds values of two plain ones: they are equal but for what is null;
    None if there is none.
    """
    if pa.types.is_null(one) or one == other:
        return other
    if pa.types.is_null(other):
        return one
    if pa.types.is_list(one) and pa.types.is_list(other):
        inner = merged(one.value_type, other.value_type)
        return None if inner is None else pa.list_(inner)
    if (
        pa.types.is_struct(one)
        and pa.types.is_struct(other)
        and [f.name for f in one] == [f.name for f in other]
    ):
        fields = [
            (mine.name, merged(mine.type, its.type)) for mine, its in zip(one, other, strict=True)
        ]
        return None if any(kind is None for _, kind in fields) else pa.struct(fields)
    return None


def as_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array as a plain type that its own has the values of; the array itself if it has
    that type.
    """
    if array.type == kind:
        return array
    if pa.types.is_list_view(array.type) or pa.types.is_large_list_view(
        array.type
    ):  # Arrow's cast reads some wrongly
        offsets = offsets_of(list_lengths(array))
        array = pa.LargeListArray.from_arrays(
            pa.array(offsets), array.flatten(), mask=array.is_null()
        )
    return array.cast(kind)
