"""Plans that stay live: events of clients and routes as a stream in, changed owners and findings as
rows out.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegralType,
    StringType,
    StructField,
    StructType,
)

from rmqalloc.documents.fields import MAX_DURATION, Duration
from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.evaluation import PlanSpec
from spark_udfs._arrow_owners import usable
from spark_udfs._event_bounds import CHECKED_DDL, MAX_COPIED, CheckedEvents, Window
from spark_udfs._live_groups import LiveRules
from spark_udfs._live_rows import LIVE_DDL, LiveRows, LiveState

__all__ = ["EVENT_SCHEMA", "UnfitPyarrowError", "live_plans"]

EVENT_SCHEMA = (
    "event_time timestamp, sequence bigint, kind string, topic string, topics array<string>, consumer_group string, "
    "client_id string, channels int, brokers array<struct<broker_name: string, read_queue_nums: int>>"
)
"""Fields of an event, as columns or as JSON.

``event_time``, ``kind``, and ``topic`` or ``topics`` are needed. ``join`` and ``heartbeat`` say that ``client_id`` of
``consumer_group`` is there (``channels`` times, once by default), ``leave`` that it is not; ``route`` gives all ``brokers`` of
the topic whose queues can be read, an empty list if the topic is gone. ``sequence`` decides between equal times, 0 by default.
"""

_NEEDED = ("event_time", "kind")
_PLACES = ("topic", "topics")
MAX_BUCKETS = 1 << 20
"""Keys of state at most."""

_IN_EVENT = ("sequence", "kind", "consumer_group", "client_id", "channels", "brokers", "raw")


def live_plans(
    events: DataFrame,
    strategy: str = "AVG",
    *,
    lateness: str = "10m",
    client_ttl: str | None = None,
    group_ttl: str = "24h",
    max_age: str = "168h",
    max_ahead: str = "1h",
    buckets: int = 256,
    **params: Any,
) -> DataFrame:
    """Follow membership and routes, and put out every consumer group and topic whose clients or
    queues change.

    Parameters
    ----------
    events : DataFrame
        A stream with columns of `EVENT_SCHEMA`; or with ``value`` (string or binary), a JSON object
        with the same fields, as Kafka's source has it.
    strategy : str
        RocketMQ's name of the strategy of all groups, or one of rmqalloc.
    lateness : str
        How much later than the newest event seen so far an event may come, such as "10m". Spark
        drops events that are later, and counts them in ``numRowsDroppedByWatermark``. An event from
        a clock that is ahead counts as one of now.
    client_ttl : str, optional
        How long after its last event a client is there, such as "2m", RocketMQ's own time for a
        client without heartbeats; by default it is there until it leaves.
    group_ttl : str
        How long a group without clients is remembered.
    max_age, max_ahead : str
        How far before and after processing time the time of an event may be, by default seven days
        and an hour; others are refused. To read an old topic again give a greater ``max_age``, up
        to "876000h", a hundred years. They are no part of the checkpoint, and may differ when the
        query goes on.
    buckets : int
        Number of keys that topics are kept under. A micro-batch costs about two milliseconds for
        each key that it touches, and rewrites the state of all topics there: more buckets write
        less, fewer are faster.
    **params
        Parameters of the strategy, e.g. ``virtual_nodes=160``.

    Returns
    -------
    DataFrame
        One row for every group and topic that a micro-batch changed, in output mode append:

        * ``consumer_group``, ``topic``, and ``version``, which rises and never comes twice for a
          group and topic
        * ``event_time``: of the newest event of the topic in the micro-batch; the watermark if
          nothing but time passed
        * ``brokers`` and ``client_ids``, sorted as RocketMQ does, and ``owners``, positions in
          ``client_ids`` by broker and queue id, -1 for nobody
        * ``n_queues``, ``n_clients``, ``idle``, ``unowned``, ``min_load``, ``max_load``, ``skew``
        * ``changed``: ``change`` (moved, added or removed), ``broker_name``, ``queue_id``, client
          ids ``before`` and ``after``; ``moved`` counts the queues that are still there and have
          another owner
        * ``findings``: ``severity``, ``rule`` (of `rmqalloc.audit.RULES`), ``message``
        * ``err_code`` and ``err_msg`` where the strategy refuses the unit

        An event that is refused is a row with an ``err_code`` (3 for a queue that stands there
        twice, 4 for a text that is too long, else 1), ``err_msg`` and the ``event``, and without a
        version. It changes nothing: no state, no watermark.

    Raises
    ------
    TypeError
        The events are no stream, or a column is missing or of the wrong type.
    UnfitPyarrowError
        Spark is 3.5 and pyarrow 26 or later.
    ValueError
        The strategy or a time is wrong, or the strategy reads machine rooms, which events do not
        carry.

    Notes
    -----
    The order of events is that of ``(event_time, sequence)``, not of arrival; repeated events change nothing. The last row of
    a group and topic is therefore what one batch of all events gives. A query that is started from a checkpoint of other
    parameters fails with `LivePlansError` at the first event of a bucket of
    which the checkpoint has state.

    Examples
    --------
    >>> events = spark.readStream.format("kafka").options(...).load()  # doctest: +SKIP
    >>> rows = live_plans(events, "AVG", client_ttl="2m")  # doctest: +SKIP
    >>> rows.writeStream.format("delta").option("checkpointLocation", "...").toTable("live")  # doctest: +SKIP
    """
    if not events.isStreaming:
        raise ArgumentTypeError(
            "events must be a stream (spark.readStream); for tables use spark_udfs.joins.units and transforms.plan"
        )
    _require_fitting_pyarrow()
    spec = PlanSpec(strategy, params, output="owners")
    usable(spec.strategy, dict(spec.params), given=("topic",))
    rules = _rules(spec, lateness, client_ttl, group_ttl, buckets)
    window = Window(
        _milliseconds("lateness", lateness) * 1000,
        _milliseconds("max_age", max_age, _HUNDRED_YEARS) * 1000,
        _milliseconds("max_ahead", max_ahead, _HUNDRED_YEARS) * 1000,
    )
    rows = (
        _keyed(_packed(events).mapInArrow(CheckedEvents(window), CHECKED_DDL), window, buckets)
        .groupBy("bucket")
        .applyInPandasWithState(
            LiveState(rules), "row string", "state string", "append", "EventTimeTimeout"
        )
    )
    return rows.mapInArrow(LiveRows(spec), LIVE_DDL)


class UnfitPyarrowError(Error, RuntimeError):
    """Spark cannot keep state in Python with the pyarrow that is installed."""


def _require_fitting_pyarrow() -> None:
    """Refuse what would fail in the workers: Spark 3.5 slices batches by floats, which pyarrow
    takes no more.
    """
    if int(pyspark.__version__.split(".")[0]) < 4 and int(pa.__version__.split(".")[0]) >= 26:
        raise UnfitPyarrowError(
            f"live plans on Spark {pyspark.__version__} need pyarrow before 26, on the driver and in the workers, and this is "
            f"{pa.__version__}; install one before 26, or take Spark 4.0 or later"
        )


def _rules(
    spec: PlanSpec, lateness: str, client_ttl: str | None, group_ttl: str, buckets: int
) -> LiveRules:
    """Return what decides about state, and all parameters as text."""
    times = {"lateness": lateness, "client_ttl": client_ttl, "group_ttl": group_ttl}
    if isinstance(buckets, bool) or not isinstance(buckets, int) or not 1 <= buckets <= MAX_BUCKETS:
        raise ArgumentError(f"buckets must be an integer from 1 to {MAX_BUCKETS}, got {buckets!r}")
    given = {
        "strategy": spec.strategy,
        **times,
        "buckets": buckets,
        **dict(sorted(spec.params.items())),
    }
    micros = {
        name: None if text is None else _milliseconds(name, text) * 1000
        for name, text in times.items()
    }
    described = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return LiveRules(described, micros["client_ttl"], micros["group_ttl"] or 0)


_HUNDRED_YEARS = 876_000 * 3_600_000


def _milliseconds(name: str, text: str, most: int = MAX_DURATION) -> int:
    try:
        return int(Duration(most=most).read(text))
    except Error as error:
        raise ArgumentError(f"{name} {error}") from None


def _packed(events: DataFrame) -> DataFrame:
    """Pack events as `CheckedEvents` takes them: a row and a copy of the event, a JSON text, for
    each of its topics.
    """
    is_text = "value" in events.columns and "event_time" not in events.columns
    read = _of_text(events) if is_text else _of_columns(events)
    fields = [F.unix_micros("event_time").alias("time")]
    fields += [F.col(name) for name in read.columns if name in _IN_EVENT]
    topics = F.array_distinct(F.coalesce(F.col("topics"), F.array(F.col("topic"))))
    whole = read.select(topics.alias("topics"), F.to_json(F.struct(*fields)).alias("event"))
    n_copies = F.greatest(F.size("topics"), F.lit(1)).cast("bigint")
    is_single = (F.size("topics") == 0) | (n_copies * F.length("event") > MAX_COPIED)
    topic = F.explode(F.when(is_single, F.array(F.lit(""))).otherwise(F.col("topics")))
    counts = [n_copies.alias("n_copies"), _now().alias("now")]
    packed = whole.select(topic.alias("topic"), "event", *counts)
    return packed.withColumn("topic", F.coalesce(F.col("topic"), F.lit("")))


def _keyed(checked: DataFrame, window: Window, buckets: int) -> DataFrame:
    """Give checked events their ``bucket`` and a watermark."""
    bucket = F.pmod(F.xxhash64("topic"), F.lit(buckets)).cast("int")
    marked = checked.withWatermark("event_time", f"{window.lateness // 1000} milliseconds")
    return marked.withColumn("bucket", bucket)


def _now() -> Column:
    """Return processing time in microseconds: that of the micro-batch, unchanged when it runs
    again.
    """
    return F.unix_micros(F.current_timestamp())


def _of_text(events: DataFrame) -> DataFrame:
    """Read events from JSON objects; other text is kept as ``raw``."""
    kind = events.schema["value"].dataType
    if not isinstance(kind, StringType | BinaryType):
        raise ArgumentTypeError(
            f"column value of events must hold JSON as text, got {kind.simpleString()}"
        )
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "raw"}
    parsed = F.from_json(F.col("value").cast("string"), f"{EVENT_SCHEMA}, raw string", options)
    return events.select(parsed.alias("e")).select("e.*")


def _of_columns(events: DataFrame) -> DataFrame:
    """Read events whose fields are columns; missing columns are null."""
    missing = [name for name in _NEEDED if name not in events.columns]
    if missing or not set(_PLACES) & set(events.columns):
        needed = ", ".join((*_NEEDED, " or ".join(_PLACES)))
        raise ArgumentTypeError(
            f"events need the columns {needed}, or value with JSON; they have {', '.join(events.columns)}"
        )
    fields = events.sparkSession.createDataFrame([], EVENT_SCHEMA).schema.fields
    return events.select([_field(events, field) for field in fields])


def _field(events: DataFrame, field: StructField) -> Column:
    """Return one field of an event in its type."""
    if field.name not in events.columns:
        return F.lit(None).cast(field.dataType).alias(field.name)
    given = events.schema[field.name].dataType
    if not _fits(given, field.dataType):
        wanted, got = field.dataType.simpleString(), given.simpleString()
        raise ArgumentTypeError(f"column {field.name} of events must be {wanted}, got {got}")
    if field.name != "brokers":
        return F.col(field.name).cast(field.dataType).alias(field.name)

    def named_fields(broker: Column) -> Column:
        names = ("broker_name", "read_queue_nums")
        return F.struct(*[broker[name].alias(name) for name in names])

    return F.transform("brokers", named_fields).cast(field.dataType).alias("brokers")


def _fits(given: DataType, wanted: DataType) -> bool:
    """Return True if a column can be taken as a field: of its type, or of another width."""
    if isinstance(wanted, IntegralType):
        return isinstance(given, IntegralType)
    if isinstance(wanted, ArrayType):
        return isinstance(given, ArrayType) and _fits(given.elementType, wanted.elementType)
    if isinstance(wanted, StructType):
        if not isinstance(given, StructType):
            return not wanted.fields
        kinds = {field.name: field.dataType for field in given.fields}
        return all(
            field.name in kinds and _fits(kinds[field.name], field.dataType)
            for field in wanted.fields
        )
    return isinstance(given, type(wanted))
