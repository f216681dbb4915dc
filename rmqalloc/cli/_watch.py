"""Looking at a running cluster again: faults that last, and what becomes of them."""

from __future__ import annotations

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


def lasting(before: Iterable[Finding], now: Iterable[Finding]) -> Sequence[Finding]:
    """Return findings of now that were there before: the same fault of the same queues and clients.

    While a group rebalances, for seconds after every change of its clients, other queues have no owner or two at every look.
    """
    seen = set(map(_fault, before))
    return tuple(one for one in now if _fault(one) in seen)


def settled(look: Look, settle: float) -> Sequence[Finding]:
    """Return findings that are there still after ``settle`` seconds; it is looked again only if there is one."""
    first = look()
    if not first or not settle:
        return first
    time.sleep(settle)
    return lasting(first, look())


def watch(looking: Looking, settle: float) -> NoReturn:
    """Look every ``settle`` seconds, until interrupted, and show what is raised and cleared.

    A group that does not exist yet is waited for. A cluster that cannot be reached for a while is reported and asked again; at
    the first look it is an error.
    """
    status, raised = _Status(looking.cluster), _Raised(looking)
    try:
        while True:
            said = _looked(looking, raised, status)
            status.stand(said)
            time.sleep(settle)
    finally:
        status.clear()


def _looked(looking: Looking, raised: _Raised, status: _Status) -> str:
    """Look once; what is to be said of it in a few words."""
    from rmqalloc.snapshot.matching import NoMatchError

    try:
        now = looking.look()
    except (click.ClickException, Error) as error:
        if raised.is_first and not isinstance(error, NoMatchError):
            raise
        return f"{error}; looked for again"
    changes, findings = raised.after(now)
    for line in changes:
        status.line(line)
    if findings is not None:
        status.clear()
        looking.show(findings)
    if raised.n_looks < 2:
        return f"{counted(len(now), 'finding')} at first, looked at again"
    lacks = f", {counted(len(looking.lacks()), 'request')} without an answer" if looking.lacks() else ""
    return counted(len(raised), "lasting finding") + lacks


class _Raised:
    """Findings that last, as looks go by."""

    def __init__(self, looking: Looking) -> None:
        self._looking = looking
        self._before: Sequence[Finding] = ()
        self._raised: dict[Hashable, tuple[Finding, frozenset[Hashable]]] = {}
        self.n_looks = 0

    def __len__(self) -> int:
        return len(self._raised)

    @property
    def is_first(self) -> bool:
        """Whether nothing has been seen yet."""
        return not self.n_looks

    def after(self, now: Sequence[Finding]) -> tuple[list[str], Sequence[Finding] | None]:
        """Return what a look has changed, in lines, and all findings if they are to be shown.

        A finding is cleared if it is not found any more, unless the look lacks something that was there when it was found: then
        it is not known.
        """
        findings = {_fault(one): one for one in self._looking.grave(lasting(self._before, now))}
        before = {fault: one.severity for fault, (one, _) in self._raised.items()}
        still, lacks, lines = set(map(_fault, now)), self._looking.lacks(), []
        for fault, (one, lacked) in list(self._raised.items()):
            if fault not in still and lacks <= lacked:
                lines.append(f"cleared  {_told(one)}")
                del self._raised[fault]
        for fault, one in findings.items():
            if before.get(fault) != one.severity:  # that of a new client's queues rises once it had time to take them
                lines.append(f"raised   {_told(one)}")
            self._raised[fault] = one, lacks
        self._before = now
        self.n_looks += 1
        is_shown = self.n_looks == 2 or (self.n_looks > 2 and bool(lines))
        return lines, tuple(one for one, _ in self._raised.values()) if is_shown else None


class _Status(ChangingLine):
    """How things stand: a changing line under the lines that stay; elsewhere a line whenever it says something else."""

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
        return f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {printable(self._cluster)}  {printable(text)}"


def _told(one: Finding) -> str:
    """Return a finding in one line."""
    where = " ".join(part for part in (one.consumer_group, one.topic) if part)
    return f"{one.severity} {one.rule} {where}: {one.message}"


def _fault(one: Finding) -> Hashable:
    """Return what makes it the same fault; its message may hold numbers that change all the time."""
    return one.rule, one.consumer_group, one.topic, one.queues, one.clients
