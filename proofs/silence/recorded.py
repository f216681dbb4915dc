"""Answers of a real cluster, kept in a file and given again, all or all but some."""

import asyncio
import gzip
import json
from unittest.mock import patch

from rmqalloc.remoting import RemotingError, ResponseError, client
from rmqalloc.remoting.connection import Connection, SilentError
from rmqalloc.remoting.frames import RESPONSE, Command
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live._take import take_snapshot

NOT_LOST = {ReadCode.GET_BROKER_CLUSTER_INFO}
"""Without these answers nothing is read at all."""


class Recording:
    """What servers answered, by request; None where one was silent, a number where it refused.

    Parameters
    ----------
    server : str
        The name server that was asked.
    answers : dict of str to str, int or None
    """

    def __init__(self, server, answers=None):
        self.server, self.answers = server, answers or {}

    @classmethod
    def load(cls, path):
        return cls(**json.loads(gzip.decompress(path.read_bytes())))

    def save(self, path):
        text = json.dumps(
            {"server": self.server, "answers": self.answers}, sort_keys=True, ensure_ascii=False
        )
        path.write_bytes(gzip.compress(text.encode(), mtime=0))

    def record(self, **wanted):
        """Read the cluster, and keep every answer."""
        answers = self.answers

        class Kept(Connection):
            async def ask(self, code, ext_fields=None, body=b"", timeout=5.0):
                key = key_of(self.address, code, ext_fields)
                try:
                    answer = await super().ask(code, ext_fields, body, timeout)
                except ResponseError as error:
                    answers[key] = error.code
                    raise
                except RemotingError:
                    answers[key] = None
                    raise
                answers[key] = answer.body.decode()
                return answer

        with patch.object(client, "Connection", Kept):
            return take_snapshot([self.server], **wanted)

    def taken(self, lost=()):
        """The snapshot that is read where servers are silent to some requests."""
        answers = self.answers

        class Given(Connection):
            async def ask(self, code, ext_fields=None, body=b"", timeout=5.0):
                key = key_of(self.address, code, ext_fields)
                answer = None if key in lost else answers.get(key)
                if answer is None:
                    raise SilentError(
                        f"{self.address} did not answer {code.name} within {timeout:g} s"
                    )
                if isinstance(answer, int):
                    raise ResponseError(answer, "refused")
                self.heard = asyncio.get_running_loop().time()
                return Command(0, 1, {}, answer.encode(), None, RESPONSE)

        access = client.Access(retries=0, relayed_per_second=1e9)
        with patch.object(client, "Connection", Given):
            return take_snapshot([self.server], access)

    def without_one(self):
        """Names of what is lost, with the snapshot that is read then: one answer, or all of one
        server.
        """
        addresses = {}
        for key in self.answers:
            address, name, _ = key.split(" ", 2)
            if ReadCode[name] not in NOT_LOST:
                addresses.setdefault(address, set()).add(key)
                yield name, self.taken({key})
        for address, keys in addresses.items():
            if address != self.server:
                yield "a broker", self.taken(keys)


def key_of(address, code, fields):
    said = {
        name: value
        for name, value in (fields or {}).items()
        if name not in ("jstackEnable", "acceptStandardJsonOnly")
    }
    return f"{address} {code.name} {json.dumps(said, sort_keys=True, ensure_ascii=False)}"
