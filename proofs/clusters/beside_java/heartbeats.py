"""Heartbeats of the second form: how many of them two members may send short, counted on the wire.

The broker is registered under an address at which a proxy listens, which looks at every heartbeat
that passes.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

from live_cluster import BROKERS, LiveCluster

from clusters.beside_java.owners import settled
from clusters.beside_java.page import Section
from clusters.beside_java.play import JAVA_KEPT, PYTHON_KEPT, SETTLES_WITHIN
from clusters.beside_java.stage import Group, Stage

HEARTBEAT = 34
SEEN_AT, REAL = "127.0.0.2", "127.0.0.1"
LASTS = 40.0
"""Seconds; members send a heartbeat every second, and broker and client remember what they said."""
LEAST_SHORT = 0.5
"""Share of heartbeats of two Python members that have to be short, or the second form is of no use."""
PAIRS = {
    "two Python members": (PYTHON_KEPT, PYTHON_KEPT),
    "two Java members": (JAVA_KEPT, JAVA_KEPT),
    "a Java and a Python member": (JAVA_KEPT, PYTHON_KEPT),
}
HEAD = f"""## Heartbeats of the second form

Two members of a group, with `heartbeat_v2` and Java's `useHeartbeatV2`, for {LASTS:g} s with a heartbeat every second. A short
one has no subscriptions: the broker knows them by a number that the heartbeat before had. Counted by a proxy between members
and the broker.

| group | heartbeats of each | short | share |
| --- | --- | --- | ---: |"""


class Counts(NamedTuple):
    """Heartbeats by client id."""

    all: Counter[str]
    short: Counter[str]


class Proxy:
    """Passes bytes between clients and a broker, and counts heartbeats; a context manager.

    Parameters
    ----------
    port : int
        Of the broker, and of the proxy at the other address.
    """

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server((SEEN_AT, port))
        self._port = port
        self._lock = threading.Lock()
        self.counts = Counts(Counter(), Counter())
        self._sockets: list[socket.socket] = [self._listener]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
        for thread in self._threads:
            thread.join()

    def forget(self) -> None:
        """Begin to count again."""
        with self._lock:
            self.counts = Counts(Counter(), Counter())

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection((REAL, self._port))
                pumps = [
                    threading.Thread(target=self._requests, args=(client, broker)),
                    threading.Thread(target=_pump, args=(broker, client)),
                ]
                with self._lock:
                    self._sockets += [client, broker]
                    self._threads += pumps
                for one in pumps:
                    one.start()

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        """Pass frames on, one by one."""
        with suppress(OSError), client.makefile("rb") as frames:
            while len(head := frames.read(4)) == 4:
                frame = frames.read(struct.unpack(">i", head)[0])
                self._count(frame)
                broker.sendall(head + frame)
        with suppress(OSError):
            broker.shutdown(socket.SHUT_RDWR)

    def _count(self, frame: bytes) -> None:
        n = int.from_bytes(frame[1:4], "big")
        if json.loads(frame[4 : 4 + n])["code"] == HEARTBEAT:
            body = json.loads(frame[4 + n :])
            with self._lock:
                self.counts.all[body["clientID"]] += 1
                self.counts.short[body["clientID"]] += bool(body.get("withoutSub"))


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


def heartbeats() -> Section:
    """Count what each pair sends."""
    cluster = LiveCluster()
    rows, wrong = [], []
    try:
        cluster.start_name_server()
        cluster.start_broker(BROKERS[0], brokerIP1=SEEN_AT, bindAddress=REAL)
        with Proxy(int(cluster.brokers[BROKERS[0]].rpartition(":")[2])) as proxy:
            cluster.wait_for_broker(BROKERS[0])
            for number, (title, processes) in enumerate(PAIRS.items()):
                counts, failed = _counted(cluster, proxy, f"short-{number}", processes)
                shares = sum(counts.short.values()) / max(1, sum(counts.all.values()))
                rows.append(_line(title, counts, shares))
                wrong += [f"{title}: {failed}"] if failed else []
                if title == "two Python members" and shares < LEAST_SHORT:
                    wrong.append(f"{title} send {shares:.0%} of their heartbeats short")
    finally:
        cluster.stop()
    return Section("\n".join([HEAD, *rows, ""]), [], wrong)


def _counted(
    cluster: LiveCluster, proxy: Proxy, name: str, processes: tuple[str, str]
) -> tuple[Counts, str]:
    with Stage(cluster, (Group(name, "AVG"),), name, 4, is_quick=True, heartbeat_v2=True) as stage:
        for process in set(processes):
            stage.start(process)
        began = [stage.join(process, f"hz-{place}") for place, process in enumerate(processes)]
        [one] = settled(stage, began[0], SETTLES_WITHIN)
        proxy.forget()
        time.sleep(LASTS)
        return proxy.counts, one.wrong


def _line(title: str, counts: Counts, share: float) -> str:
    ids = sorted(counts.all)
    each = (" and ".join(str(some[one]) for one in ids) for some in counts)
    return f"| {' | '.join([title, *each, f'{share:.0%}'])} |"
