"""Live plans in Python workers: the function that keeps state for Spark, and the rows of what
changed. Imports no pyspark.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rmqalloc.audit import RULES
from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_stream
from rmqalloc.model import MAX_READ_QUEUE_NUMS
from rmqalloc.results.and_more import named
from spark_udfs._live_groups import LiveRules, advance
from spark_udfs.map_in_arrow import ddl

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LIVE_DDL", "LIVE_SCHEMA", "LiveRows", "LiveState"]

_BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
_CHANGED = pa.list_(
    pa.struct(
        [
            ("change", pa.string()),
            ("broker_name", pa.string()),
            ("queue_id", pa.int32()),
            ("before", pa.string()),
            ("after", pa.string()),
        ]
    )
)
_FINDINGS = pa.list_(
    pa.struct([("severity", pa.string()), ("rule", pa.string()), ("message", pa.string())])
)
_FIGURES = ("n_queues", "n_clients", "idle", "unowned", "min_load", "max_load")

LIVE_SCHEMA = pa.schema(
    [
        ("consumer_group", pa.string()),
        ("topic", pa.string()),
        ("version", pa.int64()),
        ("event_time", pa.timestamp("us", "UTC")),
        ("brokers", _BROKERS),
        ("client_ids", pa.list_(pa.string())),
        ("owners", pa.list_(pa.int32())),
        *((name, pa.int32()) for name in _FIGURES),
        ("skew", pa.float64()),
        ("moved", pa.int32()),
        ("changed", _CHANGED),
        ("findings", _FINDINGS),
        ("err_code", pa.int32()),
        ("err_msg", pa.string()),
        ("event", pa.string()),
    ]
)
"""Columns of `spark_udfs.streaming.live_plans`."""

LIVE_DDL = ddl(LIVE_SCHEMA)
"""The same as Spark's DDL text."""


