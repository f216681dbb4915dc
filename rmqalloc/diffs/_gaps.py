"""What a partial snapshot may lack: a name that such a snapshot does not have may be there all the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rmqalloc.remoting._read_codes import ReadCode
from rmqalloc.snapshot._snapshot import SourceError

_HIDE_NO_NAMES = (
    ReadCode.GET_CONSUMER_RUNNING_INFO.name,
    ReadCode.GET_CONSUME_STATS.name,
    ReadCode.GET_ALL_MESSAGE_REQUEST_MODE.name,
    ReadCode.GET_BROKER_CONFIG.name,
)
_GROUP_NAMES = ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG.name
_CLIENTS_OF = f"{ReadCode.GET_CONSUMER_CONNECTION_LIST.name} "
_ROUTE_OF = "route of topic "


@dataclass(frozen=True)
class Gaps:
    """What could not be asked, as `rmqalloc.snapshot.live` words its requests.

    Attributes
    ----------
    anything : bool
        Whether any name may be missing: of a request that is not known, nobody can say what it would have shown.
    group_names : bool
        Whether whole groups may be missing.
    groups, topics : frozenset of str
        Consumer groups whose clients, and topics whose routes, are not known in full.
    """

    anything: bool = False
    group_names: bool = False
    groups: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()

    @classmethod
    def of(cls, errors: Iterable[SourceError]) -> Gaps:
        """Those that the errors of a snapshot leave.

        Examples
        --------
        >>> gaps = Gaps.of([SourceError("broker b", "GET_CONSUMER_CONNECTION_LIST orders", "timeout")])
        >>> gaps.hides_clients("orders"), gaps.hides_clients("refunds")
        (True, False)
        >>> Gaps.of([SourceError("broker b", "GET_CONSUME_STATS orders", "timeout")]) == Gaps()
        True
        """
        asked = [one.request for one in errors if not one.request.startswith(_HIDE_NO_NAMES)]
        groups = {one.removeprefix(_CLIENTS_OF) for one in asked if one.startswith(_CLIENTS_OF)}
        topics = {one.removeprefix(_ROUTE_OF) for one in asked if one.startswith(_ROUTE_OF)}
        anything = any(not one.startswith((_CLIENTS_OF, _ROUTE_OF, _GROUP_NAMES)) for one in asked)
        return cls(anything, any(one.startswith(_GROUP_NAMES) for one in asked), frozenset(groups), frozenset(topics))

    def hides_group(self, name: str) -> bool:
        """Whether a group that is not there may have been missed."""
        return self.anything or self.group_names or name in self.groups

    def hides_clients(self, group: str) -> bool:
        """Whether clients of a group may have been missed."""
        return self.anything or group in self.groups

    def hides_topic(self, name: str) -> bool:
        """Whether a topic or brokers of it may have been missed."""
        return self.anything or name in self.topics
