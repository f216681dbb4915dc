"""Options that reach a running cluster, and the snapshot that they take of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqalloc.cli._choices import Command, bundle, is_given
from rmqalloc.cli._environment import CONTEXT
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import ChangingLine, say, tell
from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.text import counted

if TYPE_CHECKING:
    from rmqalloc.snapshot.snapshot import Snapshot


@dataclass(frozen=True)
class Live:
    """How a cluster is reached, by the options and the context; only files of keys are named, never
    keys.

    Attributes
    ----------
    name_server : str or None
        ``host:port;host:port``; without it the environment's NAMESRV_ADDR counts.
    acl_file, tls_ca, tls_cert, tls_key : str or None
        Paths.
    acl_address : str or None
        Brokers that are signed for.
    tls, tls_insecure : bool
    timeout : float
        Seconds that an answer may take.
    parallel : int
        Requests under way at one server at most.
    lag, running_info : bool
        Whether offsets are asked, and what every client owns.
    deadline : float or None
        Limit for reading everything, in seconds; parts not read by then are missing.
    context : str or None
        Name of the context that was asked for.
    is_quiet : bool
        Whether nothing is printed on standard error, neither how far it is nor what was found: it
        was looked before.
    """

    name_server: str | None = None
    acl_file: str | None = None
    acl_address: str | None = None
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_insecure: bool = False
    timeout: float = 5.0
    parallel: int = 4
    lag: bool = True
    running_info: bool = True
    deadline: float | None = None
    context: str | None = None
    is_quiet: bool = False

    @property
    def servers(self) -> str:
        """The name servers as text, empty if none is named."""
        return self.name_server or os.environ.get("NAMESRV_ADDR", "")

    def reached(self) -> Reached:
        """Return how the cluster is reached that the options, the environment or the context in use
        name.
        """
        from rmqalloc.cli._contexts import chosen, config_folder, in_use

        name = self.context if self.name_server is None else None
        if name is None and not self.servers:
            name = in_use()
            if name is not None:
                tell("note", f"cluster of the context {name}, selected by rmqalloc context use")
        if name is None:
            return Reached(self)
        found = chosen(name)
        given = {
            one: value for one, value in found.options(config_folder()).items() if not is_given(one)
        }
        return Reached(replace(self, **given), found.groups, found.topics)

    def how(self) -> dict[str, Any]:
        """Return arguments of `rmqalloc.fetch`."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("name_server", "context", "is_quiet")
        }


class Reached(NamedTuple):
    """A cluster, and what is looked at there where the options name nothing."""

    live: Live
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


_FILE = click.Path(exists=True, dir_okay=False)
_OPTIONS = (
    option("tls"),
    option("acl-file", type=_FILE),
    option("context"),
    option("name-server"),
)


def _live(name_server: str | None, context: str | None, acl_file: str | None, tls: bool) -> Live:
    if context is not None and name_server is not None:
        raise click.UsageError("--context and -n both name a cluster; give only one of them")
    return Live(name_server, acl_file, tls=tls, context=context or os.environ.get(CONTEXT) or None)


def live_options(command: Command) -> Command:
    """Add the options that reach a running cluster; the command gets them as one argument,
    ``live``.
    """

    return bundle("live", _live, _OPTIONS, command)


def check_servers(live: Live) -> None:
    """Refuse addresses that are none, and a key without its certificate."""
    from rmqalloc.remoting.client import name_servers
    from rmqalloc.remoting.signed_servers import SignedServers

    if live.tls_key and not live.tls_cert:
        raise click.UsageError("tls_key needs a certificate: give tls_cert as well")
    try:
        SignedServers(name_servers(live.servers), live.acl_address or "")
    except ArgumentError as error:
        raise click.UsageError(str(error)) from error


def live_snapshot(live: Live, groups: tuple[str, ...], topics: tuple[str, ...]) -> Snapshot:
    """Return a snapshot of the running cluster that the options name; how far it is and what it
    holds go to standard error.
    """
    import rmqalloc
    from rmqalloc.remoting import RemotingError, ResponseError

    check_servers(live)
    progress = _Answers(0.1, live.is_quiet)
    try:
        with _told_warnings(live.is_quiet):
            snapshot = rmqalloc.fetch(
                live.servers, groups, topics, on_progress=progress, **live.how()
            )
    except (RemotingError, ResponseError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        progress.clear()
    _tell_unmatched(snapshot, groups, topics)
    if live.is_quiet:
        return snapshot
    _tell_of_slaves(snapshot)
    n_clients = sum(len(group.clients) for group in snapshot.groups)
    say(
        f"{counted(len(snapshot.topics), 'topic')}, {counted(len(snapshot.groups), 'group')} with "
        f"{counted(n_clients, 'client')}: {counted(progress.answered, 'answer')} in "
        f"{progress.seconds:.2f} s",
        err=True,
    )
    return snapshot


@contextmanager
def _told_warnings(is_quiet: bool) -> Iterator[None]:
    """Tell warnings in the way of the command line while the block runs; none if it was told
    before.
    """

    def show(message: Warning | str, *_where: Any, **_more: Any) -> None:
        if not is_quiet:
            tell("warning", str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _tell_unmatched(snapshot: Snapshot, groups: tuple[str, ...], topics: tuple[str, ...]) -> None:
    """Tell of a pattern that matches nothing of a cluster which could be read only in part."""
    from rmqalloc.snapshot.live.fetching import check_matches
    from rmqalloc.snapshot.matching import NoMatchError

    try:
        check_matches(snapshot, groups, topics)
    except NoMatchError as error:
        tell("note", f"{error} in the part of the cluster that could be read")


def _tell_of_slaves(snapshot: Snapshot) -> None:
    """Tell of brokers without a master."""
    for broker in snapshot.brokers:
        if broker.role != "MASTER":
            acts = ", which acts as master" if broker.role == "ACTING_MASTER" else ""
            tell(
                "note",
                f"broker {broker.broker_name} has no master; its slave "
                f"{broker.address}{acts}, was read",
            )


class _Answers(ChangingLine):
    """Requests answered."""

    answered = 0

    def __call__(self, answered: int, known: int) -> None:
        self.answered = answered
        self.put(f"{answered:,} of {known:,} answers")
