"""Strategies by name and parameters, as tables, scenarios, files and command lines give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rmqalloc._text import did_you_mean
from rmqalloc.fleet import Fleet
from rmqalloc.strategies import STRATEGIES, ConfigByClient, MachineRoomNearby, Strategy, strategy
from rmqalloc.strategies._dialects import DIALECTS, JAVA
from rmqalloc.strategies._parameters import Parameter

NEARBY = "MACHINE_ROOM_NEARBY"

_NO_UNITS = Fleet.from_groups([])


def rule(name: str, **params: Any) -> Strategy:
    """A strategy that gives every queue one owner, by RocketMQ's name for it.

    Parameters
    ----------
    name : str
        As `rmqalloc.strategy` takes it, or ``MACHINE_ROOM_NEARBY-`` and the name of the inner strategy, which then gets the
        parameters; the machine rooms come from the table.
    **params
        As `rmqalloc.strategy` takes them, with ``dialect``; but for ``CONFIG`` ``message_queues`` maps client ids to lists of
        queues.

    Raises
    ------
    ValueError, TypeError
        As `rmqalloc.strategy`, or the strategy gives a queue to several clients (POP, CONFIG with one list for all, CONFIG
        inside of MACHINE_ROOM_NEARBY).

    Examples
    --------
    >>> rule("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", virtual_nodes=100).get_name()
    'MACHINE_ROOM_NEARBY-CONSISTENT_HASH'
    """
    if "dialect" in params:
        name, params = in_dialect(name, params)
    lists = params.get("message_queues")
    if name == "CONFIG" and lists and isinstance(lists, Mapping) and len(params) == 1:
        return ConfigByClient(lists)
    if name == f"{NEARBY}-CONFIG":
        raise TypeError(f"{name} gives a client its whole list once for every machine room; name CONFIG itself")
    if isinstance(name, str) and name.startswith(f"{NEARBY}-"):
        return strategy(NEARBY, inner=rule(name.removeprefix(f"{NEARBY}-"), **params))
    if name == NEARBY and "inner" not in params:
        raise TypeError(f"strategy {NEARBY} needs an inner strategy: write {NEARBY}-AVG, for example")
    made = strategy(name, **params)
    if name == "CONFIG" and not lists:
        raise TypeError("the lists of CONFIG are not known: give message_queues, a list of queues for every client id")
    if not isinstance(made, MachineRoomNearby):  # whose rooms are in the table that is to come
        made.assign_fleet(_NO_UNITS)
    return made


def in_dialect(name: str, params: Mapping[str, Any], dialect: str | None = None) -> tuple[str, dict[str, Any]]:
    """Name and parameters of what a client of a dialect computes under a name.

    Parameters
    ----------
    name : str
        As `rule` takes it.
    params : mapping
        As `rule` takes them.
    dialect : str, optional
        By default what the parameters say.

    Returns
    -------
    tuple of str and dict
        The dialect is among the parameters where it makes a difference, and where the client has no such strategy.

    Examples
    --------
    >>> in_dialect("CONSISTENT_HASH", {"virtual_nodes": 20}, "go")
    ('CONSISTENT_HASH', {'virtual_nodes': 20, 'dialect': 'go'})
    >>> in_dialect("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", {"virtual_nodes": 20}, "go"), in_dialect("AVG", {"dialect": "cpp"})
    (('AVG', {}), ('AVG', {}))
    """
    plain = {key: value for key, value in params.items() if key != "dialect"}
    dialect = dialect or params.get("dialect", JAVA)
    if dialect == JAVA or not isinstance(name, str) or outer_name(name) not in STRATEGIES:
        return name, plain
    known = DIALECTS.get(dialect) if isinstance(dialect, str) else None
    made = None if known is None else known.made.get(outer_name(name))
    if made is not None and made is STRATEGIES.get(name):
        return name, plain
    same = [one for one, java in STRATEGIES.items() if java is made]
    return (same[0], {}) if same else (name, {**plain, "dialect": dialect})


def class_of(name: str) -> type[Strategy]:
    """The class of a name, of ``MACHINE_ROOM_NEARBY-AVG`` that of the outer strategy; `Strategy` itself if there is none.

    Examples
    --------
    >>> class_of("MACHINE_ROOM_NEARBY-AVG").__name__, class_of("OTHER").__name__
    ('MachineRoomNearby', 'Strategy')
    """
    return STRATEGIES.get(outer_name(name), Strategy)


def inner_class_of(name: str) -> type[Strategy]:
    """The class of a name, of ``MACHINE_ROOM_NEARBY-AVG`` that of the inner strategy; `Strategy` itself if there is none."""
    return STRATEGIES.get(name.rpartition("-")[2], Strategy)


def outer_name(name: str) -> str:
    """A name without that of the strategy inside.

    Examples
    --------
    >>> outer_name("MACHINE_ROOM_NEARBY-AVG"), outer_name("AVG")
    ('MACHINE_ROOM_NEARBY', 'AVG')
    """
    return NEARBY if name.startswith(f"{NEARBY}-") else name


def full_name(name: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A strategy's name with that of the one inside it, and its parameters without that.

    Examples
    --------
    >>> full_name("MACHINE_ROOM_NEARBY", {"inner": "AVG"})
    ('MACHINE_ROOM_NEARBY-AVG', {})
    """
    if name == NEARBY and isinstance(params.get("inner"), str):
        name = f"{NEARBY}-{params.pop('inner')}"
    return name, params


