"""Rules for splitting queues among clients: RocketMQ's and some of our own, one file per family.

A class joins `STRATEGIES` by a keyword, as in ``class Rotated(..., name="ROTATED/1")``. Its file is
found by its name, which begins with an underscore.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from importlib import import_module
from typing import Any, Literal, TypeVar, overload

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.model import Queue
from rmqalloc.strategies._averagely import Averagely, AveragelyByCircle
from rmqalloc.strategies._client_go import GoConsistentHash, GoMachineRoom
from rmqalloc.strategies._machine_room import MachineRoom
from rmqalloc.strategies._machine_room_nearby import BrokerRoom, ClientRoom, MachineRoomNearby
from rmqalloc.strategies._names import divided, split, unknown
from rmqalloc.strategies._ordinal import Ordinal, Ordinal2
from rmqalloc.strategies._pop import FleetShares, Pop
from rmqalloc.strategies._stable import Stable
from rmqalloc.strategies.base import REGISTERED, ExclusiveStrategy, SharingStrategy, Strategy
from rmqalloc.strategies.config import Config, ConfigByClient
from rmqalloc.strategies.consistent_hash import ConsistentHash, HashFunction
from rmqalloc.strategies.dialects import JAVA, dialect_named
from rmqalloc.strategies.ordering import sort_client_ids, sort_queues

for _file in os.listdir(os.path.dirname(__file__)):
    _module, _end = os.path.splitext(_file)
    if _end == ".py" and _module[0] == "_" and _module != "__init__":
        import_module(f"{__name__}.{_module}")

# The order in which lists name them; a strategy that is not here comes after these, by its name.
_FIRST = (
    *("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY"),
    *("POP", "ORDINAL/1", "ORDINAL/2", "STABLE/1", "ROTATED/1", "CONSISTENT_HASH_BOUNDED/1"),
    *("CANARY/1", "MACHINE_ROOM_NEARBY_POOLED/1", "STICKY", "WEIGHTED/1"),
)
STRATEGIES = {name: REGISTERED[name] for name in [*_FIRST, *sorted({*REGISTERED} - {*_FIRST})]}

_Inner = TypeVar("_Inner", bound=Strategy)


@overload
def strategy(
    name: Literal["CONSISTENT_HASH"], *, dialect: Literal["go"], virtual_nodes: int = 10
) -> GoConsistentHash: ...
@overload
def strategy(
    name: Literal["MACHINE_ROOM"],
    *,
    dialect: Literal["go"],
    machine_rooms: Iterable[str] | None = None,
) -> GoMachineRoom: ...
@overload
def strategy(name: Literal["MACHINE_ROOM_NEARBY"], *, dialect: Literal["go"]) -> Averagely: ...
@overload
def strategy(
    name: Literal["AVG"], *, dialect: Literal["java", "go", "cpp"] = "java"
) -> Averagely: ...
@overload
def strategy(
    name: Literal["AVG_BY_CIRCLE"], *, dialect: Literal["java", "go"] = "java"
) -> AveragelyByCircle: ...
@overload
def strategy(name: Literal["CONSISTENT_HASH"], *, virtual_nodes: int = 10) -> ConsistentHash: ...
@overload
def strategy(
    name: Literal["CONSISTENT_HASH"],
    *,
    virtual_nodes: int = 10,
    hash_function: HashFunction | None = None,
) -> ConsistentHash: ...
@overload
def strategy(name: Literal["CONFIG"], *, message_queues: None = None) -> Config[Any]: ...
@overload
def strategy(name: Literal["CONFIG"], *, message_queues: list[Queue] | None) -> Config[Queue]: ...
@overload
def strategy(
    name: Literal["MACHINE_ROOM"], *, machine_rooms: Iterable[str] | None = None
) -> MachineRoom: ...
@overload
def strategy(
    name: Literal["MACHINE_ROOM_NEARBY"],
    *,
    inner: _Inner,
    broker_room: BrokerRoom | None = None,
    client_room: ClientRoom | None = None,
) -> MachineRoomNearby[_Inner]: ...
@overload
def strategy(
    name: Literal["POP"], *, inner: _Inner, pop_share_queue_num: int = -1
) -> Pop[_Inner]: ...
@overload
def strategy(
    name: Literal["ORDINAL", "ORDINAL/1"], *, pattern: str = "-#", tables: bool = False
) -> Ordinal: ...
@overload
def strategy(name: Literal["ORDINAL/2"], *, pattern: str = "-#") -> Ordinal2: ...
@overload
def strategy(name: Literal["STABLE", "STABLE/1"], *, slack: int = 0) -> Stable: ...
@overload
def strategy(
    name: Literal["CONSISTENT_HASH_BOUNDED", "CONSISTENT_HASH_BOUNDED/1"],
    *,
    load_factor: Decimal | float | str = ...,
    virtual_nodes: int = 10,
) -> ExclusiveStrategy: ...
@overload
def strategy(
    name: Literal["CANARY", "CANARY/1"],
    *,
    share: Decimal | float | str,
    pattern: str = ...,
    inner: Strategy = ...,
) -> ExclusiveStrategy: ...
@overload
def strategy(
    name: Literal["MACHINE_ROOM_NEARBY_POOLED", "MACHINE_ROOM_NEARBY_POOLED/1"],
    *,
    inner: Strategy = ...,
    broker_room: BrokerRoom | None = None,
    client_room: ClientRoom | None = None,
) -> ExclusiveStrategy: ...
@overload
def strategy(
    name: Literal["WEIGHTED", "WEIGHTED/1"],
    *,
    capacities: Mapping[str, int] | None = None,
    weights: Mapping[tuple[Any, ...], int] | None = None,
) -> ExclusiveStrategy: ...
@overload
def strategy(name: Literal["STICKY"], *, owners: Mapping[Any, str]) -> ExclusiveStrategy: ...
@overload
def strategy(
    name: Literal["ROTATED", "ROTATED/1"], *, inner: Strategy = ...
) -> ExclusiveStrategy: ...
@overload
def strategy(
    name: Literal["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM"],
) -> Strategy: ...
@overload
def strategy(  # type: ignore[overload-overlap]
    name: Literal[
        "AVG",
        "AVG_BY_CIRCLE",
        "CONSISTENT_HASH",
        "CONFIG",
        "MACHINE_ROOM",
        "MACHINE_ROOM_NEARBY",
        "POP",
    ],
    *,
    dialect: Any = ...,
    virtual_nodes: Any = ...,
    hash_function: Any = ...,
    message_queues: Any = ...,
    machine_rooms: Any = ...,
    inner: Any = ...,
    broker_room: Any = ...,
    client_room: Any = ...,
    pop_share_queue_num: Any = ...,
) -> object: ...  # what does not fit the name is an error wherever the strategy is used
@overload
def strategy(
    name: str,
    *,
    dialect: str = ...,
    virtual_nodes: int = ...,
    hash_function: HashFunction | None = ...,
    message_queues: list[Any] | None = ...,
    machine_rooms: Iterable[str] | None = ...,
    inner: Strategy = ...,
    broker_room: BrokerRoom | None = ...,
    client_room: ClientRoom | None = ...,
    pop_share_queue_num: int = ...,
    load_factor: Decimal | float | str = ...,
    share: Decimal | float | str = ...,
    pattern: str = ...,
    tables: bool = ...,
    slack: int = ...,
    capacities: Mapping[str, int] | None = ...,
    weights: Mapping[tuple[Any, ...], int] | None = ...,
    owners: Mapping[Any, str] = ...,
) -> Strategy: ...
def strategy(name: str, *, dialect: str = JAVA, **parameters: Any) -> Strategy:
    """Make a strategy by RocketMQ's name for it.

    Parameters
    ----------
    name : str
        ``AVG``, ``AVG_BY_CIRCLE``, ``CONSISTENT_HASH``, ``CONFIG``, ``MACHINE_ROOM``,
        ``MACHINE_ROOM_NEARBY`` or ``POP``; or a strategy of this package's own, such as
        ``ROTATED/1``. Without its version the newest is meant. A dash leads to the strategy inside,
        as in ``ROTATED-AVG``, which then takes the parameters that the outer one does not.
    dialect : str
        Whose client's rule of that name: ``java``, ``go`` (client-go) or ``cpp`` (C++). It is the
        same object as Java's where the rule is; ``MACHINE_ROOM_NEARBY`` of Go is AVG, and takes no
        parameters.
    **parameters
        ``CONSISTENT_HASH``: ``virtual_nodes`` (10), ``hash_function`` (MD5). ``CONFIG``:
        ``message_queues``. ``MACHINE_ROOM``: ``machine_rooms``. ``MACHINE_ROOM_NEARBY``: ``inner``,
        ``broker_room``, ``client_room``. ``POP``: ``inner``, ``pop_share_queue_num``. ``ORDINAL``:
        ``pattern`` (``-#``), ``tables`` (False). ``STABLE``: ``slack`` (0). ``ROTATED``: ``inner``
        (AVG). ``CONSISTENT_HASH_BOUNDED``: ``load_factor`` (1.25), ``virtual_nodes`` (10).
        ``CANARY``: ``share``, ``pattern`` (``*@gray``), ``inner``. ``MACHINE_ROOM_NEARBY_POOLED``:
        ``inner``, ``broker_room``, ``client_room``. ``WEIGHTED``: ``capacities``, ``weights``.
        ``STICKY``: ``owners``.

    Returns
    -------
    Strategy
        To a type checker the class of the name, where the name is a literal; with a name from
        elsewhere what every strategy has, whose `allocate` gives a list. (Of ``CONFIG`` it may be
        None: give it the list.) A parameter that no strategy takes is an error of the call there;
        those that do not fit a literal name are an error where the strategy is used, for it is a
        plain ``object`` then.

    Raises
    ------
    ValueError
        The name or the dialect is unknown, the dialect has no such strategy, or a parameter is out
        of bounds.
    TypeError
        A parameter is unknown or of the wrong type.

    Examples
    --------
    >>> strategy("CONSISTENT_HASH", virtual_nodes=100).get_name()
    'CONSISTENT_HASH'
    >>> strategy("MACHINE_ROOM_NEARBY", dialect="go").get_name()
    'AVG'
    """
    outer, inner = split(name, STRATEGIES) if isinstance(name, str) else ("", None)
    if outer not in STRATEGIES:
        raise unknown(name, STRATEGIES)
    made = STRATEGIES[outer] if dialect == JAVA else dialect_named(dialect).class_of(outer)
    if inner is not None and made.names_inner:
        own, others = divided(made, parameters)
        parameters = {**own, "inner": strategy(inner, dialect=dialect, **others)}
    try:
        inspect.signature(made).bind(**parameters)
    except TypeError as error:
        known = ", ".join(inspect.signature(made).parameters) or "no parameters"
        raise ArgumentTypeError(f"strategy {name}: {error}; it takes {known}") from None
    return made(**parameters)


__all__ = [
    "STRATEGIES",
    "Averagely",
    "AveragelyByCircle",
    "Config",
    "ConfigByClient",
    "ConsistentHash",
    "ExclusiveStrategy",
    "FleetShares",
    "GoConsistentHash",
    "GoMachineRoom",
    "MachineRoom",
    "MachineRoomNearby",
    "Ordinal",
    "Ordinal2",
    "Pop",
    "SharingStrategy",
    "Stable",
    "Strategy",
    "sort_client_ids",
    "sort_queues",
    "strategy",
]
