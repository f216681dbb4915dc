"""Strategies by name and parameters, as tables, scenarios, files and command lines give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.strategies import STRATEGIES, ConfigByClient, Strategy, strategy
from rmqalloc.strategies._names import chain, divided, registered, split
from rmqalloc.strategies.dialects import DIALECTS, JAVA
from rmqalloc.strategies.parameters import Parameter
from rmqalloc.strategies.spelled import refuse_name, spelled
from rmqalloc.text import did_you_mean

NEARBY = "MACHINE_ROOM_NEARBY"
"""RocketMQ's strategy by machine rooms."""

_NO_UNITS = Fleet.from_groups([])


def rule(name: str, /, **params: Any) -> Strategy:
    """Return a strategy that gives every queue one owner, by RocketMQ's name for it.

    Examples
    --------
    >>> rule("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", virtual_nodes=100).get_name()
    'MACHINE_ROOM_NEARBY-CONSISTENT_HASH'
    """
    refuse_name(params)
    if "dialect" in params:
        name, params = in_dialect(name, params)
    outer, inner = split(name, STRATEGIES) if isinstance(name, str) else ("", None)
    if inner is not None:
        return _over(name, outer, inner, params)
    lists = params.get("message_queues")
    if name == "CONFIG" and lists and isinstance(lists, Mapping) and len(params) == 1:
        return ConfigByClient(lists)
    if (
        class_of(outer).names_inner
        and class_of(outer).default_inner is None
        and "inner" not in params
    ):
        raise ArgumentTypeError(
            f"strategy {name} needs an inner strategy: write {name}-AVG, for example"
        )
    made = strategy(name, **params)
    if name == "CONFIG" and not lists:
        raise ArgumentTypeError(
            "the lists of CONFIG are not known: give message_queues, a list of queues for every client id"
        )
    if not made.reads_rooms:  # else its rooms are in the table that is to come
        made.assign_fleet(_NO_UNITS)
    return made


def whole_rule(name: str, /, **params: Any) -> Strategy:
    """Return a strategy as `rule`; parameters that a user must give are required.

    The facts about a client may lack the machine rooms of MACHINE_ROOM. In a table or a spec,
    missing rooms are an error.

    Examples
    --------
    >>> whole_rule("MACHINE_ROOM")
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: strategy MACHINE_ROOM needs machine_rooms, as in ...
    """
    made = rule(name, **params)
    for parameter in made.parameters:
        if parameter.is_needed and parameter.is_plain and params.get(parameter.name) is None:
            form = f"{parameter.name}={parameter.metavar}+{parameter.metavar}"
            raise ArgumentTypeError(f"strategy {name} needs {parameter.name}, as in {name}({form})")
    return made


