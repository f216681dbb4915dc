"""Clusters by name: ``config.yaml`` in the folder ``rmqalloc`` of the user's configuration, and
which of them is in use.

::

    contexts:
      production:
        name_servers: 10.0.0.1:9876;10.0.0.2:9876
        acl_file: ~/rocketmq/tools.yml
        groups: [order-*]

Which context counts: ``--context``, then RMQALLOC_CONTEXT, then the one that ``rmqalloc context
use`` has noted beside that file, unless NAMESRV_ADDR names a cluster. With ``-f`` or ``-n`` none
does, so that keys never go to other servers than those they are for. The file holds no secrets: it
names files that do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Annotated, Any

import click

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import DocumentError, read_document
from rmqalloc.documents.fields import Duration, FieldError, Number, Text, Texts, Whole
from rmqalloc.documents.records import MappingOf, Maybe, document_schema, record
from rmqalloc.documents.store import write_file
from rmqalloc.results.and_more import named
from rmqalloc.text import did_you_mean

__all__ = [
    "Context",
    "ContextError",
    "chosen",
    "config_folder",
    "config_schema",
    "contexts",
    "in_use",
    "use",
]

_FILE, _IN_USE = "config.yaml", "context"
_PATHS = ("acl_file", "tls_ca", "tls_cert", "tls_key")


class ContextError(DocumentError):
    """The file of contexts cannot be read as one."""


@dataclass(frozen=True)
class Context:
    """How to reach one cluster.

    Attributes
    ----------
    name_servers : str
        ``host:port;host:port``.
    acl_file, acl_address, tls_ca, tls_cert, tls_key : str or None
        Paths are absolute, or relative to the folder of the file; ``~`` is the home directory.
    tls, tls_insecure : bool or None
    timeout : float or None
        Seconds for an answer.
    deadline : int or None
        Time for reading a running cluster, in milliseconds.
    parallel : int or None
        Most requests at a server.
    lag, running_info : bool or None
        Whether to ask how far every queue has been consumed, and every client what it owns.
    groups, topics : tuple of str
        Patterns that count where none is given.
    """

    name_servers: Annotated[str, Text()]
    acl_file: Annotated[str | None, Maybe(Text())] = None
    acl_address: Annotated[str | None, Maybe(Text())] = None
    tls: bool | None = None
    tls_insecure: bool | None = None
    tls_ca: Annotated[str | None, Maybe(Text())] = None
    tls_cert: Annotated[str | None, Maybe(Text())] = None
    tls_key: Annotated[str | None, Maybe(Text())] = None
    timeout: Annotated[float | None, Maybe(Number(0.1))] = None
    deadline: Annotated[int | None, Maybe(Duration(1))] = None
    parallel: Annotated[int | None, Maybe(Whole(1, 64))] = None
    lag: bool | None = None
    running_info: bool | None = None
    groups: Annotated[tuple[str, ...], Texts()] = ()
    topics: Annotated[tuple[str, ...], Texts()] = ()

    def options(self, folder: Path) -> dict[str, Any]:
        """Return the options that the context sets, by the names of their parameters."""
        given = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in ("groups", "topics")
        }
        given["name_server"] = given.pop("name_servers")
        given |= {
            name: str(folder / Path(given[name]).expanduser())
            for name in _PATHS
            if given[name] is not None
        }
        if self.deadline is not None:
            given["deadline"] = self.deadline / 1000
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class _Config:
    """What the file holds."""

    contexts: Annotated[Mapping[str, Context], MappingOf(record(Context))] = field(
        default_factory=dict
    )


def config_folder() -> Path:
    """Return the folder of the configuration, as the XDG Base Directory Specification names it."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(base if os.path.isabs(base) else Path.home() / ".config") / "rmqalloc"


def contexts() -> dict[str, Context]:
    """Return all contexts by name; none without a file."""
    try:
        document = read_document(config_folder() / _FILE, ContextError)
    except FileNotFoundError:
        return {}
    try:
        found: _Config = record(_Config).read(document.data)
    except FieldError as error:
        raise document.located(error) from None
    return dict(found.contexts)


def in_use() -> str | None:
    """Return the name of the context that `use` has noted, None for none."""
    try:
        text = (config_folder() / _IN_USE).read_text(encoding="utf-8", errors="backslashreplace")
    except FileNotFoundError:
        return None
    return text.strip() or None


def use(name: str) -> None:
    """Note a context as the one in use."""
    chosen(name)
    write_file(config_folder() / _IN_USE, f"{name}\n")


def chosen(name: str) -> Context:
    """Return a context by name; none of that name is wrong usage."""
    found = contexts()
    if name not in found:
        path = config_folder() / _FILE
        known = (
            f"{path} has {named(list(found))}{did_you_mean(name, found)}"
            if found
            else f"{path} lists no context"
        )
        raise click.UsageError(f"there is no context {name!r}; {known}")
    return found[name]


def config_schema() -> dict[str, Any]:
    """Return JSON Schema of the file of contexts.

    Examples
    --------
    >>> sorted(config_schema()["properties"])
    ['$schema', 'contexts']
    """
    return document_schema("Clusters by name", record(_Config).schema())
