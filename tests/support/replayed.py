"""One server on loopback that says what real ones said: a name server and its only broker in one."""

import asyncio
import json

from loopback import InThread

from rmqalloc.remoting.frames import RESPONSE, Command, decode, encode
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live._take import Wanted, take_snapshot


class Replay(InThread):
    """A name server and its only broker on one port of loopback; the real ones said what it says,
    and it keeps what was asked.

    Parameters
    ----------
    clients : list of (client id, language, version ordinal)
    infos : dict
        Running info by client id; who has none does not answer.
    more : dict
        Answers by code, in place of the usual ones; an int is an error code.
    """

    def __init__(self, clients, infos=None, more=None):
        self.clients, self.infos, self.more = clients, infos or {}, more or {}
        self.asked = []
        super().__init__()

    async def _run(self):
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._end.wait()
        server.close()

    async def _serve(self, reader, writer):
        try:
            while True:
                request = decode(
                    await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
                )
                self.asked.append(ReadCode(request.code))
                answer = self.answer(request)
                if answer is not None:
                    code, body = (answer, b"") if isinstance(answer, int) else (0, answer.encode())
                    writer.write(encode(Command(code, request.opaque, {}, body, None, RESPONSE)))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def answer(self, request):
        code = ReadCode(request.code)
        if code in self.more:
            return self.more[code]
        if code is ReadCode.GET_CONSUMER_RUNNING_INFO:
            return self.infos.get(request.ext_fields["clientId"])
        brokers = f'{{"px":{{"brokerAddrs":{{0:"{self.address}"}}}}}}'
        return {
            ReadCode.GET_BROKER_CLUSTER_INFO: f'{{"brokerAddrTable":{brokers},"clusterAddrTable":{{}}}}',
            ReadCode.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER: '{"topicList":["T"]}',
            ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG: '{"subscriptionGroupTable":{"gg":{}}}',
            ReadCode.GET_CONSUMER_CONNECTION_LIST: json.dumps(
                {
                    "connectionSet": [dict(zip(("clientId", "language", "version"), one, strict=True)) for one in self.clients],
                    "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
                    "subscriptionTable": {"T": {"subString": "*", "topic": "T"}},
                }
            ),
            ReadCode.GET_ROUTE_INFO_BY_TOPIC: json.dumps(
                {"queueDatas": [{"brokerName": "px", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}]}
            ),
            ReadCode.GET_ALL_MESSAGE_REQUEST_MODE: '{"messageRequestModeMap":{}}',
            ReadCode.GET_BROKER_CONFIG: "brokerName=px\ndefaultMessageRequestMode=PULL\ndefaultPopShareQueueNum=-1\n",
        }[code]  # fmt: skip


def taken(replay, **wanted):
    return take_snapshot([replay.address], wanted=Wanted(**({"lag": False} | wanted)))