def lacks_inner(name: str) -> bool:
    """Whether a name leaves open which strategy is inside."""
    return name == NEARBY


def server_side() -> tuple[str, ...]:
    """Strategies that a broker can divide by; all else it answers with "keep what you have".

    Examples
    --------
    >>> server_side()
    ('AVG', 'AVG_BY_CIRCLE')
    """
    return tuple(name for name, made in STRATEGIES.items() if made.is_server_side)


# --- Command lines ---


def plain_strategies() -> tuple[str, ...]:
    """Strategies that flags can describe; the others need code (a resolver, an inner strategy) or lists of queues.

    Examples
    --------
    >>> plain_strategies()
    ('AVG', 'AVG_BY_CIRCLE', 'CONSISTENT_HASH', 'MACHINE_ROOM')
    """
    return tuple(name for name, made in STRATEGIES.items() if all(p.is_plain for p in made.parameters if p.is_needed))


def plain_parameters() -> Iterator[tuple[str, Parameter]]:
    """Parameters of these that flags can give, each with the name of its strategy."""
    for name in plain_strategies():
        yield from ((name, parameter) for parameter in STRATEGIES[name].parameters if parameter.is_plain)


def from_flags(strategy: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters for `rmqalloc.strategy` from the options of a command line.

    Parameters
    ----------
    strategy : str
        RocketMQ's name of the strategy.
    given : mapping
        Values by parameter, None where an option is not given; of names a text with commas between them.

    Raises
    ------
    ValueError
        An option does not belong to the strategy, or one that it needs is missing.

    Examples
    --------
    >>> from_flags("CONSISTENT_HASH", {"virtual_nodes": 160, "machine_rooms": None})
    {'virtual_nodes': 160}
    """
    params: dict[str, Any] = {}
    for name, parameter in plain_parameters():
        value = given.get(parameter.name)
        if parameter.is_needed and (value is not None) != (strategy == name):
            raise ValueError(f"{parameter.flag} is for {name}, which needs it; the strategy is {strategy}")
        if value is not None and strategy != name:
            raise ValueError(f"{parameter.flag} is for {name}, the strategy is {strategy}")
        if value is not None:
            params[parameter.name] = set(value.split(",")) if parameter.kind == "names" else value
    return params


def from_label(label: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a strategy from a short text; whether they fit `rule` is not checked.

    Parameters
    ----------
    label : str
        ``NAME``, ``NAME:NUMBER`` or ``NAME:TEXT+TEXT``, for the strategy's last parameter that a flag could give.

    Raises
    ------
    ValueError
        It is none of these.

    Examples
    --------
    >>> from_label("CONSISTENT_HASH:160"), from_label("MACHINE_ROOM:hz+sh")
    (('CONSISTENT_HASH', {'virtual_nodes': 160}), ('MACHINE_ROOM', {'machine_rooms': ['hz', 'sh']}))
    """
    name, colon, given = label.partition(":")
    known = dict(plain_parameters())
    of_outer, of_inner = known.get(name), known.get(name.rpartition("-")[2])
    if colon and of_inner is not None and of_inner.kind == "count":
        if not (given.isascii() and given.isdigit() and len(given) < 10):
            raise ValueError(f"{label!r} is not NAME:N, such as {name.rpartition('-')[2]}:160")
        return name, {of_inner.name: int(given)}
    if given and of_outer is not None:
        return name, {of_outer.name: given.split("+")}
    if colon or (of_outer is not None and of_outer.is_needed):
        forms = [f"{one}:{p.metavar}" + f"+{p.metavar}" * (p.kind == "names") for one, p in known.items()]
        meant = did_you_mean(name, plain_strategies()) if name not in plain_strategies() else ""
        raise ValueError(f"{label!r} is neither NAME, nor {', nor '.join(forms)}{meant}")
    return name, {}
