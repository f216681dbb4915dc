"""Options that reach a running cluster, and the snapshot that they take of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from rmqalloc.cli._choices import Amount, Command, Count, bundle, seconds
from rmqalloc.cli._sink import ChangingLine, say, tell
from rmqalloc.errors import ArgumentError

if TYPE_CHECKING:
    from rmqalloc.snapshot.snapshot import Snapshot


CONTEXT = "RMQALLOC_CONTEXT"
"""The variable that names a context."""


@dataclass(frozen=True)
class Live:
    """Options of `live_options` as given; only files of keys are named, never keys.

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
        Seconds that reading everything may take; what is not read by then is missing.
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
                tell(
                    "note", f"cluster of the context {name}, which rmqalloc context use has chosen"
                )
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


def is_given(name: str) -> bool:
    """Return whether an option is given, on the command line or by its variable."""
    return click.get_current_context().get_parameter_source(name) in (
        ParameterSource.COMMANDLINE,
        ParameterSource.ENVIRONMENT,
    )


def is_typed(name: str) -> bool:
    """Return whether an option is given on the command line, not by its variable."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


_FILE = click.Path(exists=True, dir_okay=False)
_OPTIONS = (
    click.option(
        "--running-info/--no-running-info",
        default=True,
        help="Ask every client which queues it owns.",
    ),
    click.option("--lag/--no-lag", default=True, help="Ask how far every queue has been consumed."),
    click.option(
        "--parallel",
        type=Count(1, 64),
        default=4,
        show_default=True,
        help="Most requests at a server.",
    ),
    click.option(
        "--deadline",
        callback=seconds,
        metavar="TIME",
        help="Time for reading a running cluster, such as 30s; what is not read by then is missing (exit code 4).",
    ),
    click.option(
        "--timeout",
        type=Amount(0.1, 600),
        default=5,
        show_default=True,
        help="Seconds for an answer.",
    ),
    click.option(
        "--tls-insecure", is_flag=True, help="Speak TLS with anybody: do not verify the server."
    ),
    click.option("--tls-key", type=_FILE, help="Key of --tls-cert, if it is not in there."),
    click.option("--tls-cert", type=_FILE, help="The client's own certificate (PEM), with TLS."),
    click.option(
        "--tls-ca",
        type=_FILE,
        help="Certificates to trust (PEM), with TLS; the system's by default.",
    ),
    click.option("--tls", is_flag=True, help="Speak TLS; every option of it implies it."),
    click.option(
        "--acl-address",
        metavar="HOST[:PORT][;...]",
        help="Brokers to sign requests for, also as a network (10.0.0.0/16); by default those on hosts of name servers, and "
        "with TLS that verifies all.",
    ),
    click.option(
        "--acl-file",
        type=_FILE,
        help="File with accessKey and secretKey, as RocketMQ's tools.yml; else RMQALLOC_ACCESS_KEY and "
        "RMQALLOC_SECRET_KEY of the environment.",
    ),
    click.option(
        "--context",
        metavar="NAME",
        help=f"A cluster of config.yaml (`rmqalloc context list`) instead of -n; {CONTEXT} of the environment by default.",
    ),
    click.option(
        "-n",
        "--name-server",
        metavar="HOST:PORT[;...]",
        help="Name servers of a running cluster, which is only read; NAMESRV_ADDR of the environment by default.",
    ),
)


def _live(context: str | None = None, **given: Any) -> Live:
    if context is not None and given["name_server"] is not None:
        raise click.UsageError("--context and -n each name a cluster; give one of them")
    return Live(context=context or os.environ.get(CONTEXT) or None, **given)


def live_options(command: Command) -> Command:
    """Add the options that reach a running cluster; the command gets them as one argument,
    ``live``.
    """

    return bundle("live", _live, _OPTIONS, command, [one.name for one in fields(Live)])


def check_servers(live: Live) -> None:
    """Refuse addresses that are none, and a key without its certificate."""
    from rmqalloc.remoting.client import name_servers
    from rmqalloc.remoting.signed_servers import SignedServers

    if live.tls_key and not live.tls_cert:
        raise click.UsageError("--tls-key is the key of a certificate; give it with --tls-cert")
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
        f"{len(snapshot.topics):,} topics, {len(snapshot.groups):,} groups with {n_clients:,} clients: "
        f"{progress.answered:,} answers in {progress.seconds:.2f} s",
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
        tell("note", f"{error}, of what could be read")


def _tell_of_slaves(snapshot: Snapshot) -> None:
    """Tell of brokers without a master."""
    for broker in snapshot.brokers:
        if broker.role != "MASTER":
            acts = ", which stands in for it" if broker.role == "ACTING_MASTER" else ""
            tell(
                "note",
                f"broker {broker.broker_name} has no master; its slave {broker.address}{acts}, was asked",
            )


class _Answers(ChangingLine):
    """Requests answered."""

    answered = 0

    def __call__(self, answered: int, known: int) -> None:
        self.answered = answered
        self.put(f"{answered:,} of {known:,} answers")
