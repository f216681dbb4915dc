"""The figures of a group in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rmqalloc.results.and_more import named
from rmqalloc.results.renderer import skew_text
from rmqalloc.rollouts.advice.advice import ConfigLists
from rmqalloc.strategies.by_name import class_of
from rmqalloc.text import counted

Row = Mapping[str, Any]
Rows = Sequence[Row]

WORTH = 0.05
"""Least relative gain in skew for which more virtual nodes are advised."""
WORTH_MOVES = 0.2
"""Least relative gain in moves for which another strategy is named."""


def sentences(
    group: Row, counts: Rows, rings: Rows, rooms: Rows, churn: Rows, lists: ConfigLists
) -> tuple[str, ...]:
    """Return advice for a group, given its rows of the tables."""
    return (
        *_sizes(group, counts),
        *_work(group),
        *_ring(group, rings),
        *_rooms(rooms),
        *_churn(churn),
        *_lists(group, lists),
    )


def _sizes(group: Row, counts: Rows) -> Iterator[str]:
    n, name = group["n_clients"], group["consumer_group"]
    queues = f"{counted(group['n_queues'], 'queue')} of {counted(group['n_topics'], 'topic')}"
    yield f"{name} has {counted(n, 'client')} for {queues} under {group['strategy']}."
    idle = group["idle"]
    if idle:
        yield f"{counted(idle, 'client has', 'clients have')} no work ({named(group['idle_ids'])})."
    if group["unowned"]:
        yield (
            f"{counted(group['unowned'], 'queue has', 'queues have')} no owner: {group['strategy']} gives these queues to "
            "no client."
        )
    most, made = group["most_useful"], class_of(group["strategy"])
    by_count = made.decided_by == "counts"
    if n > most and (group["n_topics"] == 1 or by_count):
        yield f"No topic has more than {counted(most, 'queue')}, so at most {counted(most, 'client')} can have a queue."
    if group["n_topics"] > 1 and by_count and group["max_load"] - group["min_load"] > 1:
        low, more = divmod(group["n_queues"], n)
        even_load = f"{low} or {low + 1}" if more else str(low)
        yield (
            "Every topic is divided from the first client on, so the first clients get the extra queues of all topics: "
            f"clients have {group['min_load']} to {group['max_load']} queues, where {even_load} would be even."
        )
    even = [row for row in counts if row["is_even"]]
    if group["min_load"] == group["max_load"] and not group["unowned"]:
        yield f"Every client has {counted(group['max_load'], 'queue')}: the load is even."
    elif not idle:
        yield (
            f"Clients have {group['min_load']} to {counted(group['max_load'], 'queue')}; the largest load is "
            f"{skew_text(group['skew'])} times the mean."
        )
    others = [
        row for row in even if not row["is_now"] and not made.is_listed
    ]  # lists would change too
    if others and group["min_load"] != group["max_load"]:
        below = [row for row in others if row["n_clients"] < n][-1:]
        above = [row for row in others if row["n_clients"] > n][:1]
        yield f"All clients would have equally many queues with {' or '.join(_way(row) for row in below + above)}."
    elif not even and not made.is_listed:
        yield "No tried number of clients gives all clients equally many queues."


def _work(group: Row) -> Iterator[str]:
    useful = group["useful_clients"]
    if useful is not None and useful < group["most_useful"]:
        yield (
            f"With more than {counted(useful, 'client')}, a client would own no queue that producers write to (retry topics "
            "aside)."
        )


def _way(row: Row) -> str:
    return f"{counted(row['n_clients'], 'client')} (the change moves {counted(row['moved_from_now'], 'queue')})"


def advised_nodes(rings: Rows) -> int | None:
    """Return the fewest virtual nodes that come within 5 % of the best skew, if that is better than
    now by more; else None.
    """
    now = next((row for row in rings if row["is_now"]), None)
    if now is None:
        return None
    more = [row for row in rings if row["virtual_nodes"] > now["virtual_nodes"]]
    best = min((row["skew"] for row in more), default=now["skew"])
    if best > now["skew"] * (1 - WORTH):
        return None
    return int(next(row["virtual_nodes"] for row in more if row["skew"] <= best * (1 + WORTH)))


def _ring(group: Row, rings: Rows) -> Iterator[str]:
    if not rings or group["min_load"] == group["max_load"]:
        return
    now, last = next(row for row in rings if row["is_now"]), rings[-1]
    fullest = skew_text(now["skew"])
    chance, per_client = now["chance_skew"], group["n_queues"] / group["n_clients"]
    advised = group["virtual_nodes"]
    if advised is not None:
        row = next(one for one in rings if one["virtual_nodes"] == advised)
        yield (
            f"{advised} virtual nodes instead of {now['virtual_nodes']} change the largest load from {fullest} to "
            f"{skew_text(row['skew'])} times the mean and move {counted(row['moved_from_now'], 'queue')}."
        )
    elif last is not now:
        yield (
            f"More virtual nodes do not help: from {now['virtual_nodes']} to {last['virtual_nodes']} virtual nodes, the "
            f"largest load changes from {fullest} to {skew_text(last['skew'])} times the mean."
        )
    if chance > 1.25:
        yield (
            f"There are {per_client:.1f} queues per client. With so few queues, the largest load is by chance about "
            f"{skew_text(chance)} times the mean for any number of virtual nodes; use more queues or another strategy."
        )


def _rooms(rooms: Rows) -> Iterator[str]:
    for row in rooms:
        (low, high), (level, top) = (
            (row[f"{kind}min_load"], row[f"{kind}max_load"]) for kind in ("", "pooled_")
        )
        if high - low > top - level:
            yield (
                f"Topic {row['topic']} has queues in {counted(len(row['machine_rooms']), 'machine room')} without a client, "
                f"and the queues of each such room are divided from the first client on: clients have {low} to {high} "
                f"queues, or {level} to {top} if the rooms were divided together."
            )
            return


def _churn(churn: Rows) -> Iterator[str]:
    """Yield what other strategies would save in restarts, and what they would cost when a broker is
    lost.
    """
    now = next((row for row in churn if row["is_now"]), None)
    if now is None or now["restart_per_queue"] is None:
        return
    worth = [row for row in churn if not row["is_now"] and _is_better(row, now)]
    if not worth:
        return
    yield (
        f"A rolling restart, one client at a time, moves every queue {now['restart_per_queue']:.1f} times: {now['year']:,} "
        "moves in a year of weekly deploys."
    )
    ways = [
        f"{row['strategy']} {row['restart_per_queue']:.1f} times ({row['year']:,} a year; "
        f"a lost broker moves {row['broker_lost']:.0f} other queues, now {now['broker_lost']:.0f})"
        + (", with slot numbers in client ids" if row["needs_slots"] else "")
        for row in sorted(worth, key=lambda row: row["year"])[:3]
    ]
    yield (
        f"With this project's classes for Java and Go clients (not for POP and gRPC groups): {'; '.join(ways)}."
    )


def _is_better(row: Row, now: Row) -> bool:
    """Return whether a strategy moves much less and is as even, or is evener and does not move
    more.
    """
    if "/" not in row["strategy"]:  # those of RocketMQ are weighed for comparison
        return False
    spread, spread_now = (one["max_load"] - one["min_load"] for one in (row, now))
    moves, moves_now = row["restart_per_queue"], now["restart_per_queue"]
    if spread <= max(spread_now, 1):
        return bool(
            moves < moves_now * (1 - WORTH_MOVES)
            or (spread < spread_now - 1 and moves < moves_now * (1 + WORTH))
        )
    return False


def _lists(group: Row, lists: ConfigLists) -> Iterator[str]:
    if not lists.moved:
        return
    begins = "the reported owners" if lists.from_actual else "the computed owners"
    yield (
        f"The most even lists for CONFIG would move {counted(lists.moved, 'queue')} of {group['n_queues']:,} from {begins}. "
        "The lists are valid only for these client ids, and the queues of a dead client stay unowned."
    )
