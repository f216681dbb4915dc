"""Reading bodies of JSON beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from rmqalloc.remoting.frames import Command

T = TypeVar("T")

AT_ONCE = 32 << 10
"""Bytes of a body that is read in the loop. JSON that is hard to read takes about 1 ms per KiB."""


class BodyReader:
    """Reads small bodies at once and others on a thread, one after the other: many threads would keep
    the loop from its turn.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def read(self, read: Callable[[Command], T], command: Command) -> T:
        """Return what a function makes of a command."""
        if len(command.body) <= AT_ONCE:
            return read(command)
        async with self._turn:
            return await asyncio.to_thread(read, command)
