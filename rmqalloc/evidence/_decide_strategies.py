"""The strategies of the groups of a snapshot, with how each is known.

Sources, strongest first: the strategy is stated in the snapshot (given); the clients report it and
agree (reported), which refutes a statement if all of them do; it is the only one that explains all
known owners (fitted); it is RocketMQ's default (assumed). From any source, it must not contradict
the known owners. If it does, or is a guess, the group gets a doubt, and nothing is computed from its
strategy until someone states another one or accepts this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.memory import no_collection
from rmqalloc.evidence._inferred_rooms import RoomFit, placed_groups
from rmqalloc.evidence.client_method import (
    dialect_of_all,
    divide_otherwise,
    divides,
    is_served,
    method_of_group,
    reporting,
    spoken,
)
from rmqalloc.evidence.inferred_strategies import (
    OwnedReader,
    StrategyFit,
    candidates,
    fits_of,
    guesses,
    is_rare,
    nearby_guesses,
)
from rmqalloc.evidence.method import DEFAULT_STRATEGY, Method, Rooms
from rmqalloc.snapshot.snapshot import Group, Snapshot, with_fields
from rmqalloc.strategies.by_name import full_name, is_same, lacks_inner, outer_name
from rmqalloc.strategies.consistent_hash import DEFAULT_VIRTUAL_NODES
from rmqalloc.strategies.dialects import DIALECTS, dialect_of
from rmqalloc.text import counted, matcher

_OWNED = attrgetter("owned")


class _Claim(NamedTuple):
    """What is stated and reported of a group's strategy, before its owners are compared."""

    method: Method
    source: str
    tried: Sequence[Method]  # all that an incomplete claim may mean, most likely first
    doubt: str | None = None
    unfounded: str | None = None  # why it is a guess where no owners are known

    @property
    def is_whole(self) -> bool:
        """Whether the claim is complete."""
        return len(self.tried) == 1


@dataclass(frozen=True)
class Decided:
    """A snapshot with its strategies; `decided` makes it.

    Attributes
    ----------
    snapshot : Snapshot
    names : set of str
        Groups that were looked at.
    again : callable or None
        Decides once more, with machine rooms that are a guess; None if there are none.
    """

    snapshot: Snapshot
    names: Set[str]
    again: Callable[[], Decided] | None

    def accepted(self) -> Snapshot:
        """Return the same with everything accepted that is in doubt."""
        snapshot = self.snapshot if self.again is None else self.again().snapshot
        groups = []
        for group in snapshot.groups:
            if group.strategy_doubt is not None and group.name in self.names:
                group = replace(group, strategy_doubt=None)
            groups.append(group)
        return replace(snapshot, groups=tuple(groups))


@no_collection()
def decided(
    snapshot: Snapshot,
    groups: Sequence[str],
    stated: tuple[str, Mapping[str, Any]] | None = None,
    accept: bool = False,
) -> Decided:
    """Return the strategies and machine rooms of groups; with ``accept`` also rooms that are a
    guess.
    """
    is_meant = matcher(tuple(groups))
    mine = [group for group in snapshot.groups if divides(group) and is_meant(group.name)]
    if stated is not None:
        method = Method(*full_name(stated[0], dict(stated[1])))
        found = []
        for group in mine:
            own = _of_all(group, method)
            found.append((group, _Claim(own, "given", [own])))
    else:
        claims = _Claims(snapshot)
        found = [(group, claims.of(group)) for group in mine if group.strategy_source is None]
    placed = placed_groups(
        snapshot,
        [(group, claim.tried) for group, claim in found if _owners_tell_rooms(group, claim)],
        lambda group, fit: accept or _room_doubt(group, fit) is None,
    )
    fitted = {name for name, (_, fit) in placed.groups.items() if fit.found}
    unfitted = [(group, claim) for group, claim in found if group.name not in fitted]
    known = {group.name: group for group in mine}
    known.update((group.name, group) for group in _known(placed.snapshot, unfitted))
    for group, claim in found:
        name = group.name
        # The rooms that are known may be all that the owners need.
        if name in fitted or (name in placed.groups and known[name].strategy_explains != 1):
            known[name] = _in_rooms(*placed.groups[name], claim)
    if stated is not None:
        known = {name: replace(group, strategy_doubt=None) for name, group in known.items()}
    all_groups = tuple(known.get(group.name, group) for group in snapshot.groups)
    again = None
    rooms = placed.groups.values()
    if not accept and any(fit.found and _room_doubt(group, fit) for group, fit in rooms):
        again = partial(decided, snapshot, groups, stated, accept=True)
    return Decided(replace(placed.snapshot, groups=all_groups), known.keys(), again)


# --- Stated and reported ---


