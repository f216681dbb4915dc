"""Consumers of client-go at a real cluster, each in a process of its own."""

from __future__ import annotations

import subprocess
from typing import Self

import go_driver
import tied

ENDS_WITHIN = 180
"""Seconds to the end of a process that leaves its group first."""


class GoConsumer:
    """A push consumer of client-go, from its start until it is left.

    Parameters
    ----------
    name_server, group, topic : str
    instance : str
        Its client id ends with it.
    strategy : {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"}
        client-go's own; ten virtual nodes.
    """

    def __init__(
        self, name_server: str, group: str, topic: str, instance: str, strategy: str
    ) -> None:
        program = [str(go_driver.built("member")), name_server, group, topic, instance, strategy]
        self._process = tied.popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self.leave()
            raise AssertionError(f"the consumer of client-go did not start: {instance}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Shut it down in good order; a second time does nothing."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(ENDS_WITHIN)
