"""Looking at a running cluster again: faults that last, and what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, NoReturn

import click

from rmqalloc.cli.text import printable

if TYPE_CHECKING:
    from rmqalloc.whatif.audit import Finding

Look = Callable[[], tuple["Finding", ...]]


def seconds(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """An option's time, such as ``20s``, ``500ms`` or ``2m``, in seconds; a number alone is seconds."""
    from rmqalloc.simulation.kinds import Duration

    if value is None:
        return None
    try:
        return Duration().read(f"{value}s" if value.isdigit() else value) / 1000
    except ValueError as error:
        raise click.BadParameter(str(error), param=param) from error


def lasting(before: Iterable[Finding], now: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings of now that were there before: the same fault of the same queues and clients.

    While a group rebalances, for seconds after every change of its clients, other queues have no owner or two at every look.
    """
    seen = set(map(_fault, before))
    return tuple(one for one in now if _fault(one) in seen)


def settled(look: Look, settle: float) -> tuple[Finding, ...]:
    """Findings that are there still after ``settle`` seconds; it is looked again only if there is one."""
    first = look()
    if not first or not settle:
        return first
    time.sleep(settle)
    return lasting(first, look())


def watch(look: Look, settle: float, show: Callable[[tuple[Finding, ...]], None]) -> NoReturn:
    """Look every ``settle`` seconds, until interrupted, and show the findings that last whenever others do.

    A cluster that cannot be reached for a while is told and asked again; at the first look it is an error.
    """
    before, shown = look(), None
    while True:
        time.sleep(settle)
        try:
            now = look()
        except (click.ClickException, ValueError) as error:  # a ValueError: a pattern that matches no group any more
            click.echo(f"rmqalloc: {printable(str(error))}", err=True)
            continue
        findings = lasting(before, now)
        before = now
        if (faults := set(map(_fault, findings))) != shown:
            shown = faults
            click.echo(f"{time.strftime('%H:%M:%S')}  {len(faults):,} findings that last", err=True)
            show(findings)


def _fault(one: Finding) -> Hashable:
    """What makes it the same fault; its message may hold numbers that change all the time."""
    return one.rule, one.consumer_group, one.topic, one.queues, one.clients
