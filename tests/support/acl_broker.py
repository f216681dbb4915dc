"""Which privileges of ACL 2.0 a snapshot needs, tried at a real broker."""

from __future__ import annotations

import asyncio
import json

from broker_admin import CREATE_ACL, CREATE_USER, UPDATE_ACL, administer, make_groups
from live_cluster import LiveCluster

from rmqalloc.remoting import RemotingError, ResponseCode, ResponseError
from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live import _answers as answers

ADMIN = ("admin", "admin-secret")
USER = ("reader", "reader-secret")
_AUTH = "org.apache.rocketmq.auth"
SETTINGS = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": json.dumps(dict(zip(("username", "password"), ADMIN, strict=True))),
    "innerClientAuthenticationCredentials": json.dumps(
        dict(zip(("accessKey", "secretKey"), ADMIN, strict=True))
    ),
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

RESOURCES = ("Group:*", "Topic:*", "Cluster:*")


def start(cluster: LiveCluster) -> str:
    """One broker that checks who asks, in a cluster whose name server runs, with a group and a
    user; its address.
    """
    cluster.start_broker("guarded", **SETTINGS)
    cluster.wait_for_broker("guarded")
    address = cluster.brokers["guarded"]
    make_groups(address, ["g"], Credentials(*ADMIN))
    user = {"username": USER[0], "password": USER[1], "userType": "Normal"}
    administer(address, CREATE_USER, {"username": USER[0]}, user, Credentials(*ADMIN))
    _grant(address, CREATE_ACL, "Topic:none", "Get")
    return address


def grant(address: str, resource: str, *actions: str) -> None:
    """Give the user the privileges of one resource and no others."""
    for one in RESOURCES:
        _grant(address, UPDATE_ACL, one, *(actions if one == resource else ("Pub",)))


def _grant(address: str, code: int, resource: str, *actions: str) -> None:
    subject = f"User:{USER[0]}"
    entry = {"resource": resource, "actions": list(actions), "sourceIps": [], "decision": "Allow"}
    content = {"subject": subject, "policies": [{"policyType": "CUSTOM", "entries": [entry]}]}
    administer(address, code, {"subject": subject}, content, Credentials(*ADMIN))


def refused(address: str) -> set[ReadCode]:
    """Requests that the broker does not let the user make."""
    return asyncio.run(_refused(address))


async def _refused(address: str) -> set[ReadCode]:
    found = set()
    async with Remote([address], Access(credentials=Credentials(*USER), retries=0)) as remote:
        for code, fields in REQUESTS.items():
            try:
                content, _ = await remote.ask(address, code, fields)
                if code is ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG and "g" not in answers.groups(
                    content
                ):
                    found.add(code)  # a list without the groups would be no better
            except ResponseError as error:
                if error.code == ResponseCode.NO_PERMISSION:
                    found.add(code)
            except RemotingError as error:
                raise AssertionError(f"{code.name}: {error}") from error
    return found
