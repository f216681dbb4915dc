"""The steps of a script: play it on names alone, choose whom its events concern, and check that every
step is possible when it comes, before anything runs.

The script decides who runs at which time. A step without effect (a crash of a client that is gone,
a restart of a broker that is down) is an error of the script and refused; a running cluster could
only ignore it. What an event leaves open (how many clients, in which order) is chosen by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from random import Random
from reprlib import repr as shown
from typing import Any, NamedTuple, NoReturn

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.fields import MAX_DURATION, Milliseconds, ScenarioError
from rmqalloc.model import new_id
from rmqalloc.remoting.clock import CHANNEL_EXPIRY, CHANNEL_SCAN, HEARTBEAT, REBALANCE, ROUTE_POLL
from rmqalloc.scenarios.client_changes import joining_names
from rmqalloc.simulation._events import (
    ChangeTopic,
    Disconnect,
    Event,
    Freeze,
    Join,
    Notices,
    Partition,
    Pause,
    Restart,
    RestartBroker,
    Scale,
    Shutdown,
    Started,
)
from rmqalloc.simulation._member import identity_of
from rmqalloc.simulation._script_parts import ScriptFields
from rmqalloc.simulation._settings import SetConsumeMode, UpdateBrokerConfig, UpdateSubGroup
from rmqalloc.snapshot.matching import near
from rmqalloc.text import is_pattern, matching

APART = 60_000
"""Milliseconds from the end of an event to the next one, where that does not say when it is."""

AFTERWARDS = CHANNEL_EXPIRY + CHANNEL_SCAN + ROUTE_POLL + 2 * REBALANCE
"""Milliseconds simulated after the last event, where a script does not say how long it takes: brokers notice a silent death."""

STARTS_WITHIN = 30_000
"""Milliseconds of the warm-up in which clients start."""

DRIFT_FROM = 40_000
"""Milliseconds after which clients are frozen for one rebalance, each from a moment of its own on.