class _Claims:
    """The claims on groups; on those whose clients report nothing of their strategy it is one for
    all that state the same.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._rooms = cache(partial(Rooms.of, snapshot))
        self._of_silent: dict[tuple[str | None, str, bool], _Claim] = {}

    def of(self, group: Group) -> _Claim:
        if reporting(group):
            return _claim(group, self._rooms)
        key = group.strategy, repr(group.strategy_params), bool(group.clients)
        if key not in self._of_silent:
            self._of_silent[key] = _claim(group, self._rooms)
        return self._of_silent[key]


def _claim(group: Group, rooms: Callable[[], Rooms]) -> _Claim:
    """Return the claim on a group: stated, else reported, else assumed."""
    reported = Counter(client.strategy for client in group.clients if client.strategy is not None)
    if group.strategy is not None:
        # A snapshot may have been written from the reports of its clients, which do not include
        # virtual nodes.
        all_report = bool(reported) and reported == {group.strategy: len(group.clients)}
        source = "reported" if all_report and not group.strategy_params else "given"
        method = method_of_group(group)
        # Go's clients compute AVG where NEARBY is set, and may report it.
        computed = _of_all(group, method)
        others = {
            name: n
            for name, n in reported.items()
            if not (is_same(name, method.name) or is_same(name, computed.name))
        }
        doubt = f"the snapshot states {method.name}, {_said(others)}" if others else None
        if len(others) == 1 and sum(others.values()) == len(group.clients) and not is_served(group):
            # What clients report is what they run, whatever was written down of them.
            source, method, doubt = "reported", Method(*full_name(next(iter(others)), {})), None
    elif reported:
        source = "reported"
        most = min(reported, key=lambda name: (-reported[name], name))
        method = Method(*full_name(most, dict(group.strategy_params)))
        doubt = f"its clients do not agree: {_said(reported)}" if len(reported) > 1 else None
    else:
        unfounded = f"nothing shows which strategy its clients use; {DEFAULT_STRATEGY} is RocketMQ's default"
        tried = candidates(rooms(), dialect_of_all(group))
        return _Claim(Method(DEFAULT_STRATEGY), "assumed", tried, None, unfounded)
    doubt = doubt or _otherwise(group, method)
    method, unclear = _with_nodes(_of_all(group, method), source, group)
    if lacks_inner(method.name):
        tried = nearby_guesses()
    else:
        guessed = set[str]().union(*(guess.params for guess in guesses(method.name)))
        is_open = guessed and not guessed & method.params.keys()
        tried = guesses(method.name, method.dialect) if is_open else [method]
    why_guess = _unfounded(method, source, len(tried), group)
    return _Claim(method, source, tried, doubt or unclear, why_guess)


def _of_all(group: Group, method: Method) -> Method:
    """Return the method that clients of one dialect compute under a name; unchanged if the clients
    have several dialects.
    """
    return spoken(method, dialect_of_all(group))


def _otherwise(group: Group, method: Method) -> str | None:
    """Return why clients of some dialect do not compute the strategy of their group, if so: all
    alike do, unless they lack it.
    """
    alike = dialect_of_all(group)
    for name in dict.fromkeys(dialect_of(client.language) for client in group.clients):
        dialect = DIALECTS.get(name or "")
        if dialect is not None and method.in_dialect(name) != method:
            outer = outer_name(method.name)
            if outer not in dialect.made:
                return dialect.lacks(method.name)
            if alike is None:
                return dialect.differs[outer]
    return None


def _with_nodes(method: Method, source: str, group: Group) -> tuple[Method, str | None]:
    """Return a strategy with the number of virtual nodes that clients report, and what is unclear
    about it.
    """
    reported = Counter(
        client.virtual_nodes for client in group.clients if client.virtual_nodes is not None
    )
    if method.virtual_nodes is None or not reported:
        return method, None
    reports = ", ".join(f"{counted(n, 'client')} {nodes}" for nodes, n in sorted(reported.items()))
    if len(reported) > 1:
        return method, f"its clients do not agree on virtual nodes: {reports}"
    [nodes] = reported
    if source == "given" and nodes != method.virtual_nodes:
        return method, f"the snapshot states {method}, {reports}"
    return Method(method.name, {**method.params, "virtual_nodes": nodes}), None


def _unfounded(method: Method, source: str, n_tried: int, group: Group) -> str | None:
    """Return why a claim is a guess if no owners are known, or None if it is not one."""
    if lacks_inner(method.name):
        return f"the strategy inside {method.name} is not known"
    if source != "reported":
        return None
    n = sum(client.strategy is not None for client in group.clients)
    if n < len(group.clients):
        return f"only {n:,} of {counted(len(group.clients), 'client')} {'reports' if n == 1 else 'report'} a strategy"
    return _unreported(method) if n_tried != 1 else None


def _said(reported: Mapping[str, int]) -> str:
    return ", ".join(
        f"{counted(n, 'client')} {'reports' if n == 1 else 'report'} {name}"
        for name, n in sorted(reported.items())
    )


# --- Compared with owners ---


def _owners_tell_rooms(group: Group, claim: _Claim) -> bool:
    """Return whether what clients own may tell machine rooms: what one owns that divides by
    something else says nothing of them.
    """
    method = claim.method
    if not method.asks_for_rooms:
        return False
    as_claimed = replace(group, strategy=method.name, strategy_params=dict(method.params))
    return not divide_otherwise(as_claimed)


def _known(snapshot: Snapshot, found: Sequence[tuple[Group, _Claim]]) -> Iterator[Group]:
    """Yield groups with their strategies, after the claims have been compared with the known
    owners.
    """
    owning = [pair for pair in found if any(map(_OWNED, pair[0].clients))]
    if not owning:
        yield from (_resolved(group, claim, None, None) for group, claim in found)
        return
    reader = OwnedReader(snapshot.topics)
    groups = {group.name: group for group, _ in owning}
    claims = {group.name: claim for group, claim in owning}
    owned = {name: reader.of(group) for name, group in groups.items()}
    owned = {name: queues for name, queues in owned.items() if queues.owners}
    rooms = Rooms.of(snapshot) if owned else Rooms({}, {})
    claimed = [claims[name].tried for name in owned]
    fits = dict(zip(owned, fits_of([*owned.values()], claimed, rooms), strict=True))
    # If no claimed strategy explains all owners, the others are tried for the message.
    left = [
        name
        for name, fit in fits.items()
        if not fit.explains_all and claims[name].source != "assumed"
    ]
    candidates_in = lru_cache(partial(candidates, rooms))
    tried = [candidates_in(dialect_of_all(groups[name])) for name in left]
    others = dict(zip(left, fits_of([owned[name] for name in left], tried, rooms), strict=True))
    for group, claim in found:
        yield _resolved(group, claim, fits.get(group.name), others.get(group.name))


def _resolved(
    group: Group, claim: _Claim, fit: StrategyFit | None, other: StrategyFit | None
) -> Group:
    """Return a group with the strategy that follows from its claim and its owners."""
    method, source, tried, doubt, unfounded = claim
    if fit is None or not fit.counts:
        return _with(group, method, source, None, doubt or unfounded)
    first = fit.counts.get(tried[0], 0)
    has_default_nodes = tried[0].virtual_nodes in (None, DEFAULT_VIRTUAL_NODES)
    is_default = first == fit.of and tried[0].name == method.name and has_default_nodes
    if first == fit.of and (claim.is_whole or (source == "given" and is_default)):
        return _with(group, tried[0], source, 1.0, doubt)
    is_likely = _is_no_chance(fit, group) or (source == "reported" and is_default)
    if fit.explains_all and len(fit.best) == 1 and is_likely:
        return _with(group, fit.best[0], "fitted", 1.0, doubt)
    if not fit.explains_all or source == "given":
        contradiction = _contradiction(tried[0], fit, other or fit)
        return _with(group, method, source, first / fit.of, doubt or contradiction)
    return _with(group, fit.best[0], source, 1.0, doubt or _unclear(fit))


def _in_rooms(group: Group, fit: RoomFit, claim: _Claim) -> Group:
    """Return a group with the strategy that follows from its claim and its owners, given what these
    say of its machine rooms.
    """
    doubt = claim.doubt or _room_doubt(group, fit)
    if not fit.found:
        return _with(group, claim.method, claim.source, None, doubt)
    _, method = fit.found[0]
    return _with(group, method, claim.source if doubt else "fitted", 1.0, doubt)


def _room_doubt(group: Group, fit: RoomFit) -> str | None:
    """Return why the most likely machine rooms of a group are a guess, if they are."""
    if fit.doubt is not None or is_rare(fit.n_tried or 0, fit.of, group):
        return fit.doubt
    owners = counted(fit.of, "known owner")
    return f"{fit.found[0][1]} explains its {owners}, which are too few to distinguish its machine rooms from chance"


def _is_no_chance(fit: StrategyFit, group: Group) -> bool:
    """Return whether the fit is too good for chance, given the number of strategies tried and of
    owners.
    """
    return is_rare(len(fit.counts), fit.of, group)


def _unclear(fit: StrategyFit) -> str:
    """Return why a strategy that explains all owners is still a guess."""
    owners = counted(fit.of, "known owner")
    if len(fit.best) > 1:
        return f"{' and '.join(map(str, fit.best[:2]))} explain its {owners} equally well"
    return f"{fit.best[0]} explains its {owners}, which are too few to distinguish it from chance"


def _with(
    group: Group, method: Method, source: str, explains: float | None, doubt: str | None
) -> Group:
    return with_fields(
        group,
        strategy=method.name,
        strategy_params=dict(method.params),
        strategy_source=source,
        strategy_explains=explains,
        strategy_doubt=doubt,
    )


def _unreported(method: Method) -> str:
    """Return which parameters are missing from the reports of a strategy."""
    if method.virtual_nodes is None:
        return f"its clients do not report the parameters of {method.name}; its default parameters are assumed"
    return f"its clients do not report their virtual nodes; {DEFAULT_VIRTUAL_NODES} is RocketMQ's default"


def _contradiction(method: Method, fit: StrategyFit, best: StrategyFit) -> str:
    """Return how much of the known owners a strategy explains, and which one explains more."""
    n = fit.counts.get(method, 0)
    text = f"{method} explains {n:,} of {counted(fit.of, 'known owner')}"
    if best.explained <= n:
        return text
    return f"{text}, {best.best[0]} {best.explained:,}"
