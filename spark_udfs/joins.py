"""Units from tables of routes, consumers and subscriptions."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, StringType

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.model import MAX_CHANNELS
from spark_udfs._read_columns import with_names

__all__ = ["units"]

READABLE = 4
"""The bit of ``perm`` that permits consumers to read a broker's queues (``PermName.PERM_READ``)."""

_WANTED: dict[str, dict[str, type[DataType]]] = {
    "routes": {"topic": StringType, "broker_name": StringType, "read_queue_nums": IntegralType},
    "consumers": {"consumer_group": StringType, "client_id": StringType},
    "subscriptions": {"consumer_group": StringType, "topic": StringType},
}
_OPTIONAL: dict[str, dict[str, type[DataType]]] = {
    "routes": {"perm": IntegralType, "machine_room": StringType},
    "consumers": {"machine_room": StringType, "channels": IntegralType},
    "subscriptions": {},
}


def units(routes: DataFrame, consumers: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Join tables to the rows that `spark_udfs.transforms.plan` reads, one for every consumer group
    and topic.

    Parameters
    ----------
    routes : DataFrame
        ``topic``, ``broker_name``, ``read_queue_nums`` (integer), and optionally ``perm`` (integer)
        and ``machine_room`` of the broker: a row for every topic on every broker. A broker without
        read permission in ``perm`` has no queues, as in
        ``MQClientInstance.topicRouteData2TopicSubscribeInfo``.
    consumers : DataFrame
        ``consumer_group``, ``client_id``, and optionally ``machine_room`` of the client and
        ``channels`` (integer): a row for every connection to a broker, or one row for several
        connections with their number, from 1 to 1,024 (null is 1). A repeated row counts again, as
        in ``ConsumerManager``, which lists a client id once per channel: two processes with one
        client id are the most common fault, and leave queues unowned. If a table repeats clients
        for another reason, apply ``distinct()`` first.
    subscriptions : DataFrame
        ``consumer_group``, ``topic``. Repeated rows of routes and subscriptions count once.

    Returns
    -------
    DataFrame
        ``consumer_group``, ``topic``, ``brokers``, ``client_ids``, and ``broker_rooms`` and
        ``client_rooms`` if the tables have a ``machine_room``, ``unit_err_msg`` if they have
        ``channels``. Lists are sorted, so equal tables give equal rows; a client id is listed once
        per channel. Every subscription has a row. If it has no route or no client, the list is
        empty, which the plan reports in ``err_msg``. If a number of channels is out of bounds,
        ``client_ids`` is null, and ``unit_err_msg`` has the reason.

    Raises
    ------
    TypeError
        A column is missing or of the wrong type, or a table is a stream: see docs/data/live-plans.md.

    Examples
    --------
    >>> tables = [spark.table(name) for name in ("routes", "consumers", "subscriptions")]  # doctest: +SKIP
    >>> plans = units(*tables).transform(plan("scenarios.yaml"))  # doctest: +SKIP
    """
    routes, consumers, subscriptions = _checked(
        routes=routes, consumers=consumers, subscriptions=subscriptions
    )
    brokers = _listed(_readable(routes), ["topic"], ["broker_name", "read_queue_nums"], once=True)
    clients = _listed(_by_channel(consumers), ["consumer_group"], ["client_id"], once=False)
    if "channels" in consumers.columns:
        clients = _refused(clients, consumers)
    joined = subscriptions.select("consumer_group", "topic").distinct()
    joined = joined.join(brokers, "topic", "left").join(clients, "consumer_group", "left")
    refused = [name for name in joined.columns if name == _WHY]
    kinds = {name: dict(joined.dtypes)[name] for name in ("brokers", "client_ids")}
    rooms = [name for name in ("broker_rooms", "client_rooms") if name in joined.columns]
    kinds |= dict.fromkeys(rooms, "array<string>")
    lists = [_or_empty(name, kind) for name, kind in kinds.items()]
    made = joined.select("consumer_group", "topic", *lists, *refused)
    return (
        made.withColumn("client_ids", F.when(F.col(_WHY).isNull(), F.col("client_ids")))
        if refused
        else made
    )


def _checked(**tables: DataFrame) -> list[DataFrame]:
    """Return tables with the names of columns that are read; one missing or of the wrong type, or a
    stream, is refused.
    """
    checked = []
    for table, frame in tables.items():
        if frame.isStreaming:
            raise ArgumentTypeError(
                f"{table} is a stream, and Spark cannot join lists that change: call this for the tables of "
                "every micro-batch, in foreachBatch"
            )
        columns = _WANTED[table] | _OPTIONAL[table]
        frame = with_names(frame, columns, table)
        checked.append(frame)
        kinds = {field.name: field.dataType for field in frame.schema.fields}
        for name, wanted in columns.items():
            words = "strings" if wanted is StringType else "integers"
            if name not in kinds and name in _WANTED[table]:
                raise ArgumentTypeError(
                    f"{table} has no column {name} ({words}); it has {', '.join(frame.columns)}"
                )
            if name in kinds and not isinstance(kinds[name], wanted):
                raise ArgumentTypeError(
                    f"column {name} of {table} must hold {words}, got {kinds[name].simpleString()}: cast it"
                )
    return checked


def _readable(routes: DataFrame) -> DataFrame:
    """Return the routes whose queues consumers may read; an unknown permission counts as readable."""
    if "perm" not in routes.columns:
        return routes
    return routes.where(F.coalesce(F.col("perm"), F.lit(READABLE)).bitwiseAND(READABLE) != 0)


def _by_channel(consumers: DataFrame) -> DataFrame:
    """Repeat each client once per channel; once if their number is unknown or out of bounds."""
    if "channels" not in consumers.columns:
        return consumers
    n_channels = F.when(_has_channels(), F.col("channels")).otherwise(F.lit(1)).cast("int")
    repeated = F.explode(F.array_repeat(F.lit(0), n_channels))
    names = [name for name in consumers.columns if name != "channels"]
    return consumers.select(*names, repeated.alias("_")).drop("_")


_WHY = "unit_err_msg"


def _has_channels() -> Column:
    """Return whether the number of channels is within bounds; null where it is not known."""
    return F.col("channels").between(1, MAX_CHANNELS)


def _refused(clients: DataFrame, consumers: DataFrame) -> DataFrame:
    """Join groups with the reason why their clients cannot be listed, null where they can."""
    wrong = F.min_by(F.struct("channels", "client_id"), F.struct("client_id", "channels"))
    groups = consumers.where(~_has_channels()).groupBy("consumer_group")
    found = groups.agg(wrong.alias("first"))
    reason = F.format_string(
        f"channels must be from 1 to {MAX_CHANNELS}, got %s of client %s",
        "first.channels",
        F.substring("first.client_id", 1, 200),
    )
    reasons = found.select("consumer_group", reason.alias(_WHY))
    return clients.join(reasons, "consumer_group", "left")


def _listed(rows: DataFrame, by: list[str], names: list[str], once: bool) -> DataFrame:
    """Return the brokers of every topic, or clients of every group, as a sorted list, with a list
    of their machine rooms.
    """
    rooms = ["machine_room"] if "machine_room" in rows.columns else []
    members = rows.select(*by, F.struct(*names, *rooms).alias("member"))
    members = members.distinct() if once else members
    lists = members.groupBy(*by).agg(F.array_sort(F.collect_list("member")).alias("members"))

    def part(take: list[str]) -> Column:
        def fields(member: Column) -> Column:
            columns = [member[name].alias(name) for name in take]
            return member[take[0]] if len(take) == 1 else F.struct(*columns)

        return F.transform("members", fields)

    are_brokers = len(names) > 1
    made = [part(names).alias("brokers" if are_brokers else "client_ids")]
    if rooms:
        made.append(part(rooms).alias("broker_rooms" if are_brokers else "client_rooms"))
    return lists.select(*by, *made)


def _or_empty(name: str, kind: str) -> Column:
    """Return a list, empty instead of null."""
    return F.coalesce(F.col(name), F.array().cast(kind)).alias(name)
