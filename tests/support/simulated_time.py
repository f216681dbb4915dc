"""An event loop whose clock jumps to the next timer as soon as nothing else is left to do, with the
servers in the same loop.

What a program does about time-outs, deadlines and pauses is then the same on every machine: the
clock stands still while code runs, however slowly, and no test waits for it. A connection is a pair
of sockets of this process, in which bytes arrive as soon as they are written: a loop that has
nothing to read knows that nothing is under way. In real time it waits for functions that were given
to threads by ``run_in_executor``, and for nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")
MakeProtocol = Callable[[], asyncio.BaseProtocol]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None] | None]

HOST = "127.0.0.1"


class Simulation:
    """The clock and the servers of one simulation, which its event loops share.

    Attributes
    ----------
    now : float
        Seconds.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self._servers: dict[int, MakeProtocol] = {}
        self._last_port = 40_000

    def loop(self) -> asyncio.AbstractEventLoop:
        """Make an event loop on this clock."""
        return _Loop(self)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine as `asyncio.run` does."""
        with asyncio.Runner(loop_factory=self.loop) as runner:
            return runner.run(main)

    @contextlib.contextmanager
    def everywhere(self) -> Iterator[None]:
        """Let `asyncio.run`, wherever it is called, use this clock while the block runs."""
        with patch.object(asyncio.events, "new_event_loop", self.loop):
            yield

    def serve(self, serve: Serve) -> str:
        """Take an address, whose connections are served in the loop of the client that opens them."""
        port = self.listen(lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader(), serve))
        return f"{HOST}:{port}"

    def listen(self, make_protocol: MakeProtocol) -> int:
        """Take a port."""
        self._last_port += 1
        self._servers[self._last_port] = make_protocol
        return self._last_port

    def accept(self, port: int) -> asyncio.BaseProtocol:
        """Return the server's end of a new connection, or raise ConnectionRefusedError where nobody
        listens.
        """
        if port not in self._servers:
            raise ConnectionRefusedError(f"nobody listens at port {port} of this simulation")
        return self._servers[port]()

    def close(self, port: int) -> None:
        """Give a port back."""
        self._servers.pop(port, None)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, and the servers that it starts, on a simulated clock."""
    return Simulation().run(main)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.n_in_threads = 0
        super().__init__(_Selector(self))
        self._clock_resolution = (
            1e-6  # a timer is due before the clock's next number, which may be more than 1 ns away
        )

    def time(self) -> float:
        return self.simulation.now

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:
        if host is None:
            return await super().create_connection(protocol_factory, **more)
        protocol = self.simulation.accept(port)
        ours, theirs = socket.socketpair()
        await self.connect_accepted_socket(lambda: protocol, theirs)
        return await super().create_connection(protocol_factory, sock=ours, **more)

    async def create_server(self, protocol_factory: Any, *_address: Any, **_more: Any) -> Any:
        port = self.simulation.listen(protocol_factory)
        listening = SimpleNamespace(getsockname=lambda: (HOST, port))
        return SimpleNamespace(sockets=[listening], close=lambda: self.simulation.close(port))

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        future = super().run_in_executor(executor, func, *args)
        self.n_in_threads += 1
        future.add_done_callback(self._came_back)
        return future

    async def shutdown_default_executor(self, *_timeout: Any) -> None:
        self.n_in_threads += 1  # a thread waits for the others
        await super().shutdown_default_executor()
        self._came_back()

    def _came_back(self, *_future: Any) -> None:
        self.n_in_threads -= 1


class _Selector(selectors.DefaultSelector):
    """Looks what can be read or written; where nothing can, it lets the clock jump in place of
    waiting.
    """

    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if found := super().select(0):
            return found
        if timeout is None or self._loop.n_in_threads:
            return super().select(None if timeout is None or timeout > 0 else 0)
        self._loop.simulation.now += max(timeout, 0.0)
        return []
