"""Findings that last over several readings: which are raised and which are cleared."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rmqalloc.audit import Finding


def lasting(before: Iterable[Finding], now: Iterable[Finding]) -> Sequence[Finding]:
    """Return present findings that were there before: the same fault of the same queues and clients.

    During the seconds of a rebalance each reading sees different queues with no owner or with two.
    """
    seen = {finding.fault for finding in before}
    return tuple(finding for finding in now if finding.fault in seen)


class RaisedFindings:
    """The lasting findings, each from its second consecutive reading until it has gone.

    Examples
    --------
    >>> one, raised = Finding("idle-client", "warning", "g", None, (), ("c",), "c is idle", ""), RaisedFindings()
    >>> raised.after([one]), raised.after([one]).raised == (one,), raised.after([]).cleared == (one,)
    (Changes(raised=(), cleared=()), True, True)
    """

    class Changes(NamedTuple):
        """The changes of one reading."""

        raised: tuple[Finding, ...]
        cleared: tuple[Finding, ...]

    def __init__(self) -> None:
        self._before: Sequence[Finding] = ()
        self._raised: dict[Hashable, tuple[Finding, frozenset[Hashable]]] = {}

    def __iter__(self) -> Iterator[Finding]:
        return (one for one, _ in self._raised.values())

    def after(
        self,
        now: Sequence[Finding],
        lacks: frozenset[Hashable] = frozenset(),
    ) -> Changes:
        """Take one reading; return its changes.

        A finding is cleared if it is no longer found, unless the reading lacks a part that the finding
        needs: then its state is unknown. A finding whose severity changes is raised again.

        Parameters
        ----------
        now : sequence of Finding
        lacks : frozenset
            Parts that could not be read.
        """
        findings = {finding.fault: finding for finding in lasting(self._before, now)}
        before = {fault: one.severity for fault, (one, _) in self._raised.items()}
        still = {finding.fault for finding in now}
        cleared = []
        for fault, (one, lacked) in list(self._raised.items()):
            if fault not in still and lacks <= lacked:
                cleared.append(one)
                del self._raised[fault]
        raised = tuple(one for fault, one in findings.items() if before.get(fault) != one.severity)
        self._raised |= {fault: (one, lacks) for fault, one in findings.items()}
        self._before = now
        return self.Changes(raised, tuple(cleared))
