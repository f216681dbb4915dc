"""A name server and brokers on loopback, in a thread: as many, and as silent, wrong or hostile, as
a test wants them.
"""

import asyncio
import contextlib
import json
import threading
import time
from functools import partial
from types import SimpleNamespace
from unittest.mock import patch

from simulated_time import Simulation

from rmqalloc.remoting import health
from rmqalloc.remoting.frames import RESPONSE, Command, decode, encode
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live import _retake

TOPIC = "orders"
QUEUES = 8


class InThread:
    """What serves on loopback in a thread of its own, while a block runs: `_run` sets ``_ready``
    and ends with ``_end``.
    """

    def __init__(self):
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(300)
        return self

    def __exit__(self, *_error):
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(300)


class Loopback(InThread):
    """Servers that answer as real ones do, each on a port of its own; a context manager.

    Parameters
    ----------
    brokers : int
    groups : dict of str to list of str
        Client ids by group; every client is registered at every broker.
    frozen : container of str
        Brokers that take requests and never answer, as one that was stopped by SIGSTOP.
    silent : container of str
        Client ids that never answer; brokers go on waiting for them.
    more : dict
        Bodies by code, in place of the usual ones.
    """

    def __init__(self, brokers=2, groups=None, frozen=(), silent=(), more=None):
        self.names = [f"broker-{i}" for i in range(brokers)]
        self.groups = {"g": ["c-0", "c-1"]} if groups is None else groups
        self.frozen, self.silent, self.more = frozen, silent, more or {}
        self.asked = []
        """Requests that came, as (server, code, fields)."""
        self.addresses = {}
        super().__init__()

    @property
    def name_server(self):
        return self.addresses["name server"]

    async def _run(self):
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        servers = []
        for name in ("name server", *self.names):
            server = await asyncio.start_server(
                lambda r, w, name=name: self._serve(name, r, w), "127.0.0.1", 0
            )
            servers.append(server)
            self.addresses[name] = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._end.wait()
        for server in servers:
            server.close()

    async def _serve(self, name, reader, writer):
        try:
            while True:
                request = decode(
                    await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
                )
                self.asked.append((name, ReadCode(request.code), request.ext_fields))
                if name not in self.frozen and (answer := self.answer(name, request)) is not None:
                    writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def answer(self, name, request):
        """The frame that a server answers, None for none."""
        code = ReadCode(request.code)
        content = self.more.get(code)
        if callable(content):
            content = content(name, request)
        if content is None:
            content = getattr(self, code.name.lower())(request.ext_fields)
        if content is None:
            return None
        if isinstance(content, Command):
            return encode(content)
        body = content.encode(errors="surrogatepass") if isinstance(content, str) else content
        return encode(Command(0, request.opaque, {}, body, None, RESPONSE))

    def count(self, code, server=None):
        """How often something was asked."""
        return sum(1 for name, one, _ in self.asked if one is code and server in (None, name))

    # --- Answers, in the form that RocketMQ's servers have ---

    def get_broker_cluster_info(self, _fields):
        table = ",".join(
            f'"{name}":{{"brokerAddrs":{{0:"{self.addresses[name]}"}},"brokerName":"{name}","cluster":"DefaultCluster"}}'
            for name in self.names
        )
        return f'{{"brokerAddrTable":{{{table}}},"clusterAddrTable":{{"DefaultCluster":{json.dumps(self.names)}}}}}'

    def get_all_topic_list_from_name_server(self, _fields):
        return json.dumps({"topicList": [TOPIC]})

    def get_all_subscription_group_config(self, _fields):
        return json.dumps(
            {"subscriptionGroupTable": {name: {"groupName": name} for name in self.groups}}
        )

    def get_consumer_connection_list(self, fields):
        ids = self.groups[fields["consumerGroup"]]
        return json.dumps(
            {
                "connectionSet": [{"clientId": one, "language": "JAVA", "version": 399} for one in ids],
                "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
                "subscriptionTable": {TOPIC: {"subString": "*", "topic": TOPIC}},
            }
        )  # fmt: skip

    def get_route_info_by_topic(self, _fields):
        queues = {"readQueueNums": QUEUES, "writeQueueNums": QUEUES, "perm": 6}
        return json.dumps({"queueDatas": [{"brokerName": name, **queues} for name in self.names]})

    def get_consumer_running_info(self, fields):
        if fields["clientId"] in self.silent:
            return None
        return running_info([])

    def get_consume_stats(self, _fields):
        return consume_stats(QUEUES)

    def get_all_message_request_mode(self, _fields):
        return '{"messageRequestModeMap":{}}'

    def get_broker_config(self, _fields):
        return "defaultMessageRequestMode=PULL\n"


class SimulatedLoopback(Loopback):
    """The same servers on a simulated clock: every `asyncio.run` in the block runs on it, and
    reaches no other servers.

    So do the pauses after which silent servers and clients are asked again.
    """

    def __enter__(self):
        self.simulation, self._open = Simulation(), contextlib.ExitStack()
        for name in ("name server", *self.names):
            self.addresses[name] = self.simulation.serve(partial(self._serve, name))
        self._began = self.simulation.now
        self._open.enter_context(self.simulation.everywhere())
        clock = SimpleNamespace(monotonic=lambda: self.simulation.now, time=time.time)
        for module in (health, _retake):
            self._open.enter_context(patch.object(module, "time", clock))
        return self

    def __exit__(self, *_error):
        self._open.close()

    @property
    def passed(self):
        """Seconds that have passed on the clock since the block began."""
        return self.simulation.now - self._began


def consume_stats(n, topic=TOPIC):
    """Offsets of ``n`` queues as a broker of 5.5 writes them, key objects and all."""
    entries = ",".join(
        f'{{"brokerName":"broker-{i % 2}","queueId":{i // 2 % 16},"topic":"{topic}-{i // 32}"}}:'
        f'{{"brokerOffset":{i},"consumerOffset":{i},"lastTimestamp":1795247990144,"pullOffset":{i}}}'
        for i in range(n)
    )
    return f'{{"consumeTps":0.5,"offsetTable":{{{entries}}}}}'


def running_info(queues, topic=TOPIC):
    """What a client of 5.5 that owns these queues of a broker says of itself."""
    process = '{"cachedMsgCount":0,"commitOffset":4,"droped":false,"lastPullTimestamp":1795247990144,"locked":false}'
    table = ",".join(
        f'{{"brokerName":"broker-0","queueId":{i},"topic":"{topic}"}}:{process}' for i in queues
    )
    return (
        f'{{"mqPopTable":{{}},"mqTable":{{{table}}},"properties":{{"PROP_CONSUMEORDERLY":"false","PROP_CONSUME_TYPE":'
        f'"CONSUME_PASSIVELY","clientRebalance":"true"}},"subscriptionSet":[{{"topic":"{topic}","subString":"*"}}]}}'
    )
