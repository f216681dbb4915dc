"""Looking at a running cluster again: faults that last, and what becomes of them."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

import click

from rmqalloc.cli._sink import ChangingLine, say
from rmqalloc.errors import Error
from rmqalloc.results.wrapping import line_width
from rmqalloc.text import counted, printable

if TYPE_CHECKING:
    from rmqalloc.audit import Finding
    from rmqalloc.watching import RaisedFindings
    from rmqalloc.watching.webhook import Webhook

Look = Callable[[], Sequence["Finding"]]


class Looking(Protocol):
    """What is looked at, and how findings are shown."""

    @property
    def cluster(self) -> str:
        """Its name for people."""

    def look(self) -> Sequence[Finding]:
        """Return what is wrong now."""

    def lacks(self) -> frozenset[Hashable]:
        """Return what could not be read at the last look."""

    def grave(self, findings: Iterable[Finding]) -> Sequence[Finding]:
        """Return findings that are grave enough to be shown."""

    def show(self, findings: Sequence[Finding]) -> None:
        """Print findings."""


def settled(look: Look, settle: float) -> Sequence[Finding]:
    """Return findings that are there still after ``settle`` seconds; it is looked again only if
    there is one.
    """
    from rmqalloc.watching import lasting

    first = look()
    if not first or not settle:
        return first
    time.sleep(settle)
    return lasting(first, look())


def watch(looking: Looking, settle: float, webhook: Webhook | None = None) -> NoReturn:
    """Look every ``settle`` seconds, until interrupted, and show what is raised and cleared; a
    webhook is sent it, too.

    A group that does not exist yet is waited for. A cluster that cannot be reached for a while is
    reported and asked again; at the first look it is an error.
    """
    from rmqalloc.watching import RaisedFindings

    status, raised = _Status(looking.cluster), RaisedFindings()
    try:
        while True:
            said = _looked(looking, raised, status, webhook)
            gc.collect()  # cycles of the look count as old, of which Python would look for some once in hours
            _tell_notes(webhook, status)
            status.stand(said)
            time.sleep(settle)
    finally:
        status.clear()
        if webhook is not None:
            webhook.close()
            _tell_notes(webhook, status)


def _tell_notes(webhook: Webhook | None, status: _Status) -> None:
    """Say what a webhook could not send."""
    for note in () if webhook is None else webhook.notes():
        status.line(f"webhook  {note}")


def _looked(
    looking: Looking, raised: RaisedFindings, status: _Status, webhook: Webhook | None
) -> str:
    """Look once; what is to be said of it in a few words."""
    from rmqalloc.snapshot.matching import NoMatchError

    try:
        now = looking.look()
    except (click.ClickException, Error) as error:
        if not raised.n_looks and not isinstance(error, NoMatchError):
            raise
        return f"{error}; looked for again"
    changes = raised.after(now, looking.lacks(), looking.grave)
    if webhook is not None:
        webhook.after(changes.raised, changes.cleared)
    for one in changes.cleared:
        status.line(f"cleared  {_told(one)}")
    for one in (
        changes.raised
    ):  # that of a new client's queues is raised again, graver, once it had time to take them
        status.line(f"raised   {_told(one)}")
    if raised.n_looks == 2 or (raised.n_looks > 2 and any(changes)):
        status.clear()
        looking.show(tuple(raised))
    if raised.n_looks < 2:
        return f"{counted(len(now), 'finding')} at first, looked at again"
    lacks = (
        f", {counted(len(looking.lacks()), 'request')} without an answer" if looking.lacks() else ""
    )
    return counted(len(raised), "lasting finding") + lacks


class _Status(ChangingLine):
    """How things stand: a changing line under the lines that stay; elsewhere a line whenever it
    says something else.
    """

    def __init__(self, cluster: str) -> None:
        super().__init__()
        self._cluster, self._said = cluster, ""

    def stand(self, said: str) -> None:
        """Say how things stand."""
        if self.on_terminal:
            self.clear()
            say(self._stamped(said)[: line_width(sys.stderr) - 1], err=True, end="")
        elif said != self._said:
            self.line(said)
        self._said = said

    def line(self, text: str) -> None:
        """Say something that stays."""
        self.clear()
        say(self._stamped(text), err=True)

    def _stamped(self, text: str) -> str:
        return (
            f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {printable(self._cluster)}  {printable(text)}"
        )


def _told(one: Finding) -> str:
    """Return a finding in one line."""
    where = " ".join(part for part in (one.consumer_group, one.topic) if part)
    return f"{one.severity} {one.rule} {where}: {one.message}"
