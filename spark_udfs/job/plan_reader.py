"""Complete plans for readers without Spark: their files, by which pyarrow, pandas, Polars and DuckDB read them. No pyspark."""

import os
from typing import Any

import pyarrow.fs as pafs

from spark_udfs.job import _published as manifests

TRIES = 5
"""How often a folder is listed whose folders come and go meanwhile."""


class ArrowFiles:
    """The part of `Storage` that readers need, on any file system of pyarrow."""

    def __init__(self, system: Any, root: str) -> None:
        self.system, self.root = system, root.rstrip("/")

    def texts(self, folder: str) -> dict[str, str]:
        """Read the texts in a folder by name; one that Spark wrote is a folder with one file in it."""
        texts: dict[str, str] = {}
        for path in self._files(folder):
            name, _, part = path.partition("/")
            if not any(one[:1] in ("_", ".") for one in (name, part)):
                with self.system.open_input_stream(f"{self.root}/{folder}/{path}") as file:
                    texts[name] = file.read().decode(errors="replace")
        return texts

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the bytes of all files below a folder by name, without the marks of Spark's writers."""
        found = self.infos(f"{self.root}/{folder}")
        return {one.path[len(self.root) + 1 :]: one.size for one in found if one.base_name[:1] not in ("_", ".")}

    def _files(self, folder: str) -> list[str]:
        """Return the names of all files below a folder."""
        where = f"{self.root}/{folder}"
        return sorted(one.path[len(where) + 1 :] for one in self.infos(where))

    def infos(self, path: str) -> list[Any]:
        """Return all files below a path."""
        selector = pafs.FileSelector(path, allow_not_found=True, recursive=True)
        for tries_left in reversed(range(TRIES)):
            try:
                selected = self.system.get_file_info(selector)
                break
            except FileNotFoundError:  # a folder that came or went while it was listed
                if not tries_left:
                    raise
        return [one for one in selected if one.type == pafs.FileType.File]


def manifest_of(target: str | os.PathLike[str], plan_id: str | None = None, filesystem: Any = None) -> dict[str, Any]:
    """Return the manifest of a complete plan; for arguments and errors see `files_of_plan`."""
    return _found(target, plan_id, filesystem)[0]


def files_of_plan(
    target: str | os.PathLike[str], plan_id: str | None = None, *, quarantine: bool = False, filesystem: Any = None
) -> list[str]:
    """Return all files of a complete plan, whatever is being written at the time.

    Parameters
    ----------
    target : path or str
        Output directory of the job: a path, or a URI that pyarrow knows, such as ``s3://bucket/plans``.
    plan_id : str, optional
        Which plan; by default the only one.
    quarantine : bool
        Those of its bad rows instead; there may be none.
    filesystem : pyarrow.fs.FileSystem, optional
        Where ``target`` is a path of, for object stores with settings of their own.

    Returns
    -------
    list of str
        Paths in the order of the input; on other file systems, in their notation.

    Raises
    ------
    spark_udfs.job._published.PlanNotFoundError
        There is no such plan, or more than one and none was given.

    Examples
    --------
    >>> import duckdb  # doctest: +SKIP
    >>> duckdb.read_parquet(files_of_plan("plans")).aggregate("sum(unowned)")  # doctest: +SKIP
    """
    manifest, root = _found(target, plan_id, filesystem)
    return [f"{root}/{name}" for name in manifests.files_in(manifest, "quarantine" if quarantine else "files")]


def _found(target: str | os.PathLike[str], plan_id: str | None, filesystem: Any) -> tuple[dict[str, Any], str]:
    """Return a manifest, and the output directory as its file system has it."""
    where = os.fspath(target)
    if filesystem is None and "://" not in where and not where.startswith("file:"):
        filesystem, where = pafs.LocalFileSystem(), os.path.abspath(where)
    elif filesystem is None:
        filesystem, where = pafs.FileSystem.from_uri(where)
    storage = ArrowFiles(filesystem, where)
    wanted = manifests.choose_plan(manifests.plans_in(storage), plan_id, os.fspath(target))
    manifest = manifests.manifest_in(storage, wanted)
    assert manifest is not None, "a complete plan stays complete"
    return manifest, storage.root
