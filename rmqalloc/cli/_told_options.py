"""What a saved plan was made from: the snapshot as it is in its file, and what ``plan`` was told of
it besides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from rmqalloc.cli._choices import Command, bundle
from rmqalloc.cli._inputs import ALL, EvidenceOptions, Inputs
from rmqalloc.cli._options import option
from rmqalloc.cli._snapshot_input import evidence_options, known_by_options
from rmqalloc.cli._strategy_options import NamedStrategy, strategy_option

if TYPE_CHECKING:
    from rmqalloc.evidence import Known


@dataclass(frozen=True)
class Told:
    """Options of `told_options` as given."""

    groups: tuple[str, ...] = ()
    strategy: NamedStrategy | None = None
    evidence: EvidenceOptions = field(default_factory=EvidenceOptions)

    def snapshot(self, path: str | None) -> Known | None:
        """Return what the plan was made from."""
        from rmqalloc.snapshot.files import read

        if path is not None:
            inputs = Inputs(
                path,
                groups=self.groups or ALL,
                strategy=self.strategy,
                evidence=self.evidence,
            )
            return known_by_options(read(path), inputs)
        if self != Told():
            raise click.UsageError(
                "--strategy, --group, --require and --rooms speak of a snapshot: give -f"
            )
        return None


def told_options(command: Command) -> Command:
    """Add the options that say what a plan was told of its snapshot; the command gets them as one
    argument, ``told``.
    """

    return bundle("told", Told, (evidence_options, *_OPTIONS), command)


_OPTIONS = (
    strategy_option(more=", as `plan` had it"),
    option("group", "groups", more=", as `plan` had them", multiple=True),
)
