"""Check that every step of a script is possible when it comes: play the script on names alone
before anything runs.

The script decides who runs at which time. A step without effect (a crash of a client that is gone,
a restart of a broker that is down) is an error of the script and refused; a running cluster could
only ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from reprlib import repr as shown
from typing import NoReturn

from rmqalloc.client_ids import host_of
from rmqalloc.documents.fields import Milliseconds, ScenarioError
from rmqalloc.simulation._events import (
    ChangeTopic,
    Disconnect,
    Event,
    Freeze,
    Join,
    Notices,
    Partition,
    Pause,
    RestartBroker,
    RollingRestart,
    Shutdown,
)
from rmqalloc.simulation._member import identity_of
from rmqalloc.simulation._script_parts import ScriptFields
from rmqalloc.simulation._settings import SetConsumeMode, UpdateBrokerConfig, UpdateSubGroup

Place = tuple[str | int, ...]

_ENDED = {"shutdown": "was shut down", "crash": "crashed", "vanish": "vanished"}


@dataclass
class _Process:
    """A process of a client, from its start to its end; times are milliseconds since the simulation
    began.
    """

    name: str
    group: str
    client_id: str
    topics: tuple[str, ...]
    since: int
    until: int | None = None
    ended: str = ""
    frozen_until: int = 0
    paused_until: int = 0


class Rehearsal:
    """Play the steps of a script; each kind of event is a method ``on_`` with its name."""

    def __init__(self, script: ScriptFields) -> None:
        self._script = script
        self._end = int(script.duration)
        self._now = 0
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self._n_later = 0
        self._due: dict[str, int] = {}
        self._processes: dict[str, list[_Process]] = {}
        self._down: dict[str, int] = {}
        self._cut: dict[tuple[str, str], int] = {}
        self._restarting: dict[str, int] = {}
        self._holders = {
            topic.name: list(topic.brokers or script.brokers) for topic in script.topics
        }

    def play(self) -> None:
        """Play the whole script."""
        self._start_groups()
        partitions = []
        for i, event in sorted(enumerate(self._script.events), key=lambda one: one[1].at):
            self._pass_time(event.at)
            place = "events", i, event.kind
            self._check_end(event, place)
            getattr(self, f"on_{event.kind}")(event.detail, place)
            if isinstance(event.detail, Partition):
                partitions.append((event, place))
        self._pass_time(self._end)
        for event, place in partitions:
            self._check_partition(event, place)

    # --- Time ---

    def _call_later(self, delay: int, action: Callable[[], None]) -> None:
        self._n_later += 1
        heappush(self._later, (self._now + delay, self._n_later, action))

    def _pass_time(self, until: int) -> None:
        while self._later and self._later[0][0] <= until:
            self._now, _, action = heappop(self._later)
            action()
        self._now = until

    def _check_end(self, event: Event, place: Place) -> None:
        """Refuse an event that lasts past the end of the simulation."""
        lasts = getattr(event.detail, "lasts", 0)
        if event.at + lasts > self._end:
            raise ScenarioError(
                f"goes on until {_time(event.at + lasts)}, past the end of the simulation ({_time(self._end)})",
                (*place, "lasts"),
            )

    # --- Clients ---

    def _start_groups(self) -> None:
        for i, group in enumerate(self._script.groups):
            last = max(0, len(group.client_names) - 1) * group.start_every
            if last >= self._end:
                raise ScenarioError(
                    f"lets the last client start at {_time(last)}, past the end of the simulation ({_time(self._end)})",
                    ("groups", i, "start_every"),
                )
            for number, name in enumerate(group.client_names):
                self._due[name] = number * group.start_every
                self._call_later(
                    self._due[name], partial(self._begin, group.name, name, name, None)
                )

    def _begin(self, group: str, name: str, client_id: str, topics: tuple[str, ...] | None) -> None:
        self._due.pop(name, None)
        if topics is None:
            topics = next(one.topics for one in self._script.groups if one.name == group)
        process = _Process(name, group, identity_of(client_id).client_id, topics, self._now)
        self._processes.setdefault(name, []).append(process)

    def _running(self, names: Iterable[str], place: Place) -> list[_Process]:
        """Return the processes of clients; all of them must run now."""
        processes = []
        for name in names:
            if name in self._due:
                raise ScenarioError(
                    f"names {shown(name)}, which starts at {_time(self._due[name])} only", place
                )
            last = self._processes[name][-1]
            if last.until is not None:
                gone = f"it {last.ended} at {_time(last.until)}"
                raise ScenarioError(
                    f"names {shown(name)}, which does not run at {_time(self._now)}: {gone}; let it join before",
                    place,
                )
            processes.append(last)
        return processes

    def _awake(self, names: Iterable[str], place: Place, what: str) -> list[_Process]:
        """Return the processes of clients; all of them must run now, and none may be frozen."""
        processes = self._running(names, place)
        for one in processes:
            if one.frozen_until > self._now:
                until = _time(one.frozen_until)
                raise ScenarioError(
                    f"names {shown(one.name)}, which is stalled until {until}: {what}", place
                )
        return processes

    def on_shutdown(self, event: Shutdown, place: Place) -> None:
        kind, place = str(place[-1]), (*place, "clients")
        if kind == "shutdown":
            processes = self._awake(
                event.clients,
                place,
                "it cannot leave in good order; let it crash or vanish, or wait",
            )
        else:
            processes = self._running(event.clients, place)
        for one in processes:
            one.until, one.ended = self._now, _ENDED[kind]

    on_crash = on_vanish = on_shutdown

    def on_join(self, event: Join, place: Place) -> None:
        place = (*place, "clients")
        for name in event.clients:
            if name in self._due:
                starts = _time(self._due[name])
                raise ScenarioError(
                    f"names {shown(name)}, which its group starts at {starts}; take another name",
                    place,
                )
            self._check_absent(event.group, name, place)
            self._begin(event.group, name, event.client_id or name, event.topics)

    def _check_absent(self, group: str, name: str, place: Place) -> None:
        known = self._processes.get(name)
        if known and known[-1].until is None:
            raise ScenarioError(
                f"cannot be at {_time(self._now)}: client {name} joins {group} while it is running; let it leave before",
                place,
            )

    def on_pause(self, event: Pause, place: Place) -> None:
        names = (*place, "clients")
        for one in self._awake(event.clients, names, "it cannot be paused; wait"):
            if one.paused_until > self._now:
                self._overlaps(f"names {shown(one.name)}, which is paused", one.paused_until, names)
            one.paused_until = self._now + event.lasts

    def on_freeze(self, event: Freeze, place: Place) -> None:
        names = (*place, "clients")
        for one in self._running(event.clients, names):
            if one.frozen_until > self._now:
                self._overlaps(
                    f"names {shown(one.name)}, which is stalled", one.frozen_until, names
                )
            one.frozen_until = self._now + event.lasts

    def on_disconnect(self, event: Disconnect, place: Place) -> None:
        place = (*place, "brokers")
        for one in self._running(event.clients, (*place[:-1], "clients")):
            for broker in event.brokers or ():
                if not any(broker in self._holders[topic] for topic in one.topics):
                    raise ScenarioError(
                        f"names {shown(broker)}, which holds no topic of {shown(one.name)}: they have no connection",
                        place,
                    )
        self._up(event.brokers or (), place)

    @staticmethod
    def _overlaps(what: str, until: int, place: Place) -> NoReturn:
        raise ScenarioError(
            f"{what} until {_time(until)}; let that end before, or make it longer", place
        )

    # --- Rolling restarts ---

    def on_rolling_restart(self, event: RollingRestart, place: Place) -> None:
        if (until := self._restarting.get(event.group, 0)) > self._now:
            self._overlaps(
                f"names {shown(event.group)}, which is being restarted", until, (*place, "group")
            )
        living = [
            one[-1]
            for one in self._processes.values()
            if one[-1].until is None and one[-1].group == event.group
        ]
        if not living:
            raise ScenarioError(
                f"names {shown(event.group)}, of which no client runs at {_time(self._now)}",
                (*place, "group"),
            )
        names = [one.name for one in sorted(living, key=lambda one: one.client_id)]
        batches = [names[i : i + event.batch] for i in range(0, len(names), event.batch)]
        last = self._now + (len(batches) - 1) * event.every + event.down
        if last > self._end:
            raise ScenarioError(
                f"of {len(names)} clients goes on until {_time(last)}, past the end of the simulation ({_time(self._end)}); "
                "begin earlier, or change batch, every or down",
                place,
            )
        self._restarting[event.group] = last
        for i, batch in enumerate(batches):
            self._call_later(i * event.every, partial(self._restart, batch, place))
            self._call_later(
                i * event.every + event.down, partial(self._come_back, event, batch, place)
            )

    def _restart(self, names: Sequence[str], place: Place) -> None:
        for one in self._awake(names, place, "it cannot be restarted in good order"):
            one.until, one.ended = self._now, "was shut down by a rolling restart"

    def _come_back(self, event: RollingRestart, names: Sequence[str], place: Place) -> None:
        for name in names:
            self._check_absent(event.group, name, place)
            starts = [one for one in self._processes[name] if one.group == event.group]
            new_id = f"{host_of(starts[-1].client_id)}@{len(starts) + 1}"
            self._begin(
                event.group,
                name,
                new_id if event.new_ids else starts[-1].client_id,
                starts[-1].topics,
            )

    # --- Brokers ---

    def _up(self, names: Iterable[str], place: Place) -> None:
        for name in names:
            if (until := self._down.get(name, 0)) > self._now:
                raise ScenarioError(
                    f"needs broker {shown(name)}, which is down until {_time(until)}; wait, or name others",
                    place,
                )

    def on_restart_broker(self, event: RestartBroker, place: Place) -> None:
        self._up(event.brokers, (*place, "brokers"))
        self._down.update(dict.fromkeys(event.brokers, self._now + event.lasts))

    def on_change_topic(self, event: ChangeTopic, place: Place) -> None:
        holders = self._holders[event.topic]
        self._up(event.brokers or holders, place)
        holders.extend(name for name in event.brokers or () if name not in holders)

    def on_partition(self, event: Partition, place: Place) -> None:
        for client in event.clients:
            for broker in event.brokers:
                if (until := self._cut.get((client, broker), 0)) > self._now:
                    self._overlaps(
                        f"cuts {shown(client)} off from {broker}, from which it is cut off",
                        until,
                        place,
                    )
                self._cut[client, broker] = self._now + event.lasts

    def _check_partition(self, event: Event, place: Place) -> None:
        """Refuse a partition of a client that never runs while it lasts; the client may start
        during the partition.
        """
        until = event.at + event.detail.lasts
        for name in event.detail.clients:
            processes = self._processes.get(name, ())
            if not any(
                one.since < until and (one.until is None or one.until >= event.at)
                for one in processes
            ):
                raise ScenarioError(
                    f"names {shown(name)}, which does not run at any time from {_time(event.at)} to {_time(until)}",
                    (*place, "clients"),
                )

    def on_notices(
        self, event: UpdateBrokerConfig | UpdateSubGroup | Notices, place: Place
    ) -> None:
        self._up(getattr(event, "brokers", None) or self._script.brokers, place)

    on_update_broker_config = on_update_sub_group = on_notices

    def on_set_consume_mode(self, event: SetConsumeMode, place: Place) -> None:
        group = next(one for one in self._script.groups if one.name == event.group)
        if not group.server_assignment:
            raise ScenarioError(
                f"names {shown(event.group)}, which divides its queues itself; give it server_assignment: true",
                (*place, "group"),
            )
        holders = self._holders[event.topic]
        if lacking := [name for name in event.brokers or () if name not in holders]:
            raise ScenarioError(
                f"names {shown(lacking[0])}, which has no topic {event.topic}", (*place, "brokers")
            )
        self._up(event.brokers or holders, place)


def _time(milliseconds: int) -> str:
    return Milliseconds(milliseconds).to_data()
