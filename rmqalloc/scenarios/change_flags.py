"""One scenario from flags such as ``remove_client`` and ``scale``, of the command line or of an
address of the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rmqalloc.documents.fields import ScenarioError
from rmqalloc.errors import Error
from rmqalloc.model import clients_meant
from rmqalloc.scenarios.fixed_names import CHANGE_FLAGS
from rmqalloc.scenarios.scenario import RemoveClients, Scenario
from rmqalloc.scenarios.scenario_files import scenarios_of
from rmqalloc.strategies.by_name import from_label, rule

__all__ = ["FlagError", "room_behind", "scenario_of_flags", "with_clients_meant"]

_LONGEST_NAME = 200


class FlagError(ScenarioError):
    """Flags cannot be read, or make no scenario.

    Attributes
    ----------
    flags : tuple of str
        Those it is about, as `CHANGE_FLAGS` spells them.
    """

    flags: tuple[str, ...] = ()

    @classmethod
    def about(cls, flags: Sequence[str], what: str) -> FlagError:
        """Return the error that something is wrong with some flags."""
        made = cls(what, (), f"{', '.join(flags)}:")
        made.flags = tuple(flags)
        return made


def scenario_of_flags(flags: Mapping[str, Sequence[str]]) -> Scenario | None:
    """Return the scenario of all flags together, None if none is given.

    Parameters
    ----------
    flags : mapping of str to sequence of str
        By `CHANGE_FLAGS`, the values in the order in which they were given; ``scale`` and
        ``to_strategy`` have one at most.

    Raises
    ------
    FlagError
        A value cannot be read, or the changes make no scenario.

    Examples
    --------
    >>> made = scenario_of_flags({"scale": ["6"], "remove_broker": ["broker-a"]})
    >>> made.name, [type(change).__name__ for change in made.changes]
    ('remove-broker broker-a scale 6', ['RemoveBroker', 'ScaleClients'])
    >>> scenario_of_flags({"add_broker": ["broker-c"]})
    Traceback (most recent call last):
    rmqalloc.scenarios.change_flags.FlagError: add_broker: 'broker-c' is not NAME:Q, such as broker-c:8, or NAME:Q=ROOM
    """
    given = [name for name in CHANGE_FLAGS if flags.get(name)]
    if not given:
        return None
    changes, words = [], []
    for name in given:
        changes += _changes(name, flags[name])
        words += [f"{name.replace('_', '-')} {value}" for value in flags[name]]
    scenario = {"name": " ".join(words)[:_LONGEST_NAME], "changes": changes}
    try:
        [made] = scenarios_of([scenario], "flags")
    except ScenarioError as error:
        raise FlagError.about(given, error.what) from error
    return made


def with_clients_meant(scenario: Scenario, client_ids: Iterable[str]) -> Scenario:
    """Return the same scenario of flags with all clients of a host or address that leaves.

    Examples
    --------
    >>> made = scenario_of_flags({"remove_client": ["10.0.0.1", "c9"]})
    >>> with_clients_meant(made, ["10.0.0.1@7", "10.0.0.1@8", "10.0.0.2@7"]).changes[0].ids
    ('10.0.0.1@7', '10.0.0.1@8', 'c9')
    """
    if not any(map(_names_leaving, scenario.changes)):
        return scenario
    ids = tuple(dict.fromkeys(client_ids))
    return replace(scenario, changes=tuple(_meant(change, ids) for change in scenario.changes))


def _names_leaving(change: Any) -> bool:
    return isinstance(change, RemoveClients) and change.ids is not None


def _meant(change: Any, client_ids: tuple[str, ...]) -> Any:
    """Replace names of a change by the clients that they mean; a name of no client stays."""
    if not _names_leaving(change):
        return change
    meant: list[str] = []
    for text in change.ids:
        meant += clients_meant(text, client_ids) or (text,)
    return replace(change, ids=tuple(dict.fromkeys(meant)))


def room_behind(text: str) -> tuple[str, str]:
    """Split a text at its last ``=`` into a name or number and a machine room, "" for none.

    ``@`` and ``:`` are no separators: ids of clients and names of brokers contain them.

    Examples
    --------
    >>> room_behind("10.0.0.1@7=az1"), room_behind("6")
    (('10.0.0.1@7', 'az1'), ('6', ''))
    """
    what, equals, room = text.rpartition("=")
    return (what, room) if equals else (text, "")


def _changes(name: str, values: Sequence[str]) -> list[dict[str, Any]]:
    """Return the changes of one kind of flag in the form of a file of scenarios."""
    match name:
        case "scale":
            return [{"scale_clients": _scale(_only(name, values))}]
        case "add_client":
            ids_in: dict[str, list[str]] = {}
            for text in values:
                client_id, room = room_behind(text)
                ids_in.setdefault(room, []).append(client_id)
            return [{"add_clients": {"ids": ids, **_in_room(room)}} for room, ids in ids_in.items()]
        case "remove_client":
            patterns = [text for text in values if set(text) & set("*?")]
            ids = [text for text in values if text not in patterns]
            both = {"ids": ids, "pattern": patterns}
            return [{"remove_clients": {field: names}} for field, names in both.items() if names]
        case "add_broker":
            return [{"add_broker": _broker(text)} for text in values]
        case "remove_broker":
            return [{"remove_broker": {"brokers": list(values)}}]
        case "set_queues":
            return [{"set_queues": _queues(text)} for text in values]
        case _:
            return [{"set_strategy": _strategy(_only(name, values))}]


def _only(name: str, values: Sequence[str]) -> str:
    if len(values) > 1:
        raise FlagError.about([name], f"is given {len(values)} times; give it once")
    return values[0]


def _strategy(label: str) -> dict[str, Any]:
    try:
        name, params = from_label(label)
        rule(name, **params)
    except Error as error:
        raise FlagError.about(["to_strategy"], str(error)) from error
    return {"strategy": name, "params": params} if params else {"strategy": name}


def _in_room(room: str) -> dict[str, str]:
    return {"machine_room": room} if room else {}


def _scale(text: str) -> dict[str, Any]:
    number, room = room_behind(text)
    if not _is_number(number):
        raise FlagError.about(["scale"], f"{number!r} is not a whole number of at most nine digits")
    return {"to": int(number), **_in_room(room)}


def _broker(text: str) -> dict[str, Any]:
    both, room = room_behind(text)
    name, _, number = both.rpartition(":")
    if not name or not _is_number(number):
        raise FlagError.about(
            ["add_broker"], f"{text!r} is not NAME:Q, such as broker-c:8, or NAME:Q=ROOM"
        )
    return {"broker_name": name, "read_queue_nums": int(number), **_in_room(room)}


def _queues(text: str) -> dict[str, Any]:
    topics, equals, number = text.rpartition("=")
    if not _is_number(number) or (equals and not topics):
        raise FlagError.about(["set_queues"], f"{text!r} is not N or TOPIC=N, such as orders=16")
    return {"read_queue_nums": int(number), **({"topics": topics} if topics else {})}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