class LiveState:
    """`spark_udfs._live_groups.advance` as ``applyInPandasWithState`` takes it: rows of one column,
    JSON texts.
    """

    def __init__(self, rules: LiveRules) -> None:
        self._rules = rules

    def __call__(
        self, key: tuple[int], frames: Iterable[pd.DataFrame], state: Any
    ) -> Iterator[pd.DataFrame]:
        """Take in the events of one bucket, or what its time-out ends."""
        import pandas as pd

        events: list[tuple[str, str]] = []
        for frame in frames:
            events += zip(frame["topic"], frame["event"], strict=True)
        kept = state.get[0] if state.exists else None
        watermark = max(0, state.getCurrentWatermarkMs())
        done = advance(kept, events, watermark * 1000, self._rules)
        if done.state is None:
            if state.exists:
                state.remove()
        else:
            state.update((done.state,))
            if done.deadline is not None:  # Spark wakes us when the watermark is beyond it
                state.setTimeoutTimestamp(max(-(-done.deadline // 1000) - 1, watermark + 1))
        texts = [json.dumps(row, ensure_ascii=False) for row in done.rows]
        yield pd.DataFrame({"row": texts}, dtype=object)


class LiveRows:
    """Rows of `LIVE_SCHEMA` from the rows of `LiveState`, as ``mapInArrow`` takes it.

    Units of a batch, before and after, are evaluated together by the one evaluator, as many as have
    `MAX_LISTED` queues and clients: a route of one event may concern thousands of groups.

    Examples
    --------
    >>> sides = {"before": {"brokers": [["b", 2]], "client_ids": ["c1"]},
    ...          "after": {"brokers": [["b", 2]], "client_ids": ["c1", "c2"]}}
    >>> row = {"consumer_group": "g", "topic": "T", "version": 7, "event_time": 7, **sides}
    >>> texts = pa.RecordBatch.from_pydict({"row": [json.dumps(row)]})
    >>> [made] = next(LiveRows(PlanSpec("AVG", output="owners"))([texts])).to_pylist()
    >>> made["owners"], made["moved"], made["changed"]  # doctest: +NORMALIZE_WHITESPACE
    ([0, 1], 1, [{'change': 'moved', 'broker_name': 'b', 'queue_id': 1, 'before': 'c1', 'after': 'c2'}])
    """

    def __init__(self, spec: PlanSpec) -> None:
        self._spec = spec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the batches one after the other."""
        for batch in batches:
            for rows in _pieces(json.loads(text.as_py()) for text in batch.column("row")):
                yield pa.RecordBatch.from_pylist(list(self._live_rows(rows)), LIVE_SCHEMA)

    def _live_rows(self, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        units = []
        for row in rows:
            if "err_msg" not in row:
                units += [_unit(row, "before"), _unit(row, "after")]
        planned = iter(self._planned(units))
        for row in rows:
            if "err_msg" in row:
                yield row
            else:
                yield _live_row(row, before=next(planned), after=next(planned))

    def _planned(self, units: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Plan units; queues of units without queues or clients have no owner."""
        whole = [unit for unit in units if unit["brokers"] and unit["client_ids"]]
        batches = [pa.RecordBatch.from_pylist(whole, _UNITS)] if whole else []
        plans: list[dict[str, Any]] = []
        for batch in plan_stream(batches, self._spec):
            plans += batch.to_pylist()
        left = iter(plans)
        planned = []
        for unit in units:
            plan = next(left) if unit["brokers"] and unit["client_ids"] else {}
            planned.append(_none_owned(unit) | plan)
        return planned


MAX_LISTED = 2 * MAX_READ_QUEUE_NUMS
"""Queues and clients of the rows that are made at once, if it is not one row that has more."""


def _pieces(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Cut the rows into pieces whose lists fit into memory; there is at least one piece, which may
    be empty.
    """
    piece: list[dict[str, Any]] = []
    n_listed = 0
    for row in rows:
        n_more = sum(_n_listed(row[side]) for side in ("before", "after") if side in row)
        if piece and n_listed + n_more > MAX_LISTED:
            yield piece
            piece, n_listed = [], 0
        piece.append(row)
        n_listed += n_more
    yield piece


def _n_listed(side: dict[str, Any]) -> int:
    return int(sum(number for _, number in side["brokers"])) + len(side["client_ids"])


_UNITS = pa.schema(
    [LIVE_SCHEMA.field(name) for name in ("consumer_group", "topic", "brokers", "client_ids")]
)


def _unit(row: dict[str, Any], side: str) -> dict[str, Any]:
    brokers = [
        {"broker_name": name, "read_queue_nums": number} for name, number in row[side]["brokers"]
    ]
    return {
        "consumer_group": row["consumer_group"],
        "topic": row["topic"],
        "brokers": brokers,
        "client_ids": row[side]["client_ids"],
    }


def _none_owned(unit: dict[str, Any]) -> dict[str, Any]:
    """Return a unit whose queues have no owner: it has no clients, or no queues."""
    n_queues = sum(broker["read_queue_nums"] for broker in unit["brokers"])
    n_clients = len(unit["client_ids"])
    owners = [-1] * n_queues
    figures = {"n_queues": n_queues, "n_clients": n_clients, "idle": n_clients, "unowned": n_queues}
    return unit | figures | {"owners": owners, "err_code": 0, "err_msg": None}


def _live_row(row: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return a row of `LIVE_SCHEMA`."""
    changed = list(_changed(_owned(before), _owned(after)))
    made = {name: value for name, value in after.items() if name in LIVE_SCHEMA.names}
    made |= {
        "version": row["version"],
        "event_time": row["event_time"],
        "moved": sum(queue["change"] == "moved" for queue in changed),
        "changed": changed,
    }
    if "refused" in row:  # its clients are not listed, so nothing follows from their list
        code = int(ErrCode.TOO_LARGE)
        return made | {"findings": [], "err_code": code, "err_msg": row["refused"]}
    return made | {"findings": list(_findings(after))}


_Owned = dict[tuple[str, int], str | None]


def _owned(unit: dict[str, Any]) -> _Owned:
    """Return every queue with its owner; the lists are in Java's order, which is that of the
    owners.
    """
    queues: list[tuple[str, int]] = []
    for broker in unit["brokers"]:
        name, n_queues = broker["broker_name"], broker["read_queue_nums"]
        queues += [(name, number) for number in range(n_queues)]
    if unit["owners"] is None:  # the strategy refuses the unit
        return dict.fromkeys(queues)
    ids = unit["client_ids"]
    return {
        queue: None if owner < 0 else ids[owner]
        for queue, owner in zip(queues, unit["owners"], strict=True)
    }


def _changed(before: _Owned, after: _Owned) -> Iterator[dict[str, Any]]:
    """Yield the queues with another owner, new queues, and removed queues."""
    for queue, owner in after.items():
        if queue not in before or before[queue] != owner:
            change = "moved" if queue in before else "added"
            yield _change(change, queue, before.get(queue), owner)
    for queue, owner in before.items():
        if queue not in after:
            yield _change("removed", queue, owner, None)


def _change(
    change: str, queue: tuple[str, int], before: str | None, after: str | None
) -> dict[str, Any]:
    return {
        "change": change,
        "broker_name": queue[0],
        "queue_id": queue[1],
        "before": before,
        "after": after,
    }


def _findings(unit: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield what is wrong with a unit, by rules of `rmqalloc.audit.RULES`."""
    ids, owned = unit["client_ids"], _owned(unit)
    if not ids:
        yield _finding("no-consumer", f"no client is left; nobody reads the {len(owned)} queues")
        return
    if not owned:
        yield _finding(
            "topic-without-route", f"the topic has no queues; {len(ids)} clients wait for them"
        )
        return
    repeated = [name for name, n in Counter(ids).items() if n > 1]
    if repeated:
        yield _finding(
            "duplicate-client-id",
            f"several processes have one client id: {named(repeated, _MOST_NAMES)}",
        )
    unowned = [f"{broker}:{number}" for (broker, number), owner in owned.items() if owner is None]
    if unowned:
        yield _finding(
            "unowned-queue",
            f"{len(unowned)} of {len(owned)} queues have no owner: {named(unowned, _MOST_NAMES)}",
        )
    if unit["owners"] is not None:
        busy = set(owned.values())
        idle = [name for name in dict.fromkeys(ids) if name not in busy]
        if idle:
            yield _finding(
                "idle-client",
                f"{len(idle)} of {len(ids)} clients own no queue: {named(idle, _MOST_NAMES)}",
            )


_MOST_NAMES = 20


def _finding(rule: str, message: str) -> dict[str, str]:
    return {"severity": RULES[rule].severity, "rule": rule, "message": message}
