"""Tables that take a plan in one commit: Delta and Iceberg. What a name stands for, and why a plan
cannot go there.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rmqalloc.errors import Error
from spark_udfs.job._plan_kernels import PLAN_ID
from spark_udfs.map_in_arrow import quoted

KINDS = {"delta": "Delta", "iceberg": "Iceberg"}

CONNECTORS = "when this was written, both were published for Spark 3.5, 4.0 and 4.1, Delta alone for 4.2, and neither for 4.3"

_PART = r"`(?:[^`]|``)+`|[^\s.`]+"
_MISSING = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "REQUIRES_SINGLE_PART_NAMESPACE",
    "NoSuchNamespaceException",
)


class TableError(Error, ValueError):
    """A table cannot take plans: the message says why, and what would."""


class TableName(NamedTuple):
    """A table's name in its parts: catalog and schemas, if they are given, and the table's own."""

    parts: tuple[str, ...]

    @property
    def sql(self) -> str:
        """As SQL text, each part in quotes."""
        return ".".join(map(quoted, self.parts))

    def __str__(self) -> str:
        return ".".join(self.parts)


def parse_name(text: str) -> TableName:
    """Parse a table's name as people write it; TableError if it is none.

    Examples
    --------
    >>> parse_name("ice.`my db`.plans")
    TableName(parts=('ice', 'my db', 'plans'))
    """
    if not re.fullmatch(rf"(?:{_PART})(?:\.(?:{_PART}))*", text):
        raise TableError(
            f"{text!r} is not a name of a table; give a name such as catalog.schema.plans"
        )
    found = re.findall(_PART, text)
    parts = tuple(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in found)
    if any("/" in part for part in parts):
        raise TableError(
            f"{text!r} is a path; give the name of a table, such as catalog.schema.plans"
        )
    return TableName(parts)


class TableFacts(NamedTuple):
    """What a catalog says of a table."""

    provider: str  # in small letters; "" for a view
    columns: Mapping[str, str]  # Spark's types by name
    partitions: frozenset[str]  # columns that are partitions as they are
    location: str  # where its files are; "" if it is not said
    full_name: str  # as the catalog has it


def facts_of(described: list[tuple[str, str]], columns: Mapping[str, str]) -> TableFacts:
    """Return the facts in the rows of ``DESCRIBE TABLE EXTENDED``, in pairs of name and type.

    Examples
    --------
    >>> rows = [("a", "int"), ("# Partitioning", ""), ("Part 0", "a"), ("# Detailed Table Information", "")]
    >>> facts_of([*rows, ("Provider", "ICEBERG"), ("Location", "file:/t")], {"a": "int"}).partitions
    frozenset({'a'})
    """
    section, partitions, details = "", set(), {}
    for name, value in described:
        if name.startswith("# ") and name != "# col_name":
            section = name
        elif section in ("# Partition Information", "# Partitioning"):
            # Iceberg may number its partitions and say the column, or a transform of one, in the
            # place of the type.
            partitions |= {name, value} - {""} - {"# col_name", "data_type"}
        elif section == "# Detailed Table Information":
            details[name] = value
    parts = [details.get(part, "") for part in ("Catalog", "Database", "Table")]
    is_view = details.get("Type") == "VIEW"
    return TableFacts(
        provider="" if is_view else details.get("Provider", "").lower(),
        columns=columns,
        partitions=frozenset(partitions & columns.keys()),
        location=details.get("Location", ""),
        full_name=details.get("Name") or ".".join(parts),
    )


def find_table(spark: SparkSession, name: TableName) -> TableFacts | None:
    """Return the facts of a table; None if there is none."""
    try:
        described = spark.sql(f"DESCRIBE TABLE EXTENDED {name.sql}").collect()
        fields = spark.table(name.sql).schema.fields
    except PySparkException as error:
        if any(sign in str(error) for sign in _MISSING):
            return None
        first_line, *_ = str(error).strip().splitlines()
        reason = first_line.rstrip("; ")
        raise TableError(f"{name} cannot be looked up: {reason}; {_needed(spark)}") from error
    pairs = [(str(row["col_name"]), str(row["data_type"] or "")) for row in described]
    return facts_of(pairs, {field.name: field.dataType.simpleString() for field in fields})


def kind_of_catalog(spark: SparkSession, name: TableName) -> str:
    """Return the kind of table that the catalog of a name makes, "delta" or "iceberg"; "" if its
    class does not say.
    """
    known = len(name.parts) > 1 and spark.conf.get(f"spark.sql.catalog.{name.parts[0]}", None)
    catalog = name.parts[0] if known else spark.catalog.currentCatalog()
    if not known and catalog == "spark_catalog" and len(name.parts) > 2:
        raise TableError(f"the session has no catalog {name.parts[0]} for {name}; {_needed(spark)}")
    made_by = str(spark.conf.get(f"spark.sql.catalog.{catalog}", None) or "")
    if not made_by:
        raise TableError(
            f"{name} does not exist, and the session has no catalog that could create it; {_needed(spark)}"
        )
    return next((kind for kind in KINDS if kind in made_by.lower()), "")


def _needed(spark: SparkSession) -> str:
    return (
        "--into needs Delta or Iceberg in the session: its jar, its catalog and its extensions "
        "(docs/data/spark.md, A table). "
        f"{CONNECTORS}; this session is Spark {spark.version}"
    )


def create_table(name: TableName, columns: Mapping[str, str], kind: str) -> str:
    """Return the statement that creates a table of plans.

    Examples
    --------
    >>> create_table(TableName(("plans",)), {"plan_id": "string", "topic": "string"}, "delta")
    'CREATE TABLE IF NOT EXISTS `plans` (plan_id string, topic string) USING delta PARTITIONED BY (plan_id)'
    """
    listed = ", ".join(f"{column} {form}" for column, form in columns.items())
    return (
        f"CREATE TABLE IF NOT EXISTS {name.sql} ({listed}) USING {kind} PARTITIONED BY ({PLAN_ID})"
    )


def refuse_unfit(name: TableName, found: TableFacts, wanted: Mapping[str, str]) -> None:
    """Raise TableError if a table cannot take rows of these columns in one commit.

    Examples
    --------
    >>> refuse_unfit(TableName(("t",)), TableFacts("parquet", {}, frozenset(), "", "t"), {"plan_id": "string"})
    Traceback (most recent call last):
    spark_udfs.job._tables.TableError: t is a table of parquet; only Delta and Iceberg tables get a plan whole or not at all
    """
    if found.provider not in KINDS:
        what = f"a table of {found.provider}" if found.provider else "a view"
        raise TableError(
            f"{name} is {what}; only Delta and Iceberg tables get a plan whole or not at all"
        )
    wrong = [f"{column} is missing" for column in wanted if column not in found.columns]
    wrong += [
        f"{column} is not a column of the plan" for column in found.columns if column not in wanted
    ]
    for column, form in wanted.items():
        own = found.columns.get(column, form)
        if own != form:
            wrong.append(f"{column} is {own}, not {form}")
    if wrong:
        raise TableError(
            f"the columns of {name} differ from the plan: {'; '.join(wrong)}. Give another table, which is created if it "
            f"does not exist, or create one: {create_table(name, wanted, found.provider)}"
        )
    if PLAN_ID not in found.partitions:
        raise TableError(
            f"{name} is not partitioned by {PLAN_ID}, so a plan cannot be replaced there without touching further plans; "
            f"create it like this: {create_table(name, wanted, found.provider)}"
        )


def is_same(one: TableFacts, other: TableFacts) -> bool:
    """Return True if two names stand for one table."""
    if one.location and other.location:
        return plain_path(one.location) == plain_path(other.location)
    return one.full_name.lower() == other.full_name.lower()


def plain_path(location: str) -> str:
    """Return a location in the one form by which two can be compared.

    Examples
    --------
    >>> plain_path("file:///plans/") == plain_path("/plans") == plain_path("file:/plans")
    True
    """
    return re.sub(r"^file:/*", "/", location).rstrip("/")
