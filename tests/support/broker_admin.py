"""Requests that change a broker of a test, which the product never sends: groups, users and their
privileges.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from rmqalloc.remoting import frames as frame
from rmqalloc.remoting.credentials import Credentials

GROUPS, CREATE_USER, CREATE_ACL, UPDATE_ACL = 225, 3001, 3006, 3007


def administer(
    address: str, code: int, fields: dict[str, str], content: Any, keys: Credentials | None = None
) -> None:
    """Send one request and wait for its success; content that is no bytes is sent as JSON."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), 20) as connection,
        connection.makefile("rb") as answers,
    ):
        signed = keys.signed(fields, body) if keys else fields
        connection.sendall(frame.encode(frame.Command(code, 1, signed, body)))
        answer = frame.decode(answers.read(int.from_bytes(answers.read(4))))
    if answer.code:
        raise AssertionError(
            f"request {code} of {address} failed with {answer.code}: {answer.remark}"
        )


def make_groups(address: str, names: list[str], keys: Credentials | None = None) -> None:
    """Settings of consumer groups."""
    administer(
        address, GROUPS, {}, {"groupConfigList": [{"groupName": name} for name in names]}, keys
    )