def in_dialect(
    name: str, params: Mapping[str, Any], dialect: str | None = None
) -> tuple[str, dict[str, Any]]:
    """Name and parameters of what a client of a dialect computes under a name.

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
    if made is not None and made is class_of(name):
        return name, plain
    same = [of_java for of_java, java in STRATEGIES.items() if java is made]
    return (same[0], {}) if same else (name, {**plain, "dialect": dialect})


def _over(name: str, outer: str, inner: str, params: Mapping[str, Any]) -> Strategy:
    """Return a strategy over another one, given the whole name and its two parts."""
    if class_of(inner).is_listed:
        each = "machine room" if class_of(outer).reads_rooms else "part that it divides"
        raise ArgumentTypeError(
            f"{name} gives a client its whole list once for every {each}; name {inner} itself"
        )
    own, others = divided(STRATEGIES[outer], params)
    resolvers = {one.name for one in class_of(outer).parameters if one.kind == "resolver"}
    others |= {
        one: own.pop(one) for one in resolvers & own.keys()
    }  # refused there: rooms come from the table
    return strategy(outer, inner=rule(inner, **others), **own)


def class_of(name: str) -> type[Strategy]:
    """Return the class of a name, of ``MACHINE_ROOM_NEARBY-AVG`` that of the outer strategy;
    `Strategy` itself if there is none.

    Examples
    --------
    >>> class_of("MACHINE_ROOM_NEARBY-AVG").__name__, class_of("OTHER").__name__
    ('MachineRoomNearby', 'Strategy')
    """
    return STRATEGIES.get(name if name in STRATEGIES else split(name, STRATEGIES)[0], Strategy)


def inner_class_of(name: str) -> type[Strategy]:
    """Return the class of a name, for ``MACHINE_ROOM_NEARBY-AVG`` the class of the innermost
    strategy; `Strategy` itself if there is none.
    """
    *_, innermost = chain(name, STRATEGIES)
    return class_of(innermost)


def reads_rooms(name: str) -> bool:
    """Return whether a strategy or an inner strategy reads machine rooms.

    Examples
    --------
    >>> [reads_rooms(name) for name in ("MACHINE_ROOM_NEARBY-AVG", "ROTATED-MACHINE_ROOM_NEARBY-AVG", "ROTATED-AVG")]
    [True, True, False]
    """
    return any(STRATEGIES.get(part, Strategy).reads_rooms for part in chain(name, STRATEGIES))


def outer_name(name: str) -> str:
    """Return a name without that of the strategy inside, as it is registered if it is.

    Examples
    --------
    >>> outer_name("MACHINE_ROOM_NEARBY-AVG"), outer_name("AVG"), outer_name("ROTATED-AVG")
    ('MACHINE_ROOM_NEARBY', 'AVG', 'ROTATED/1')
    """
    return split(name, STRATEGIES)[0]


def full_name(name: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a strategy's name with versions and those of the strategies inside it, and its
    parameters without these.

    Examples
    --------
    >>> full_name("MACHINE_ROOM_NEARBY", {"inner": "AVG"}), full_name("ROTATED", {})
    (('MACHINE_ROOM_NEARBY-AVG', {}), ('ROTATED/1-AVG', {}))
    """
    if (
        isinstance(params.get("inner"), str)
        and class_of(name).names_inner
        and split(name, STRATEGIES)[1] is None
    ):
        name = f"{name}-{params.pop('inner')}"
    return "-".join(chain(name, STRATEGIES)), params


def is_same(reported: str, name: str) -> bool:
    """Return whether a client that reports a strategy may use the named strategy: the inner strategy
    is not always reported.

    Examples
    --------
    >>> is_same("MACHINE_ROOM_NEARBY", "MACHINE_ROOM_NEARBY-AVG"), is_same("ROTATED-AVG", "ROTATED/1-AVG")
    (True, True)
    """
    outer, inner = split(reported, STRATEGIES)
    return (
        outer == outer_name(name)
        if inner is None
        else full_name(reported, {})[0] == full_name(name, {})[0]
    )


def lacks_inner(name: str) -> bool:
    """Return whether a name leaves open which strategy is inside.

    Examples
    --------
    >>> [lacks_inner(name) for name in ("MACHINE_ROOM_NEARBY", "MACHINE_ROOM_NEARBY-AVG", "ROTATED")]
    [True, False, False]
    """
    return inner_class_of(name).names_inner


def parameters_of(name: str) -> dict[str, Parameter]:
    """Return parameters of a strategy and of those inside it.

    Examples
    --------
    >>> list(parameters_of("CONSISTENT_HASH"))
    ['virtual_nodes', 'hash_function']
    """
    found: dict[str, Parameter] = {}
    for part in chain(name, STRATEGIES):
        found |= {parameter.name: parameter for parameter in class_of(part).parameters}
    return found


def server_side() -> tuple[str, ...]:
    """Return strategies that a broker can divide by; all else it answers with "keep what you have".

    Examples
    --------
    >>> server_side()
    ('AVG', 'AVG_BY_CIRCLE')
    """
    return tuple(name for name, made in STRATEGIES.items() if made.is_server_side)


