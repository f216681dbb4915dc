"""A request as answers see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from rmqalloc.evidence import Known, known
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.service.query_parameters import ParameterError, Parameters
from rmqalloc.service.readings import ServedState
from rmqalloc.snapshot.matching import ALL, no_match
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.text import literal
from rmqalloc.watching.guard import GuardLeases

Document = dict[str, Any]


class ServiceRequest(NamedTuple):
    """One request.

    Attributes
    ----------
    state : ServedState
        All of the answer is of this one reading.
    given : Parameters
    group : str or None
        The consumer group that the address names.
    body : bytes or None
        What was posted.
    form : {"json", "yaml"}
        What it is.
    leases : GuardLeases or None
        Stops that were granted.
    history : str or None
        The first file of `--history`.
    not_current : str or None
        Why the state does not say what is so now.
    """

    state: ServedState
    given: Parameters
    group: str | None = None
    body: bytes | None = None
    form: str = "json"
    leases: GuardLeases | None = None
    history: str | None = None
    not_current: str | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Patterns of the groups that are asked for; `NoMatchError` where the address names one
        that is not there.
        """
        if self.group is None:
            return ALL
        if self.group not in self._by_name:
            raise no_match(self.group, self._by_name, "consumer group")
        return (literal(self.group),)

    def known(self) -> Known:
        """Return what is known of these groups; ``assume=yes`` accepts strategies that are in
        doubt, ``allow_partial=yes`` what is known of groups where a fact is missing.
        """
        patterns, found = self.groups, self.state.observation.known
        assume, allow_partial = self._is_yes("assume"), self._is_yes("allow_partial")
        if self.group is None and not assume and not allow_partial:
            return found
        given = found.given if self.group is None else self._alone(self.group)
        return known(given, patterns, assume=assume, allow_partial=allow_partial)

    def _is_yes(self, name: str) -> bool:
        given = self.given.text(name)
        if given not in (None, "yes", "no"):
            raise ParameterError(f"{name} must be yes or no, got {given!r}")
        return given == "yes"

    def _alone(self, name: str) -> Snapshot:
        """Return a group with the topics that it names and no other: its plan does not depend on
        how many there are.
        """
        snapshot = self.state.observation.known.given
        places = self.state.once(
            "places of topics", lambda: {one.name: at for at, one in enumerate(snapshot.topics)}
        )
        mine = sorted(places[one] for one in _named_by(self._by_name[name]) if one in places)
        return replace(
            snapshot,
            groups=(self._by_name[name],),
            topics=tuple(snapshot.topics[at] for at in mine),
        )

    @property
    def _by_name(self) -> dict[str, Group]:
        groups = self.state.observation.known.given.groups
        return self.state.once("groups by name", lambda: {one.name: one for one in groups})


class Question(NamedTuple):
    """What can be asked: who answers, by which parameters, and what that costs.

    Attributes
    ----------
    answer : callable
        Takes what is `ServiceRequest`; returns a document, or its text.
    parameters : tuple of str
        Names that an address may have.
    is_heavy : bool
        Whether it is worked out on the few threads for heavy answers.
    most_body : int
        Bytes that may be posted; 0 for a question that is only got.
    has_effect : bool
        Whether an answer changes what others get: then HEAD does not ask it.
    """

    answer: Callable[[ServiceRequest], Document | bytes]
    parameters: tuple[str, ...] = ()
    is_heavy: bool = True
    most_body: int = 0
    has_effect: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of HTTP that ask it.

        Examples
        --------
        >>> Question(len).methods, Question(len, most_body=9).methods, Question(len, has_effect=True).methods
        (('GET', 'HEAD'), ('GET', 'HEAD', 'POST'), ('GET',))
        """
        seen = () if self.has_effect else ("HEAD",)
        return ("GET", *seen, *(("POST",) if self.most_body else ()))


def _named_by(group: Group) -> set[str]:
    """Return all topics that a group, its clients or its lags name; what is asked of it chooses
    from these.
    """
    found = {
        *group.subscriptions,
        RETRY_PREFIX + group.name,
        *(one.queue.topic for one in group.lags),
    }
    for client in group.clients:
        found.update(client.subscriptions or (), client.sees_read_queue_nums or ())
        found.update(queue.topic for queue in client.owned or ())
    return found
