"""Rows of units that are damaged in every way we know, with the verdict on each: one list for every
face that judges rows.
"""

from typing import Any, NamedTuple

import pyarrow as pa

from rmqalloc.limits import MAX_OF_ROW, MAX_TEXT_BYTES

BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int64())]))
QUEUES = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))
NAMES = pa.list_(pa.string())
TYPES = {
    "consumer_group": pa.string(), "topic": pa.string(), "brokers": BROKERS, "queues": QUEUES, "client_ids": NAMES,
    "strategy": pa.string(), "virtual_nodes": pa.int64(), "unit_err_msg": pa.string(),
}  # fmt: skip

GOOD = {
    "consumer_group": "g",
    "topic": "T",
    "brokers": [("b", 2), ("a", 2)],
    "client_ids": ["y", "x"],
}
OF_GOOD = [0, 0, 1, 1]
NO_QUEUES, NO_CLIENTS = "mqAll is null or mqAll empty", "cidAll is null or cidAll empty"


class HostileRow(NamedTuple):
    """A row: what differs from `GOOD`, and what every face must say of it."""

    kind: str
    row: dict[str, Any]  # a ``queues`` takes the place of ``brokers``
    code: int
    text: str | None = None  # how the message begins, None of a good row
    owners: list[int] | None = None
    types: dict[str, pa.DataType] | None = None

    def batch(self) -> pa.RecordBatch:
        """Return the row as a batch."""
        given = {
            name: value
            for name, value in GOOD.items()
            if name != "brokers" or "queues" not in self.row
        } | self.row
        columns = {
            name: _column([value], (self.types or TYPES).get(name, TYPES.get(name)))
            for name, value in given.items()
        }
        return pa.RecordBatch.from_pydict(columns)

    @property
    def is_for_functions(self) -> bool:
        """Whether column functions are given what is wrong: they ask for no group, and nobody tells
        them of joins.
        """
        return not {"consumer_group", "unit_err_msg"} & self.row.keys()

    @property
    def is_of_strategy(self) -> bool:
        """Whether what is wrong is the strategy, which SQL raises."""
        return self.code == 5


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return an array; bytes stand for a text that is not UTF-8."""
    if kind == pa.string() and any(isinstance(value, bytes) for value in values):
        return pa.array(values, pa.binary()).view(pa.string())
    if kind == NAMES and any(isinstance(one, bytes) for one in values[0] or ()):
        inner = _column(values[0], pa.string())
        return pa.ListArray.from_arrays([0, len(inner)], inner)
    return pa.array(values, kind)


TWICE = "MessageQueue [topic=T, brokerName={}, queueId={}] is there twice; give every queue once"
NULL_CLIENT = "client id at position 1 is null; every client id must be a string"
NO_TYPE = {"client_ids": pa.null()}
LONG = "A" * 5000

HOSTILE_ROWS = [
    HostileRow("good", {}, 0, owners=OF_GOOD),
    HostileRow("group null", {"consumer_group": None}, 1, "consumer_group is null; it must be a string"),
    HostileRow("topic null", {"topic": None}, 1, "topic is null; it must be a string"),
    HostileRow("topic not UTF-8", {"topic": b"caf\xe9"}, 1, "topic is not UTF-8: b'caf\\xe9'"),
    HostileRow("brokers null", {"brokers": None}, 1, "brokers is null; give a list"),
    HostileRow("brokers empty", {"brokers": []}, 2, NO_QUEUES),
    HostileRow("brokers without queues", {"brokers": [("b", 0)]}, 2, NO_QUEUES),
    HostileRow("broker null", {"brokers": [("a", 1), None]}, 1, "broker_name at position 1 of brokers is null"),
    HostileRow("broker_name null", {"brokers": [(None, 1)]}, 1, "broker_name at position 0 of brokers is null"),
    HostileRow("read_queue_nums null", {"brokers": [("b", None)]}, 1, "read_queue_nums at position 0 of brokers must be"),
    HostileRow("read_queue_nums negative", {"brokers": [("b", -1)]}, 1, "read_queue_nums at position 0 of brokers must be"),
    HostileRow("read_queue_nums too large", {"brokers": [("b", 2**40)]}, 4, "the unit has, or some scenario could give it"),
    HostileRow("queues too many", {"brokers": [("a", MAX_OF_ROW), ("b", 1)]}, 4, "the unit has, or some scenario could"),
    HostileRow("broker twice", {"brokers": [("b", 2), ("b", 2)]}, 3, TWICE.format("b", 0)),
    HostileRow("broker of one queue twice", {"brokers": [("a", 1), ("b", 1), ("b", 1)]}, 3, TWICE.format("b", 0)),
    HostileRow("queue twice", {"queues": [("b", 4), ("a", 7), ("b", 4)]}, 3, TWICE.format("b", 4)),
    HostileRow("queue_id null", {"queues": [("b", None)]}, 1, "queue_id at position 0 of queues must be an integer from"),
    HostileRow("queue_id negative", {"queues": [("b", 1), ("b", -1)]}, 0, owners=[0, 1]),
    HostileRow("clients null", {"client_ids": None}, 1, "client_ids is null; give a list"),
    HostileRow("clients empty", {"client_ids": []}, 2, NO_CLIENTS),
    HostileRow("clients without a type", {"client_ids": None}, 1, "client_ids is null; give a list", types=NO_TYPE),
    HostileRow("empty list without a type", {"client_ids": []}, 2, NO_CLIENTS, types={"client_ids": pa.list_(pa.null())}),
    HostileRow("client id null", {"client_ids": ["x", None]}, 1, NULL_CLIENT),
    HostileRow("client id not UTF-8", {"client_ids": ["x", b"\xff"]}, 1, "client id at position 1 of client_ids is not UTF-8"),
    HostileRow("client id too long", {"client_ids": ["x" * (MAX_TEXT_BYTES + 1)]}, 4, "client id at position 0 is 65537 bytes"),
    HostileRow("client id twice", {"client_ids": ["x", "x"]}, 0, owners=[0, 0, -1, -1]),
    HostileRow("client id empty", {"client_ids": ["", "x"]}, 0, owners=[-1, -1, 1, 1]),
    HostileRow("strategy null", {"strategy": None}, 0, owners=OF_GOOD),
    HostileRow("strategy without a type", {"strategy": None}, 0, owners=OF_GOOD, types={"strategy": pa.null()}),
    HostileRow("strategy empty", {"strategy": ""}, 5, "unknown strategy ''; known are AVG"),
    HostileRow("strategy unknown", {"strategy": "AVGG"}, 5, "unknown strategy 'AVGG'; known are AVG"),
    HostileRow("strategy of 5,000 characters", {"strategy": LONG}, 5, f"unknown strategy '{LONG[:98]}"),
    HostileRow("strategy not UTF-8", {"strategy": b"AV\xc7"}, 5, "the text is not UTF-8: b'AV\\xc7'"),
    HostileRow("MACHINE_ROOM without rooms", {"strategy": "MACHINE_ROOM"}, 5, "strategy MACHINE_ROOM needs machine_rooms"),
    HostileRow("strategy without its inner one", {"strategy": "POP"}, 5, "strategy POP"),
    HostileRow("strategy spelled wrongly", {"strategy": "CANARY(share=2"}, 5, "'CANARY(share=2' does not end with"),
    HostileRow("share out of bounds", {"strategy": "CANARY(share=2)"}, 5, "share must be from 0 to 1"),
    HostileRow("virtual_nodes negative", {"strategy": "CONSISTENT_HASH", "virtual_nodes": -1}, 5, "virtual_nodes must be"),
    HostileRow("virtual_nodes too many", {"virtual_nodes": 2**40}, 5, "virtual_nodes must be from 0 to 65536, got 1099511"),
    HostileRow("not joined", {"client_ids": None, "unit_err_msg": "channels must be"}, 1, "channels must be"),
    HostileRow("empty and unknown", {"client_ids": [], "strategy": "AVGG"}, 2, NO_CLIENTS),
]  # fmt: skip