# --- Command lines ---


def plain_strategies(rooms: bool = False) -> tuple[str, ...]:
    """Return strategies that a text can describe; the remaining strategies need lists or code.

    Examples
    --------
    >>> plain_strategies()[:4]
    ('AVG', 'AVG_BY_CIRCLE', 'CONSISTENT_HASH', 'MACHINE_ROOM')
    >>> set(plain_strategies(rooms=True)) - set(plain_strategies()) == {"MACHINE_ROOM_NEARBY", "MACHINE_ROOM_NEARBY_POOLED/1"}
    True
    """
    return tuple(
        name
        for name, made in STRATEGIES.items()
        if (rooms or not made.reads_rooms) and _is_text_enough(made)
    )


def _is_text_enough(made: type[Strategy]) -> bool:
    """Decide whether a text can give all that a strategy needs."""
    needed = [parameter for parameter in made.parameters if parameter.is_needed]
    return all(p.is_spelled or (made.names_inner and p.kind == "strategy") for p in needed)


def is_plain(name: str, rooms: bool = False) -> bool:
    """Return whether a text describes a strategy and all inner strategies; parameters are not
    checked.

    Examples
    --------
    >>> [is_plain(one) for one in ("ROTATED-CONSISTENT_HASH", "CANARY(share=1)", "MACHINE_ROOM_NEARBY-AVG", "BEST")]
    [True, True, False, False]
    """
    return set(chain(name.partition("(")[0], STRATEGIES)) <= set(plain_strategies(rooms))


def plain_parameters() -> Iterator[tuple[str, Parameter]]:
    """Yield parameters of these that have a short form, each with the names of the strategies that
    take it.
    """
    takers: dict[str, list[str]] = {}
    first: dict[str, Parameter] = {}
    for name in plain_strategies():
        for parameter in STRATEGIES[name].parameters:
            if parameter.is_plain:
                takers.setdefault(parameter.name, []).append(name)
                first.setdefault(parameter.name, parameter)
    for name, parameter in first.items():
        yield " and ".join(takers[name]), parameter


def _short_forms() -> dict[str, Parameter]:
    """Return the last parameter with a short form of each strategy that has one."""
    forms: dict[str, Parameter] = {}
    for name in plain_strategies():
        for parameter in class_of(name).parameters:
            if parameter.is_plain:
                forms[name] = parameter
    return forms


def from_label(label: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a strategy from a short text; whether they fit `rule` is not checked.

    Examples
    --------
    >>> from_label("CONSISTENT_HASH:160"), from_label("MACHINE_ROOM:hz+sh")
    (('CONSISTENT_HASH', {'virtual_nodes': 160}), ('MACHINE_ROOM', {'machine_rooms': ['hz', 'sh']}))
    """
    name, colon, given = label.partition(":")
    if "(" in name:
        return spelled(label)
    known = _short_forms()
    *_, innermost = chain(name, STRATEGIES)
    of_outer, of_inner = known.get(registered(name, STRATEGIES) or name), known.get(innermost)
    if colon and of_inner is not None and of_inner.kind == "count":
        if not (given.isascii() and given.isdigit() and len(given) < 10):
            raise ArgumentError(f"{label!r} is not NAME:N, such as {innermost}:160")
        return name, {of_inner.name: int(given)}
    if given and of_outer is not None:
        return name, {of_outer.name: given.split("+")}
    if colon or (of_outer is not None and of_outer.is_needed):
        forms = [
            f"{known_name}:{p.metavar}" + f"+{p.metavar}" * (p.kind == "names")
            for known_name, p in known.items()
        ]
        meant = (
            did_you_mean(name, plain_strategies())
            if registered(name, STRATEGIES) not in plain_strategies()
            else ""
        )
        forms.append("NAME(PARAMETER=VALUE,...)")
        raise ArgumentError(f"{label!r} is neither NAME, nor {', nor '.join(forms)}{meant}")
    return name, {}
