"""Brokers that check who asks: ACL 1.0 by a file, ACL 2.0 by requests; the same users at both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import acl_broker
from broker_admin import CREATE_ACL, CREATE_USER, UPDATE_ACL, administer
from live_cluster import LiveCluster
from live_proofs import wait_for

from clusters.beside_java.wire import brokers_of
from rmqalloc.remoting import Credentials

TOPIC, GROUP, QUEUES = "orders", "billing", 4
SECRET = "secret-of-a-user"
USERS = {
    "allowed-user": (TOPIC, GROUP),
    "without-topic": ("elsewhere", GROUP),
    "without-group": (TOPIC, "elsewhere"),
}
"""Topic and group of each user."""

_UPDATE_TOPIC, _UPDATE_CONFIG = 17, 25


class Guarded:
    """A broker and its users.

    Parameters
    ----------
    cluster : LiveCluster
        Its name server runs.
    """

    settings: Mapping[str, Any]
    admin: Credentials

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self.prepare()
        cluster.start_broker("guarded", **self.settings)
        cluster.wait_for_broker("guarded")
        self.address = cluster.brokers["guarded"]
        self.set_up()
        fields = {"topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": str(QUEUES), "writeQueueNums": str(QUEUES),
                  "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}  # fmt: skip
        administer(self.address, _UPDATE_TOPIC, fields, None, self.admin)
        wait_for(
            lambda: brokers_of(cluster.name_server, TOPIC) == {"guarded": QUEUES},
            f"{TOPIC} has its queues",
        )

    def prepare(self) -> None:
        """Do what the broker needs before it starts."""

    def set_up(self) -> None:
        """Make the users."""

    def permit(self, is_allowed: bool) -> None:
        """Let the allowed user consume the topic, or not any longer."""
        raise NotImplementedError

    def filter_properties(self) -> None:
        """Let subscriptions be conditions over properties."""
        body = b"enablePropertyFilter=true\n"
        administer(self.address, _UPDATE_CONFIG, {}, body, self.admin)


class Acl1(Guarded):
    """ACL 1.0; the broker reads its file again within seconds."""

    settings = MappingProxyType({"aclEnable": "true"})
    admin = Credentials("administrator", "secret-of-administrator")

    def prepare(self) -> None:
        """Write the file."""
        self._write(USERS)

    def permit(self, is_allowed: bool) -> None:
        """Write the file again."""
        self._write(USERS if is_allowed else USERS | {"allowed-user": ("elsewhere", "elsewhere")})

    def _write(self, users: dict[str, tuple[str, str]]) -> None:
        key, secret = self.admin.access_key, self.admin.secret_key
        accounts: list[dict[str, Any]] = [{"accessKey": key, "secretKey": secret, "admin": True}]
        accounts += [
            {
                "accessKey": name,
                "secretKey": SECRET,
                "admin": False,
                "defaultTopicPerm": "DENY",
                "defaultGroupPerm": "DENY",
                "topicPerms": [f"{topic}=SUB"],
                "groupPerms": [f"{group}=SUB"],
            }
            for name, (topic, group) in users.items()
        ]
        file = self._cluster.home / "conf" / "plain_acl.yml"
        content = {"globalWhiteRemoteAddresses": [], "accounts": accounts}
        file.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML


class Acl2(Guarded):
    """ACL 2.0."""

    settings = MappingProxyType(acl_broker.SETTINGS)
    admin = Credentials(*acl_broker.ADMIN)

    def set_up(self) -> None:
        """Make the users by requests."""
        for name, (topic, group) in USERS.items():
            user = {"username": name, "password": SECRET, "userType": "Normal"}
            administer(self.address, CREATE_USER, {"username": name}, user, self.admin)
            self._grant(CREATE_ACL, name, f"Topic:{topic}")
            self._grant(UPDATE_ACL, name, f"Group:{group}")

    def permit(self, is_allowed: bool) -> None:
        """Change what the user may do."""
        actions = ("Sub", "Get") if is_allowed else ("Pub",)
        for resource in (f"Topic:{TOPIC}", f"Group:{GROUP}"):
            self._grant(UPDATE_ACL, "allowed-user", resource, actions)

    def _grant(
        self, code: int, name: str, resource: str, actions: Sequence[str] = ("Sub", "Get")
    ) -> None:
        """Set the privileges of a user; the greatest offset of a queue takes Get."""
        entry = {
            "resource": resource,
            "actions": list(actions),
            "sourceIps": [],
            "decision": "Allow",
        }
        policies = [{"policyType": "CUSTOM", "entries": [entry]}]
        content = {"subject": f"User:{name}", "policies": policies}
        administer(self.address, code, {"subject": f"User:{name}"}, content, self.admin)
