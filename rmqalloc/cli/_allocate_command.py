"""``rmqalloc allocate``: who owns what in one consumer group."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from rmqalloc.cli._choices import Choice
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import hand_over, say, tell
from rmqalloc.cli._strategy_options import NamedStrategy, strategy_option
from rmqalloc.model import MAX_QUEUES, clients_meant
from rmqalloc.results.renderer import text_table
from rmqalloc.snapshot.matching import near
from rmqalloc.strategies.by_name import reads_rooms
from rmqalloc.text import printable

if TYPE_CHECKING:
    from rmqalloc import Strategy


class OwnedQueue(NamedTuple):
    """One queue and the client that owns it, None for nobody."""

    topic: str
    broker_name: str
    queue_id: int
    client_id: str | None


@click.command(cls=Verb)
@option("topic", more="; patterns are not allowed", multiple=True, required=True)
@click.option(
    "--queues",
    required=True,
    metavar="BROKER:N,...",
    help="Brokers with their number of read queues, equal for all topics.",
)
@click.option(
    "--clients",
    required=True,
    metavar="ID,...|@FILE",
    help="Client ids, or @FILE with one id per line.",
)
@strategy_option(more="; ROTATED-AVG combines two strategies", default="AVG", show_default=True)
@option("client", more="; show only its queues")
@option("output", type=Choice(["table", "json", "csv"]), default="table", show_default=True)
def allocate(
    topic: tuple[str, ...],
    queues: str,
    clients: str,
    strategy: NamedStrategy,
    client: str | None,
    output: str,
) -> None:
    """Compute the owner of each queue of one consumer group.

    \b
    rmqalloc allocate -t orders --queues broker-a:8,broker-b:8 \\
        --clients 10.0.0.1@71,10.0.0.2@12 -s CONSISTENT_HASH
    """
    import rmqalloc

    if reads_rooms(strategy.name):
        raise click.UsageError(
            f"--strategy: {strategy.name} needs machine rooms, and allocate has no option for "
            "them; use `rmqalloc plan` with a snapshot"
        )
    s = rmqalloc.strategy(strategy.name, **strategy.params)
    brokers = _parse_queues(queues)
    client_ids = rmqalloc.sort_client_ids(_parse_clients(clients))
    wanted = client_ids if client is None else clients_meant(client, client_ids)
    if not wanted:
        raise click.UsageError(
            f"--client: none of the {len(client_ids)} clients matches "
            f"{client!r}{near(str(client), client_ids)}"
        )
    if len(set(client_ids)) < len(client_ids):
        tell("note", "a client id is given more than once; each occurrence counts, as in RocketMQ")
    owned: list[OwnedQueue] = []
    for name in dict.fromkeys(topic):
        owned += _owned(s, name, brokers, client_ids)
    shown = owned if client is None else [queue for queue in owned if queue.client_id in wanted]
    text = _RENDER[output](s.get_name(), client_ids, shown)
    if output == "table":
        say(text)
    else:
        hand_over(text, end="" if output == "csv" else "\n")


def _owned(
    s: "Strategy", topic: str, brokers: dict[str, int], client_ids: list[str]
) -> Iterator[OwnedQueue]:
    """Yield owners of one topic's queues, in RocketMQ's order."""
    from rmqalloc import Assignment, MessageQueue, sort_queues

    queues: list[MessageQueue] = []
    for broker, n_queues in brokers.items():
        queues += [MessageQueue(topic, broker, queue_id) for queue_id in range(n_queues)]
    mq_all = sort_queues(queues)
    assignment = cast(Assignment, s.assign(mq_all, client_ids))
    for queue, owner in zip(mq_all, assignment.owners.tolist(), strict=True):
        yield OwnedQueue(*queue, client_ids[owner] if owner >= 0 else None)


def _parse_queues(text: str) -> dict[str, int]:
    """Read queue counts by broker, from ``broker-a:8,broker-b:8``."""
    counts: dict[str, int] = {}
    for part in text.split(","):
        broker, _, number = part.rpartition(":")
        if not broker or not (number.isascii() and number.isdigit()):
            raise click.UsageError(f"--queues: {part!r} is not BROKER:N, such as broker-a:8")
        if broker in counts:
            raise click.UsageError(f"--queues: broker {broker!r} is given twice")
        counts[broker] = int(number)
    if not 0 < sum(counts.values()) <= MAX_QUEUES:
        raise click.UsageError(
            f"--queues: {sum(counts.values())} queues; from 1 to {MAX_QUEUES} can be shown"
        )
    return counts


def _parse_clients(text: str) -> list[str]:
    """Return the client ids from ``id,id,...`` or from ``@file``."""
    from rmqalloc.documents import read_source

    if not text.startswith("@"):
        ids = text.split(",")
    else:
        # Split at line feeds only: a client id may hold any other character, even one that Unicode
        # breaks lines at.
        content = read_source(text[1:]).data.decode("utf-8", "surrogateescape")
        ids = content.replace("\r\n", "\n").split("\n")
    ids = [client_id for client_id in ids if client_id]
    if not ids:
        raise click.UsageError(f"--clients {text!r} holds no client id")
    return ids


def _as_table(strategy_name: str, client_ids: list[str], owned: list[OwnedQueue]) -> str:
    tables = [f"{strategy_name}  {len(client_ids)} clients  {len(owned)} queues"]
    for topic, mine in groupby(owned, lambda one: one.topic):
        rows = [(f"{one.broker_name}:{one.queue_id}", one.client_id or "-") for one in mine]
        tables.append(
            "\n".join([f"Topic {printable(topic)}", *text_table(("queue", "owner"), rows)])
        )
    counts = dict.fromkeys(client_ids, 0)
    for one in owned:
        if one.client_id is not None:
            counts[one.client_id] += 1
    tables.append(
        "\n".join(text_table(("client", "queues"), [(name, str(n)) for name, n in counts.items()]))
    )
    return "\n\n".join(tables)


def _as_json(strategy_name: str, client_ids: list[str], owned: list[OwnedQueue]) -> str:
    content = {
        "strategy": strategy_name,
        "client_ids": client_ids,
        "queues": [one._asdict() for one in owned],
    }
    return json.dumps(content, indent=2)


def _as_csv(strategy_name: str, client_ids: list[str], owned: list[OwnedQueue]) -> str:
    # A file gets names as they are; they must not control a terminal.
    shown = (
        printable
        if sys.stdout.isatty()
        else lambda name: name.encode("utf-8", "backslashreplace").decode()
    )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(OwnedQueue._fields)
    for one in owned:
        writer.writerow(
            [shown(one.topic), shown(one.broker_name), one.queue_id, shown(one.client_id or "")]
        )
    return out.getvalue()


_RENDER = {"table": _as_table, "json": _as_json, "csv": _as_csv}
