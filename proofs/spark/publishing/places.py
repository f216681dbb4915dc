"""Where plans are written, and what a reader without the job finds there."""

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import random_units as units
import spark_releases
from pyarrow import fs as pafs

from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from spark_udfs.job._plan_directory import PARTS

N_FILES, ROWS = 24, 20
"""Of the input: so many files that the deletion and the commit of a plan take a while."""

OLD, NEW = "AVG_BY_CIRCLE", "AVG"
"""The plan that is there before, and the one that a killed driver writes."""

Names = frozenset[str]
Rows = Counter[tuple[str, str, str]]
"""How often a reader finds each row: plan, group, topic."""


class Moment(NamedTuple):
    """A part of a run in which its driver is killed, by the names of the files that are there."""

    name: str
    began: Callable[[Names, Names], bool]  # given the names before the run and now
    ended: Callable[[Names, Names], bool]
    is_beside_a_plan: bool = False  # another plan is there before; in a directory it is overwritten


def _at_once(_before: Names, _now: Names) -> bool:
    return True


def _parts(names: Names) -> Names:
    return frozenset(name for name in names if name.startswith("part-"))


def _is_complete(before: Names, now: Names) -> bool:
    return "_SUCCESS" in now and not _parts(before) & _parts(now)


def _is_staged(_before: Names, now: Names) -> bool:
    return any(name.startswith(PARTS) for name in now)


def units_in(n_files: int) -> frozenset[tuple[str, str]]:
    """Return group and topic of each unit of an input."""
    return frozenset((f"g{file}-{row}", "T") for file in range(n_files) for row in range(ROWS))


class Directory:
    """Directories of plans on a disk or in a store."""

    release = [*spark_releases.RELEASES][-1]
    moments = (
        Moment("at any moment", _at_once, _is_complete),
        Moment("while parts are written and committed", _is_staged, _is_complete),
        Moment(
            "during the deletion of --overwrite",
            lambda _, now: "_SUCCESS" not in now,
            lambda before, now: not _parts(before) & now,
            is_beside_a_plan=True,
        ),
    )

    def __init__(
        self,
        name: str,
        files: pafs.FileSystem,
        root: str,
        uri: str,
        settings: dict[str, str],
        n_files: int = N_FILES,
    ) -> None:
        self.name, self.settings, self.wanted = name, settings, units_in(n_files)
        self._files, self._root, self._uri = files, root, uri
        self._numbers = itertools.count()
        self.source = f"{uri}/fleet"
        files.create_dir(f"{root}/fleet")
        for number in range(n_files):
            rows = [
                units.row(f"g{number}-{one}", client_ids=["a", "b"] if one else [])
                for one in range(ROWS)
            ]
            table = pa.Table.from_pylist(rows, schema=FLEET_SCHEMA)
            pq.write_table(table, f"{root}/fleet/part-{number:03d}.parquet", filesystem=files)

    def target(self) -> dict[str, str]:
        """Return a place for a plan, as the job is given it."""
        return {"out": f"{self._uri}/out-{next(self._numbers)}"}

    def names(self, target: dict[str, str]) -> Names:
        """List what is in a target; what comes or goes meanwhile may be missed."""
        try:
            found = self._files.get_file_info(
                pafs.FileSelector(self._path(target), allow_not_found=True)
            )
        except FileNotFoundError:  # it is being made
            found = []
        return frozenset(one.base_name for one in found)

    def look(self, target: dict[str, str], _ask: object = None) -> Rows:
        """Return the rows of a plan that is complete all the time of the look, else none."""
        before = self.success(target)
        if before is None:
            return Counter()
        columns = ["plan_id", "consumer_group", "topic"]
        try:
            plan = ds.dataset(
                self._path(target), format="parquet", filesystem=self._files
            ).to_table(columns=columns)
            rows = Counter(tuple(row.values()) for row in plan.to_pylist())
        except (OSError, pa.ArrowInvalid) as error:  # files went, came, or are no Parquet
            rows = Counter({(str(error), "", ""): 1})
        return rows if self.success(target) == before else Counter()

    def unclaim(self, target: dict[str, str]) -> None:
        """Remove a claim, as people do who know that its writer is dead."""
        self._files.delete_file(f"{self._path(target)}/_rmqalloc_claim.json")

    def _path(self, target: dict[str, str]) -> str:
        return self._root + target["out"].removeprefix(self._uri)

    def success(self, target: dict[str, str]) -> bytes | None:
        """Return what says that a plan is complete; that of no other run is equal."""
        try:
            with self._files.open_input_stream(f"{self._path(target)}/_SUCCESS") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None


def disk(where: Path, n_files: int = N_FILES) -> Directory:
    """Return directories on a disk, and an input of so many files."""
    return Directory("disk", pafs.LocalFileSystem(), str(where), str(where), {}, n_files)


def _wrote_most(before: Names, now: Names) -> bool:
    return sum(name.endswith(".parquet") for name in now - before) > 0.8 * N_FILES


def _committed(before: Names, now: Names) -> bool:
    logs = {name for name in now - before if "_delta_log/" in name or "metadata/v" in name}
    return any(name.endswith(("metadata.json", ".json")) and "/." not in name for name in logs)


class Tables:
    """Tables of Delta or Iceberg on Spark 4.1, for which both are published."""

    release = "4.1"
    moments = (
        Moment("at any moment", _at_once, _committed, is_beside_a_plan=True),
        Moment("during the commit", _wrote_most, _committed, is_beside_a_plan=True),
    )

    def __init__(self, kind: str, where: Path) -> None:
        self.name, self._where = kind.capitalize(), where
        self.settings = spark_releases.settings(self.release, kind, warehouse=where)
        self._catalog = "default" if kind == "delta" else "ice.db"
        self._home = where / "spark" if kind == "delta" else where / "ice" / "db"
        self._numbers = itertools.count()
        self.source = disk(where).source

    def target(self) -> dict[str, str]:
        """Return a table's name, as the job is given it."""
        return {"into": f"{self._catalog}.t{next(self._numbers)}"}

    def names(self, target: dict[str, str]) -> Names:
        """List the files of a table."""
        return frozenset(map(str, self._files(self._home / target["into"].rpartition(".")[2])))

    def look(self, target: dict[str, str], ask: Callable[..., Any]) -> Rows:
        """Return the rows of all plans in a table, as a session finds them."""
        found = ask("rows", table=target["into"])
        return Counter({tuple(row[:3]): row[3] for row in found or []})

    def unclaim(self, _target: dict[str, str]) -> None:
        """Fail: a table has no claims."""
        raise AssertionError("a writer of a table was refused by a claim")

    def _files(self, home: Path) -> Iterator[Path]:
        for folder, _, names in os.walk(home):
            yield from (Path(folder, name).relative_to(home) for name in names)


Place = Directory | Tables
