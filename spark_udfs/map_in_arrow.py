"""Functions of Arrow record batches that run in Python workers, for ``mapInArrow``. Imports no
pyspark.
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.evaluation.expand import LOAD_SCHEMA, OWNED_SCHEMA, expand_stream, load_stream

Batches = Iterable[pa.RecordBatch]

_TYPES = {
    pa.string(): "string",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.timestamp("us", "UTC"): "timestamp",
}


def ddl(schema: Iterable[pa.Field]) -> str:
    """Return a schema as Spark's DDL text.

    Examples
    --------
    >>> ddl(pa.schema([("topic", pa.string()), ("owners", pa.list_(pa.int32()))]))
    'topic string, owners array<int>'
    """
    return ", ".join(f"{field.name} {_type_text(field.type)}" for field in schema)


def _type_text(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_type_text(kind.value_type)}>"
    return f"struct<{ddl(kind)}>" if pa.types.is_struct(kind) else _TYPES[kind]


def quoted(name: str) -> str:
    """Return a name as SQL text, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


class PlanBatches:
    """`rmqalloc.evaluation.plan_stream` in the form of ``mapInArrow``.

    Only the spec and names are sent to the workers, as plain data.

    Examples
    --------
    >>> kernel = PlanBatches(PlanSpec("AVG", output="owners"))
    >>> queues = [{"broker_name": "b", "queue_id": 0}]
    >>> unit = {"consumer_group": "g", "topic": "T", "queues": queues, "client_ids": ["c"]}
    >>> next(kernel([pa.RecordBatch.from_pylist([unit])])).column("owners").to_pylist()
    [[0]]
    """

    def __init__(self, spec: PlanSpec, carry: Sequence[str] = ()) -> None:
        self.spec = spec
        self.carry = tuple(carry)

    @property
    def __name__(self) -> str:
        """Name of the transform, which Spark shows in plans."""
        return "plan" if self.spec.scenarios or self.spec.output != "owners" else "assign"

    @property
    def schema(self) -> pa.Schema:
        """Columns of the result, before the carried columns."""
        return self.spec.schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Plan the batches in turn."""
        return plan_stream(batches, self.spec, carry=self.carry)


class ExpandOwners(PlanBatches):
    """`rmqalloc.evaluation.expand_owners` in the form of ``mapInArrow``."""

    __name__ = "expand_owners"
    schema = OWNED_SCHEMA

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Name the owners in the batches in turn."""
        return expand_stream(batches, self.spec, carry=self.carry)


class ClientLoads(PlanBatches):
    """`rmqalloc.evaluation.client_load` in the form of ``mapInArrow``; sum the loads of all parts."""

    __name__ = "client_load"
    schema = LOAD_SCHEMA

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Count in the batches in turn."""
        return load_stream(batches, self.spec)
