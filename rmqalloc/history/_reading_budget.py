"""How much one reading of a history may take: bytes, rows, objects, memory and steps of sqlite.

A few bytes of a file can stand for many: a packed text for its content, a run of queues for a
million of them, pages of a damaged tree for one another. So each bound follows from the length of
the file, with room for small ones, up to what is read of any other file. What a recorder writes
stays below but for memory: a queue of a state takes a byte of the file at least, and up to 240 bytes
of memory, or about 225 where it changed its owner and is an event. Names, rows and documents take
most of the bytes of a file, so a cluster of any size is answered. For a few groups whose many queues
moved a hundred times, the caller has to give a shorter time.
"""

from __future__ import annotations

from rmqalloc.documents import read_budget
from rmqalloc.errors import Error

MOST_TEXT = 64 << 20
"""Bytes of one text at most, unpacked; a frame of a server has as many."""
MOST_VALUE = MOST_TEXT + 1
"""Bytes of one value of the file at most: a text, and how it is packed."""

_LEAST_MEMORY = 64 << 20
_MOST_STEPS = 1 << 33
STEPS_AT_ONCE = 1 << 20
"""Steps of sqlite between two looks at the budget; about ten milliseconds."""

_QUEUE, _CLIENT = 240, 600
"""Bytes that Python takes for a queue of a state and for a client of a snapshot, rounded up."""


class OverBudgetError(Error):
    """A reading takes more than it may; `told` names the file."""


class ReadingBudget:
    """What is left of the bounds of one reading.

    Parameters
    ----------
    size : int
        Bytes of the file, and of its log.
    """

    def __init__(self, size: int) -> None:
        self._bytes = min(read_budget.MAX_BYTES, (16 << 20) + 32 * size)
        self._rows = min(read_budget.most_rows(), 20_000 + size // 2)
        self._objects = min(read_budget.MAX_BYTES, (1 << 20) + 64 * size)
        self._memory = min(read_budget.most_made(), max(_LEAST_MEMORY, 96 * size))
        self._steps = min(_MOST_STEPS, (1 << 26) + 2048 * size)

    @property
    def bytes_left(self) -> int:
        """Bytes that may still be read or unpacked."""
        return self._bytes

    def row(self, n_bytes: int) -> None:
        """Count a row of the file, and bytes of its values."""
        self._rows -= 1
        if self._rows < 0:
            raise OverBudgetError("rows")
        self.read(n_bytes)

    def read(self, n_bytes: int) -> None:
        """Count bytes that are read, or were unpacked."""
        self._bytes -= n_bytes
        if self._bytes < 0:
            raise OverBudgetError("bytes")

    def state(self, n_queues: int, n_clients: int) -> None:
        """Count the objects of a state before they are made; the state is dropped again."""
        self._objects -= n_queues + n_clients + 1
        if self._objects < 0:
            raise OverBudgetError("queues and clients")
        self.check_room(n_queues * _QUEUE + n_clients * _CLIENT)

    def check_room(self, n_bytes: int) -> None:
        """Refuse what would take more memory than is left."""
        if n_bytes > self._memory:
            raise OverBudgetError("memory")

    def keep(self, n_bytes: int) -> None:
        """Count memory of what stays in the answer."""
        self.check_room(n_bytes)
        self._memory -= n_bytes

    def is_out_of_steps(self) -> bool:
        """Count `STEPS_AT_ONCE` steps of sqlite, which stops where this is true."""
        self._steps -= STEPS_AT_ONCE
        return self._steps < 0
