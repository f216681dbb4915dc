"""The states of the queues of all groups of a snapshot, made on first access."""

from __future__ import annotations

from rmqalloc.evaluation.groups_with_views import laid_groups
from rmqalloc.evidence import Known
from rmqalloc.evidence.client_method import known_by_client
from rmqalloc.evidence.views.reported import ReportedOwners
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.evidence.views.without_owners import POP, sharing_of
from rmqalloc.ownership.queue_states import UNKNOWN, OwnerStates
from rmqalloc.snapshot.snapshot import Group


class PresentStates:
    """The present owners of the queues of a snapshot; the result of `present_states`.

    Attributes
    ----------
    silent_brokers : frozenset of str
        Brokers that do not answer.
    """

    def __init__(self, known: Known) -> None:
        self._laid = known.once(laid_groups)
        self._unknown = self._laid.unknown
        self.silent_brokers = frozenset(
            broker.broker_name for broker in known.snapshot.brokers if broker.is_silent
        )
        self._states: dict[str, OwnerStates] = {}
        self._may_be_open: dict[str, bool] = {}

    def of(self, group: Group) -> OwnerStates:
        """Return the states of a group; its units are made on first access."""
        if group.name not in self._states:
            views = self._laid.views_of(group)
            reported, units = ReportedOwners(views.clients), dict[str, UnitViews]()

            def unit_of(topic: str) -> UnitViews | None:
                if not units:
                    units.update((unit.topic, unit) for unit in self._laid.units_of(group))
                return units.get(topic)

            self._states[group.name] = OwnerStates(
                views, reported, unit_of, self._unknown, self.silent_brokers
            )
        return self._states[group.name]

    def is_open(self, group: Group, topic: str) -> bool:
        """Return True if the owner of a queue of a group and topic is not known, if a client may
        own more, or if there is no client.
        """
        if group.name not in self._may_be_open:
            self._may_be_open[group.name] = self._has_reason(group)
        if not (self._may_be_open[group.name] or self._unknown.why("routes", topic)):
            return False
        states = self.of(group)
        if not states.views.clients or states.clients_unknown:
            return True
        sharing = sharing_of(group)
        if sharing is not None and sharing.name == POP and states.reports(topic):
            return True  # a plan takes readers of POP as they are computed
        queues = states.of_unit(topic).values()
        return states.is_partial(topic) or any(state.known == UNKNOWN for state in queues)

    def _has_reason(self, group: Group) -> bool:
        """Return whether there is a reason to look at the queues of a group: of most there is none."""
        kinds = ("clients", "subscriptions", "owners", "brokers")
        reports = {client.owned is not None for client in group.clients}
        return bool(
            len(reports) != 1
            or self.silent_brokers
            or (group.strategy_doubt is not None and not known_by_client(group))
            or group.lite_topic is not None
            or group.broker_client_ids is not None
            or group.server_assignment is not None
            or (
                not self._unknown.is_empty
                and any(self._unknown.why(kind, group.name) for kind in kinds)
            )
        )


def present_states(known: Known) -> PresentStates:
    """Return the states of a snapshot; see `Known.once`."""
    return PresentStates(known)
