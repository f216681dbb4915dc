"""What NumPy and Python's lists answer to an index: the slow twins of faces that take positions."""

import numpy as np


def by_numpy(things, index):
    """The things that NumPy takes by an index of several, or None where it refuses or takes one, or
    a table.
    """
    if (
        isinstance(index, np.ndarray)
        and index.dtype.kind == "u"
        and (index > np.uint64(2**63 - 1)).any()
    ):
        return None  # which NumPy reads as negative ones
    box = np.empty(len(things), object)
    box[:] = range(len(things))
    try:
        rows = box[index]
    except (IndexError, TypeError, ValueError, OverflowError):
        return None
    return [things[i] for i in rows] if isinstance(rows, np.ndarray) and rows.ndim == 1 else None


def one_of_list(things, index):
    """What a Python list has at a position, or None; a bool is none, as in NumPy."""
    try:
        return None if isinstance(index, bool) else (things[index],)
    except (IndexError, TypeError):
        return None
