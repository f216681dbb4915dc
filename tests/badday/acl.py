"""Which privileges of ACL 2.0 a snapshot needs, tried at a real broker."""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

from live_cluster import LiveCluster, mqadmin

from rmqalloc.protocol import RemotingError, ResponseCode, ResponseError
from rmqalloc.snapshot.live.credentials import Credentials
from rmqalloc.snapshot.live.remote import Access, Remote
from rmqalloc.snapshot.live.requests import ReadCode

ADMIN = ("admin", "admin-secret")
USER = ("reader", "reader-secret")
_AUTH = "org.apache.rocketmq.auth"
SETTINGS = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": json.dumps(dict(zip(("username", "password"), ADMIN, strict=True))),
    "innerClientAuthenticationCredentials": json.dumps(dict(zip(("accessKey", "secretKey"), ADMIN, strict=True))),
    "authorizationEnabled": "true",
    "authorizationProvider": f"{_AUTH}.authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
}

_GROUP = {"consumerGroup": "g"}
REQUESTS = {
    ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG: {},
    ReadCode.GET_CONSUMER_CONNECTION_LIST: _GROUP,
    ReadCode.GET_CONSUMER_RUNNING_INFO: {**_GROUP, "clientId": "c", "jstackEnable": "false"},
    ReadCode.GET_CONSUME_STATS: _GROUP,
    ReadCode.GET_ALL_MESSAGE_REQUEST_MODE: {},
    ReadCode.GET_BROKER_CONFIG: {},
}
"""What a snapshot asks of brokers; name servers of 5.5 know no ACL."""

PRIVILEGES = [
    ("Group:*", "Get"), ("Group:*", "List"), ("Topic:*", "Get"), ("Topic:*", "List"), ("Cluster:*", "Get"), ("Cluster:*", "List"),
]  # fmt: skip


class Allowed(NamedTuple):
    """A request, and which single privileges allow it."""

    code: ReadCode
    without: bool
    by: tuple[str, ...]


def start(cluster: LiveCluster) -> str:
    """One broker that checks who asks, in a cluster whose name server runs; its address."""
    (cluster.home / "conf").mkdir(exist_ok=True)
    (cluster.home / "conf" / "tools.yml").write_text(f"accessKey: {ADMIN[0]}\nsecretKey: {ADMIN[1]}\n", encoding="utf-8")
    cluster.start_broker("guarded", **SETTINGS)
    cluster.wait_for_broker("guarded")
    address = cluster.brokers["guarded"]
    mqadmin(cluster, "createUser", "-b", address, "-u", USER[0], "-p", USER[1], "-t", "Normal")
    return address


def grant(cluster: LiveCluster, address: str, *privileges: tuple[str, str]) -> None:
    """Give the user these privileges and no others."""
    subject = ("-b", address, "-s", f"User:{USER[0]}")
    mqadmin(cluster, "deleteAcl", *subject)
    for resource, action in privileges:
        verb = "createAcl" if (resource, action) == privileges[0] else "updateAcl"
        mqadmin(cluster, verb, *subject, "-r", resource, "-a", action, "-d", "Allow")


def refused(address: str) -> set[ReadCode]:
    """Requests that the broker does not let the user make."""
    return asyncio.run(_refused(address))


async def _refused(address: str) -> set[ReadCode]:
    found = set()
    async with Remote([address], Access(credentials=Credentials(*USER), retries=0)) as remote:
        for code, fields in REQUESTS.items():
            try:
                await remote.ask(address, code, fields)
            except ResponseError as error:
                if error.code == ResponseCode.NO_PERMISSION:
                    found.add(code)
            except RemotingError as error:
                raise AssertionError(f"{code.name}: {error}") from error
    return found


def table(cluster: LiveCluster, address: str) -> list[Allowed]:
    """Every request with the single privileges that allow it."""
    grant(cluster, address)
    without = refused(address)
    by: dict[ReadCode, list[str]] = {code: [] for code in REQUESTS}
    for resource, action in PRIVILEGES:
        grant(cluster, address, (resource, action))
        for code in REQUESTS.keys() - refused(address):
            by[code].append(f"{resource} {action}")
    return [Allowed(code, code not in without, tuple(by[code])) for code in REQUESTS]
