"""The proof of many readers: its cluster is the same in every run, and an answer that is an error
is counted.
"""

import asyncio

from loopback import InThread
from service_load.made_cluster import made_cluster
from service_load.readers import read_all

import rmqalloc


class Refusing(InThread):
    """Answers every third request with 503."""

    async def _run(self):
        self._loop, self._end, self.n = asyncio.get_running_loop(), asyncio.Event(), 0
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()

    async def _serve(self, reader, writer):
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.n += 1
                status = b"503 Busy" if self.n % 3 == 0 else b"200 OK"
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\nok")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def test_the_cluster_is_the_same_and_some_of_its_groups_are_wrong():
    assert made_cluster(50) == made_cluster(50) != made_cluster(50, seed=2)
    groups = rmqalloc.groups(made_cluster(200)).groups
    assert (
        sum(one > 0 for one in groups["unowned"].to_pylist() if one is not None) > 0
        or groups["errors"].to_pylist()
    )


def test_errors_are_counted():
    with Refusing() as server:
        waited = asyncio.run(read_all(server.port, 4, 10, 0.3))
    assert waited.errors.total() == server.n // 3 > 0
    assert all("503" in what for what in waited.errors)
