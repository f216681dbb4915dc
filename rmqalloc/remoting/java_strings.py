"""Java's hash of a text, by which brokers compare tags."""

from __future__ import annotations

import numpy as np

from rmqalloc._engine import names
from rmqalloc.model import joined


def java_string_hash(text: str) -> int:
    """Return Java's ``String.hashCode``, a signed number of 32 bits over the UTF-16 units of a
    text.

    Examples
    --------
    >>> java_string_hash("paid"), java_string_hash("a tag that overflows")
    (3433164, 347155677)
    """
    data = np.frombuffer(joined(text).encode("utf-8", "surrogatepass"), np.uint8)
    found = np.empty(1, np.int32)
    names.hash_names(data, np.array([0, data.size], np.int64), found)
    return int(found[0])