The last join wakes all clients at once, and from then on they would rebalance in step, where the
clients of a group that has run for days have drifted apart. The pass that falls due while a client
is frozen comes at the end, which is that moment again.
"""

Place = tuple[str | int, ...]

_ENDED = {"shutdown": "was shut down", "crash": "crashed", "vanish": "vanished"}


class ClusterStep(NamedTuple):
    """Something that is done to the cluster: an event in which all clients and brokers are named.

    Attributes
    ----------
    at : int
        Milliseconds since the simulation began.
    kind : str
        What.
    detail : object
        Its fields.
    event : int
        Position of its event in the order of time; -1 for the warm-up.
    place : tuple
        Where the script says it.
    """

    at: int
    kind: str
    detail: Any
    event: int
    place: Place


class Start(NamedTuple):
    """A client that its group starts."""

    at: int
    group: str
    name: str
    client: Started


class Timed(NamedTuple):
    """An event, when it begins, and when its last step is over."""

    event: Event
    at: int
    until: int


class Course(NamedTuple):
    """What a script comes to under a seed, in milliseconds since the simulation began.

    Attributes
    ----------
    starts : list of Start
        Clients of groups.
    steps : list of ClusterStep
        In the order of time.
    events : list of Timed
        In the order of time.
    begin, end : int
        When times of events count from, and when all is over.
    """

    starts: list[Start]
    steps: list[ClusterStep]
    events: list[Timed]
    begin: int
    end: int


@dataclass
class _Process:
    """A process of a client, from its start to its end; times are milliseconds since the simulation
    began.
    """

    name: str
    group: str
    client_id: str
    client: Started
    topics: tuple[str, ...]
    since: int
    until: int | None = None
    ended: str = ""
    frozen_until: int = 0
    paused_until: int = 0


class Rehearsal:
    """Play the events of a script; each kind of event is a method ``on_`` with its name, which
    returns how long it lasts if its detail does not say so.
    """

    def __init__(self, script: ScriptFields, seed: int = 0) -> None:
        self._script = script
        self._random = Random(seed)
        self._groups = {group.name: group for group in script.groups}
        self._now = 0
        self._begin = 0
        if script.warm_up:
            self._begin = int(script.warm_up) + self._random.randrange(HEARTBEAT)
        lasts = MAX_DURATION if script.duration is None else int(script.duration)
        self._end = self._begin + lasts
        self._starts: list[Start] = []
        self._steps: list[ClusterStep] = []
        self._timed: list[Timed] = []
        self._numbers: dict[Place, int] = {}
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self._n_later = 0
        self._due: dict[str, int] = {}
        self._processes: dict[str, list[_Process]] = {}
        self._down: dict[str, int] = {}
        self._cut: dict[tuple[str, str], int] = {}
        self._restarting: dict[str, int] = {}
        self._holders = {
            topic.name: list(topic.queues_by_broker(script.brokers)) for topic in script.topics
        }

    def play(self) -> Course:
        """Play the whole script."""
        self._start_groups()
        partitions = []
        for i, event in self._in_order():
            at = self._time_of(event, ("events", i, "at"))
            self._pass_time(at)
            place = "events", i, event.kind
            lasts = getattr(event.detail, "lasts", 0)
            self._check_end(at + lasts, place)
            self._numbers[place] = len(self._timed)
            lasts = getattr(self, f"on_{event.kind}")(event.detail, place) or lasts
            self._timed.append(Timed(event, at, at + lasts))
            if isinstance(event.detail, Partition):
                partitions.append((self._steps[-1], place))
        self._pass_time(self._end)
        for step, place in partitions:
            self._check_partition(step, place)
        end = self._end
        if self._script.duration is None:
            end = max((timed.until for timed in self._timed), default=self._begin) + AFTERWARDS
        steps = sorted(self._steps, key=lambda step: step.at)
        return Course(self._starts, steps, self._timed, self._begin, end)

    def _emit(self, kind: str, detail: Any, place: Place, at: int | None = None) -> None:
        """Add a step that happens now, or later."""
        number = self._numbers.get(place, -1)
        self._steps.append(
            ClusterStep(self._now if at is None else at, kind, detail, number, place)
        )

    # --- Time ---

    def _in_order(self) -> list[tuple[int, Event]]:
        """Return the events in the order of time, with their places in the script; one without a
        time stays behind the event before it.
        """
        times, latest = [], 0
        for event in self._script.events:
            latest = latest if event.at is None else event.at
            times.append(latest)
        return sorted(enumerate(self._script.events), key=lambda pair: times[pair[0]])

    def _time_of(self, event: Event, place: Place) -> int:
        """Return when an event begins."""
        if event.at is not None:
            at = self._begin + event.at
        else:
            at = self._timed[-1].until + APART if self._timed else self._begin
        if at >= self._end:
            what = "after the end" if at > self._end else "the end"
            raise ScenarioError(f"is {what} of the simulation ({self._time(self._end)})", place)
        if self._timed and at < self._timed[-1].at:
            raise ScenarioError(
                f"is before the event before it, at {self._time(self._timed[-1].at)}", place
            )
        return at

    def _time(self, milliseconds: int) -> str:
        """Return a time as the script counts it."""
        return Milliseconds(milliseconds - self._begin).to_data()

    def _end_text(self) -> str:
        return f"the end of the simulation ({self._time(self._end)})"

    def _call_later(self, delay: int, action: Callable[[], None]) -> None:
        self._n_later += 1
        heappush(self._later, (self._now + delay, self._n_later, action))

    def _pass_time(self, until: int) -> None:
        while self._later and self._later[0][0] <= until:
            self._now, _, action = heappop(self._later)
            action()
        self._now = until

    def _check_end(self, until: int, place: Place) -> None:
        """Refuse an event that lasts past the end of the simulation."""
        if until > self._end:
            raise ScenarioError(
                f"goes on until {self._time(until)}, past {self._end_text()}",
                (*place, "lasts"),
            )

    # --- Names ---

    def _group(self, name: str | None, place: Place) -> str:
        """Return the name of a group, or that of the only one."""
        if name is None and len(self._groups) == 1:
            return next(iter(self._groups))
        if name not in self._groups:
            said = "is missing" if name is None else f"names {shown(name)}, which does not exist"
            raise ScenarioError(
                f"{said}; there are {shown(sorted(self._groups))}", (*place, "group")
            )
        return name

    def _known(self, names: Sequence[str], known: Collection[str], place: Place) -> None:
        """Refuse a name that nothing has, and one that is given twice."""
        for i, name in enumerate(names):
            if name in names[:i]:
                raise ScenarioError(f"has {shown(name)} twice; name each once", place)
            if name not in known:
                raise ScenarioError(
                    f"names {shown(name)}, which does not exist; there are {shown(sorted(known))}",
                    place,
                )

    def _chosen(
        self,
        wanted: int | tuple[str, ...],
        there: Collection[str],
        known: Collection[str],
        place: Place,
    ) -> tuple[str, ...]:
        """Return names: so many by chance of those that are there, those that match a pattern, or
        those that are given.
        """
        if isinstance(wanted, int):
            if wanted > len(there):
                raise ScenarioError(f"needs {wanted}, and there are {len(there)}", place)
            return tuple(sorted(self._random.sample(sorted(there), wanted)))
        found: list[str] = []
        for name in wanted:
            if name in known or not is_pattern(name):
                found.append(name)
                continue
            matches = matching(name, dict.fromkeys(sorted(there)))
            if not matches:
                raise ScenarioError(
                    f"names {shown(name)}, which matches nothing at that time{near(name, there)}",
                    place,
                )
            found += matches
        self._known(found, known, place)
        return tuple(found)

    def _clients(self, wanted: int | tuple[str, ...], place: Place) -> tuple[str, ...]:
        """Return the names of clients."""
        return self._chosen(wanted, self._living(), {*self._processes, *self._due}, place)

    def _brokers(self, wanted: int | tuple[str, ...], place: Place) -> tuple[str, ...]:
        """Return the names of brokers."""
        brokers = self._script.brokers
        up = [name for name in brokers if self._down.get(name, 0) <= self._now]
        return self._chosen(wanted, up, brokers, place)

    def _some_brokers(
        self, wanted: int | tuple[str, ...] | None, place: Place
    ) -> tuple[str, ...] | None:
        """Return the names of brokers; None for all."""
        return None if wanted is None else self._brokers(wanted, (*place, "brokers"))

    def _living(self, group: str | None = None) -> list[str]:
        """Return the names of the clients that run, of all groups or of one."""
        return [
            name
            for name, processes in self._processes.items()
            if processes[-1].until is None and group in (None, processes[-1].group)
        ]

    # --- Clients ---

    def _start_groups(self) -> None:
        for i, group in enumerate(self._script.groups):
            members = group.members
            last = max(0, len(members) - 1) * group.start_every
            if last >= self._end:
                raise ScenarioError(
                    f"lets the last client start at {self._time(last)}, past {self._end_text()}",
                    ("groups", i, "start_every"),
                )
            for number, client in enumerate(members):
                at = number * group.start_every
                if self._begin:
                    at = self._random.randrange(STARTS_WITHIN)
                self._due[client.name] = at
                self._starts.append(Start(at, group.name, client.name, client))
                self._call_later(at, partial(self._start, group.name, client.name, client))
        if self._begin:
            self._call_later(DRIFT_FROM, self._drift)

    def _drift(self) -> None:
        """Let the rebalances of clients drift apart."""
        moments = {name: self._random.randrange(REBALANCE) for name in sorted(self._living())}
        for name in sorted(moments, key=lambda name: moments[name]):
            frozen = Freeze(Milliseconds(REBALANCE), (name,))
            self._emit("freeze", frozen, ("warm_up",), self._now + moments[name])

    def _start(self, group: str, name: str, client: Started) -> None:
        self._due.pop(name, None)
        topics = client.topics or self._groups[group].topics
        client_id = identity_of(client.client_id or name).client_id
        process = _Process(name, group, client_id, client, topics, self._now)
        self._processes.setdefault(name, []).append(process)

    def _running(self, names: Iterable[str], place: Place) -> list[_Process]:
        """Return the processes of clients; all of them must run now."""
        processes = []
        for name in names:
            if name in self._due:
                raise ScenarioError(
                    f"names {shown(name)}, which starts at {self._time(self._due[name])} only",
                    place,
                )
            last = self._processes[name][-1]
            if last.until is not None:
                gone = f"it {last.ended} at {self._time(last.until)}"
                raise ScenarioError(
                    f"names {shown(name)}, which does not run at {self._time(self._now)}: {gone}; let it join before",
                    place,
                )
            processes.append(last)
        return processes

    def _awake(self, names: Iterable[str], place: Place, what: str) -> list[_Process]:
        """Return the processes of clients; all of them must run now, and none may be frozen."""
        processes = self._running(names, place)
        for process in processes:
            if process.frozen_until > self._now:
                until = self._time(process.frozen_until)
                raise ScenarioError(
                    f"names {shown(process.name)}, which is stalled until {until}: {what}", place
                )
        return processes

    def on_shutdown(self, event: Shutdown, place: Place) -> None:
        kind = str(place[-1])
        names = self._clients(event.clients, (*place, "clients"))
        if kind == "shutdown":
            processes = self._awake(
                names,
                (*place, "clients"),
                "it cannot leave in good order; let it crash or vanish, or wait",
            )
        else:
            processes = self._running(names, (*place, "clients"))
        for process in processes:
            process.until, process.ended = self._now, _ENDED[kind]
        self._emit(kind, replace(event, clients=names), place)

    on_crash = on_vanish = on_shutdown

    def on_join(self, event: Join, place: Place) -> None:
        group = self._group(event.group, place)
        self._known(event.topics or (), self._holders, (*place, "topics"))
        names = event.clients
        if isinstance(names, int):
            taken = {*self._processes, *self._due}
            names = tuple(islice(joining_names(taken), names))
        self._known(names, names, (*place, "clients"))
        for name in names:
            if name in self._due:
                starts = self._time(self._due[name])
                raise ScenarioError(
                    f"names {shown(name)}, which its group starts at {starts}; take another name",
                    (*place, "clients"),
                )
            self._check_absent(group, name, (*place, "clients"))
            self._start(group, name, event)
        self._emit("join", replace(event, group=group, clients=names), place)

    def _check_absent(self, group: str, name: str, place: Place) -> None:
        known = self._processes.get(name)
        if known and known[-1].until is None:
            raise ScenarioError(
                f"cannot be at {self._time(self._now)}: client {name} joins {group} while it is running; let it leave before",
                place,
            )

    def on_scale(self, event: Scale, place: Place) -> None:
        group = self._group(event.group, place)
        living = self._living(group)
        more = event.to - len(living)
        if more == 0:
            raise ScenarioError(f"changes nothing: {event.to} clients are there already", place)
        if more > 0:
            self.on_join(Join(group=group, clients=more), place)
            return
        names = self._chosen(-more, living, living, place)
        for process in self._awake(names, place, "it cannot leave in good order; wait"):
            process.until, process.ended = self._now, _ENDED["shutdown"]
        self._emit("shutdown", Shutdown(names), place)

    def on_pause(self, event: Pause, place: Place) -> None:
        names = self._clients(event.clients, (*place, "clients"))
        for process in self._awake(names, (*place, "clients"), "it cannot be paused; wait"):
            if process.paused_until > self._now:
                what = f"names {shown(process.name)}, which is paused"
                self._overlaps(what, process.paused_until, (*place, "clients"))
            process.paused_until = self._now + event.lasts
        self._emit("pause", replace(event, clients=names), place)

    def on_freeze(self, event: Freeze, place: Place) -> None:
        names = self._clients(event.clients, (*place, "clients"))
        for process in self._running(names, (*place, "clients")):
            if process.frozen_until > self._now:
                what = f"names {shown(process.name)}, which is stalled"
                self._overlaps(what, process.frozen_until, (*place, "clients"))
            process.frozen_until = self._now + event.lasts
        self._emit("freeze", replace(event, clients=names), place)

    def on_disconnect(self, event: Disconnect, place: Place) -> None:
        names = self._clients(event.clients, (*place, "clients"))
        brokers = self._some_brokers(event.brokers, place)
        place_of_brokers = (*place, "brokers")
        for process in self._running(names, (*place, "clients")):
            for broker in brokers or ():
                if not any(broker in self._holders[topic] for topic in process.topics):
                    raise ScenarioError(
                        f"names {shown(broker)}, which holds no topic of {shown(process.name)}: they have no connection",
                        place_of_brokers,
                    )
        self._up(brokers or (), place_of_brokers)
        self._emit("disconnect", replace(event, clients=names, brokers=brokers), place)

    def _overlaps(self, what: str, until: int, place: Place) -> NoReturn:
        raise ScenarioError(
            f"{what} until {self._time(until)}; let that end before, or make it longer", place
        )

    # --- Restarts ---

    def on_restart(self, event: Restart, place: Place) -> int:
        group = self._group(event.group, place)
        if (until := self._restarting.get(group, 0)) > self._now:
            what = f"names {shown(group)}, which is being restarted"
            self._overlaps(what, until, (*place, "group"))
        living = self._living(group)
        if not living:
            raise ScenarioError(
                f"names {shown(group)}, of which no client runs at {self._time(self._now)}",
                (*place, "group"),
            )
        if event.clients is None:
            names: Sequence[str] = self._random.sample(sorted(living), len(living))
        else:
            names = self._chosen(event.clients, living, self._processes, (*place, "clients"))
            self._running(names, (*place, "clients"))
        batches = [names[i : i + event.batch] for i in range(0, len(names), event.batch)]
        last = self._now + (len(batches) - 1) * event.every + event.down
        if last > self._end:
            raise ScenarioError(
                f"of {len(names)} clients goes on until {self._time(last)}, past {self._end_text()}; "
                "begin earlier, or change batch, every or down",
                place,
            )
        self._restarting[group] = last
        for i, batch in enumerate(batches):
            self._call_later(i * event.every, partial(self._stop, batch, place))
            self._call_later(
                i * event.every + event.down,
                partial(self._come_back, group, event, batch, place),
            )
        return last - self._now

    def _stop(self, names: Sequence[str], place: Place) -> None:
        for process in self._awake(names, place, "it cannot be restarted in good order"):
            process.until, process.ended = self._now, "was shut down by a restart"
        self._emit("shutdown", Shutdown(tuple(names)), place)

    def _come_back(self, group: str, event: Restart, names: Sequence[str], place: Place) -> None:
        taken = {self._processes[name][-1].client_id for name in self._living()}
        for name in names:
            self._check_absent(group, name, place)
            last = [process for process in self._processes[name] if process.group == group][-1]
            client_id = last.client_id
            if event.ids != "stable":
                client_id = new_id(client_id, event.ids, taken)
                taken.add(client_id)
            strategy, params = last.client.strategy, last.client.params
            if event.strategy is not None:
                strategy, params = event.strategy, event.params
            join = Join(client_id, strategy, params, last.client.topics, group, (name,))
            self._start(group, name, join)
            self._emit("join", join, place)

    # --- Brokers ---

    def _up(self, names: Iterable[str], place: Place) -> None:
        for name in names:
            if (until := self._down.get(name, 0)) > self._now:
                raise ScenarioError(
                    f"needs broker {shown(name)}, which is down until {self._time(until)}; wait, or name others",
                    place,
                )

    def on_restart_broker(self, event: RestartBroker, place: Place) -> None:
        names = self._brokers(event.brokers, (*place, "brokers"))
        self._up(names, (*place, "brokers"))
        self._down.update(dict.fromkeys(names, self._now + event.lasts))
        self._emit("restart_broker", replace(event, brokers=names), place)

    def on_change_topic(self, event: ChangeTopic, place: Place) -> None:
        topics = self._chosen((event.topic,), self._holders, self._holders, (*place, "topic"))
        brokers = self._some_brokers(event.brokers, place)
        for topic in topics:
            holders = self._holders[topic]
            self._up(brokers or holders, place)
            holders.extend(name for name in brokers or () if name not in holders)
            self._emit("change_topic", replace(event, topic=topic, brokers=brokers), place)

    def on_partition(self, event: Partition, place: Place) -> None:
        clients = event.clients
        if isinstance(clients, int) or any(map(is_pattern, clients)):
            clients = self._clients(clients, (*place, "clients"))
        brokers = self._brokers(event.brokers, (*place, "brokers"))
        for client in clients:
            for broker in brokers:
                if (until := self._cut.get((client, broker), 0)) > self._now:
                    what = f"cuts {shown(client)} off from {broker}, which is already cut off"
                    self._overlaps(what, until, place)
                self._cut[client, broker] = self._now + event.lasts
        self._emit("partition", replace(event, clients=clients, brokers=brokers), place)

    def _check_partition(self, step: ClusterStep, place: Place) -> None:
        """Refuse a partition of a client that never runs while it lasts; the client may start
        during the partition.
        """
        until = step.at + step.detail.lasts
        for name in step.detail.clients:
            processes = self._processes.get(name, ())
            if not any(
                one.since < until and (one.until is None or one.until >= step.at)
                for one in processes
            ):
                raise ScenarioError(
                    f"names {shown(name)}, which does not run at any time from {self._time(step.at)} to {self._time(until)}",
                    (*place, "clients"),
                )

    def on_notices(self, event: Notices, place: Place) -> None:
        self._up(self._script.brokers, place)
        self._emit("notices", event, place)

    def on_update_broker_config(self, event: UpdateBrokerConfig, place: Place) -> None:
        brokers = self._some_brokers(event.brokers, place)
        self._up(brokers or self._script.brokers, place)
        self._emit("update_broker_config", replace(event, brokers=brokers), place)

    def on_update_sub_group(self, event: UpdateSubGroup, place: Place) -> None:
        group = self._group(event.group, place)
        brokers = self._some_brokers(event.brokers, place)
        self._up(brokers or self._script.brokers, place)
        self._emit("update_sub_group", replace(event, group=group, brokers=brokers), place)

    def on_set_consume_mode(self, event: SetConsumeMode, place: Place) -> None:
        group = self._group(event.group, place)
        if not self._groups[group].server_assignment:
            raise ScenarioError(
                f"names {shown(group)}, which divides its queues itself; give it server_assignment: true",
                (*place, "group"),
            )
        self._known((event.topic,), self._holders, (*place, "topic"))
        brokers = self._some_brokers(event.brokers, place)
        holders = self._holders[event.topic]
        if lacking := [name for name in brokers or () if name not in holders]:
            raise ScenarioError(
                f"names {shown(lacking[0])}, which has no topic {event.topic}", (*place, "brokers")
            )
        self._up(brokers or holders, place)
        self._emit("set_consume_mode", replace(event, group=group, brokers=brokers), place)
