"""One request, as the functions that answer it receive it."""

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
        The whole answer is based on this reading.
    given : Parameters
    group : str or None
        The consumer group in the address.
    body : bytes or None
        Body of a POST.
    form : {"json", "yaml"}
        Format of the body.
    leases : GuardLeases or None
        Granted stops.
    history : str or None
        The first file of `--history`.
    not_current : str or None
        Why the state is not current.
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
        """Patterns of the requested groups; raises `NoMatchError` if the group of the address does
        not exist.
        """
        if self.group is None:
            return ALL
        if self.group not in self._by_name:
            raise no_match(self.group, self._by_name, "consumer group")
        return (literal(self.group),)

    def known(self) -> Known:
        """Return known facts of these groups. ``assume=yes`` accepts strategies that are in doubt,
        ``allow_partial=yes`` accepts groups with missing facts.
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
    """A question that can be requested: the function that answers it, its parameters and its cost.

    Attributes
    ----------
    answer : callable
        Takes a `ServiceRequest`; returns a document, or its text.
    parameters : tuple of str
        Names of permitted parameters.
    is_heavy : bool
        Whether it runs on the few threads for heavy answers.
    most_body : int
        Maximum bytes of a POST; 0 if only GET is allowed.
    has_effect : bool
        Whether an answer changes later answers; then HEAD does not run it.
    """

    answer: Callable[[ServiceRequest], Document | bytes]
    parameters: tuple[str, ...] = ()
    is_heavy: bool = True
    most_body: int = 0
    has_effect: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the permitted methods of HTTP.

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
