"""What a saved plan was made from: the snapshot as it is in its file, and what ``plan`` was told of it besides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._evidence_options import EvidenceOptions, evidence_options
from rmqalloc.cli._snapshot_input import ALL, Inputs, known_by_options

if TYPE_CHECKING:
    from rmqalloc.evidence import Known


@dataclass(frozen=True)
class Told:
    """Options of `told_options` as given."""

    groups: tuple[str, ...] = ()
    strategy: str | None = None
    assume: bool = False
    evidence: EvidenceOptions = field(default_factory=EvidenceOptions)

    def snapshot(self, path: str | None, flag: str) -> Known | None:
        """What the plan was made from."""
        from rmqalloc.snapshot.files import read

        if path is not None:
            inputs = Inputs(
                path, groups=self.groups or ALL, strategy=self.strategy, assume=self.assume, evidence=self.evidence
            )
            return known_by_options(read(path), inputs)
        if self != Told():
            raise click.UsageError(
                f"--strategy, --assume, --group, --require and rooms speak of a snapshot: give {flag}"
            )
        return None


def told_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what a plan was told of its snapshot; the command gets them as one argument, ``told``."""

    @functools.wraps(command)
    def bundled(
        groups: tuple[str, ...], strategy: str | None, assume: bool, evidence: EvidenceOptions, **others: Any
    ) -> Any:
        return command(told=Told(groups, strategy, assume, evidence), **others)

    made: Callable[..., Any] = evidence_options(bundled)
    for option in _OPTIONS:
        made = option(made)
    return made


_OPTIONS = (
    click.option("--assume", is_flag=True, help="`plan` accepted strategies that are a guess."),
    click.option("--strategy", metavar="S", help="What `plan` was told that the clients use."),
    click.option("-g", "--group", "groups", multiple=True, metavar="PATTERN", help="Groups that --strategy spoke of."),
)
