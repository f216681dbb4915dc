"""What a saved plan was made from: the snapshot as it is in its file, and what ``plan`` was told of
it besides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from rmqalloc.cli._choices import Command, bundle
from rmqalloc.cli._inputs import ALL, EvidenceOptions, Inputs
from rmqalloc.cli._snapshot_input import evidence_options, known_by_options

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
        """Return what the plan was made from."""
        from rmqalloc.snapshot.files import read

        if path is not None:
            inputs = Inputs(
                path,
                groups=self.groups or ALL,
                strategy=self.strategy,
                assume=self.assume,
                evidence=self.evidence,
            )
            return known_by_options(read(path), inputs)
        if self != Told():
            raise click.UsageError(
                f"--strategy, --assume, --group, --require and rooms speak of a snapshot: give {flag}"
            )
        return None


def told_options(command: Command) -> Command:
    """Add the options that say what a plan was told of its snapshot; the command gets them as one
    argument, ``told``.
    """

    return bundle("told", Told, (evidence_options, *_OPTIONS), command)


_OPTIONS = (
    click.option("--assume", is_flag=True, help="`plan` accepted strategies that are a guess."),
    click.option("--strategy", metavar="S", help="What `plan` was told that the clients use."),
    click.option(
        "-g",
        "--group",
        "groups",
        multiple=True,
        metavar="PATTERN",
        help="Groups that --strategy spoke of.",
    ),
)
