"""The units of a job: what pins them, and how workers come to them."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.parquet_plan import refuse_schema
from rmqalloc.evaluation.unit_files import Piece, cut
from rmqalloc.text import harmless
from spark_udfs.job import _versions as versions
from spark_udfs.job._on_worker import tasks_at_once
from spark_udfs.job._plan_kernels import ReadPieces
from spark_udfs.job._sources import FoundFiles, UnitSource, content, found_files, identity, parsed
from spark_udfs.map_in_arrow import ddl
from spark_udfs.sent import Sent
from spark_udfs.transforms import checked_units

TASKS_PER_PROCESSOR = 8
"""Fewest tasks that read files, per processor: each costs some 35 ms, but with too few the last ones keep processors idle."""

_TASK_BYTES = 1 << 20
"""Parquet bytes of a task at least: some 20,000 units, which are planned and written in half a second."""

Source = UnitSource | DataFrame | str


def say(line: str) -> None:
    """Print a line about the job to standard error, harmless to a terminal."""
    print(harmless(line), file=sys.stderr)


class PinnedUnits(Protocol):
    """Units of one state of a source."""

    @property
    def identity(self) -> Any:
        """Return plain data that no other state has."""

    @property
    def are_files(self) -> bool:
        """Return whether workers read them by themselves."""

    def files(self) -> list[str]:
        """Return the paths or URIs of the files that are read, as far as there are such."""

    def through(self, kernel: Any) -> DataFrame:
        """Run a kernel over all units, in workers."""

    def is_changed(self) -> bool:
        """Return whether the source is in another state now, so that something else may have been
        read.
        """


def units_of(spark: SparkSession, source: Source, in_workers: bool | None) -> PinnedUnits:
    """Return the units of a source: workers read Parquet files by themselves where they can and
    nobody forbids it.
    """
    if isinstance(source, DataFrame):
        return _FrameUnits(source)
    source = UnitSource(source) if isinstance(source, str) else source
    found = None if in_workers is False else found_files(source, spark)
    if found is not None and found.scheme:
        return _FileUnits(spark, found)
    if in_workers:
        raise ArgumentError(
            f"workers read {source} by themselves only if it is Parquet in a directory that each worker sees, a path on "
            "one machine or file:/... on a shared file system, and without options; omit --file-job"
        )
    if in_workers is None and source.format == "parquet" and not source.table:
        line = f"rows go through Spark's JVM: {source} is not a directory that every worker sees"
        if source.options:
            line = f"rows go through Spark's JVM: {source} is read with options of Spark's reader"
        say(line)
    files = identity(source, spark)  # first, so that nothing is read that it does not know
    frame = source.read(spark)
    pin = versions.pin(spark, source.table, source.path, source.format, source.options)
    if pin is not None:
        return _VersionUnits(pin)
    frame = frame if source.is_parquet else parsed(frame)
    return _FrameUnits(frame, files, lambda: identity(source, spark))


class _FileUnits(NamedTuple):
    """Parquet files that workers read by themselves; whoever reads one sees whether it has changed
    since it was listed.
    """

    spark: SparkSession
    found: FoundFiles

    @property
    def identity(self) -> Any:
        return ["files", [list(file[:3]) for file in self.found.files]]

    @property
    def are_files(self) -> bool:
        return True

    def files(self) -> list[str]:
        return [file.path for file in self.found.files]

    def through(self, kernel: Any) -> DataFrame:
        refuse_schema(self.found.schema, kernel.spec)
        n_bytes = sum(file.n_bytes for file in self.found.files)
        most = 1 + n_bytes // _TASK_BYTES
        at_least = min(most, TASKS_PER_PROCESSOR * tasks_at_once(self.spark)) if most > 1 else 1
        pieces: Sequence[Sequence[Piece]] = cut(self.found.files, at_least)
        numbers = self.spark.range(0, len(pieces), 1, max(len(pieces), 1))
        return numbers.mapInArrow(
            Sent(ReadPieces(kernel, pieces, self.found.schema)), ddl(kernel.schema)
        )

    def is_changed(self) -> bool:
        return False


class _VersionUnits(NamedTuple):
    """One version of a table, which nothing changes."""

    pin: versions.Pin

    @property
    def identity(self) -> Any:
        return ["version", self.pin.identity]

    @property
    def are_files(self) -> bool:
        return False

    def files(self) -> list[str]:
        return _input_files(self.pin.read())

    def through(self, kernel: Any) -> DataFrame:
        return _through(parsed(self.pin.read()), kernel)

    def is_changed(self) -> bool:
        return bool(
            self.pin.now() != self.pin.identity
        )  # dropped, and created again under its name


class _FrameUnits:
    """Anything else: known by its files, or if there are none by a digest of all rows, and looked
    at again afterwards.
    """

    def __init__(
        self, frame: DataFrame, files: Any = None, listed: Callable[[], Any] = lambda: None
    ) -> None:
        self._frame, self._listed = frame, listed
        self._first = self._known_by(files)

    @property
    def identity(self) -> Any:
        return self._first

    def _known_by(self, files: Any) -> Any:
        if files:
            return ["files", files]
        row = self._frame.select(*content(self._frame)).first()
        assert row is not None
        return ["rows", {name: str(value) for name, value in row.asDict().items()}]

    @property
    def are_files(self) -> bool:
        return False

    def files(self) -> list[str]:
        return _input_files(self._frame)

    def through(self, kernel: Any) -> DataFrame:
        return _through(self._frame, kernel)

    def is_changed(self) -> bool:
        return bool(self._known_by(self._listed()) != self._first)


def _input_files(frame: DataFrame) -> list[str]:
    """Return the URIs of a table's files; those of stores encode nothing, as Hadoop has them."""
    names = frame.inputFiles()
    return [name if name.startswith("file:") else unquote(name) for name in names]


def _through(units: DataFrame, kernel: Any) -> DataFrame:
    units, read = checked_units(units, kernel.spec)
    return units.select(read).mapInArrow(Sent(kernel), ddl(kernel.schema))
