"""Help by task: which section an option stands in.

The help of a verb and the page of all commands (commands.md of the guide) take it from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import click

__all__ = ["OTHERS", "SECTIONS", "section_of", "write_commands", "write_options"]

OTHERS = "Options"
_GATES = "Gates"

SECTIONS: Mapping[str, str] = {
    "Changes": "undo scale add-client remove-client add-broker remove-broker set-queues to-strategy"
    " scenario scenario-name",
    OTHERS: "",
    "Search": "best max-batch order seed",
    _GATES: "require informed-by detailed-exitcode gates",
    "Snapshot": "file group topic allow-partial context at since until",
    "Strategies and machine rooms": "strategy rooms",
    "Cluster access": "name-server acl-file tls",
    "Output": "output out columns sort where top show by help",
}
"""Options by section, in the order of the help; those that say that they are a gate are gates, all others `OTHERS`."""


def section_of(option: click.Parameter) -> str:
    """Return the section that an option stands in.

    Examples
    --------
    >>> section_of(click.Option(["--scale"])), section_of(click.Option(["--max-moved"], help="Gate: most moves."))
    ('Changes', 'Gates')
    """
    name = max(option.opts, key=len).lstrip("-")
    if (getattr(option, "help", None) or "").startswith("Gate:"):
        return _GATES
    return next((section for section, names in SECTIONS.items() if name in names.split()), OTHERS)


def in_sections(options: Iterable[click.Parameter]) -> Iterator[tuple[str, list[click.Parameter]]]:
    """Yield the sections that options stand in, each with its options."""
    found: dict[str, list[click.Parameter]] = {section: [] for section in SECTIONS}
    for option in options:
        found[section_of(option)].append(option)
    yield from ((section, some) for section, some in found.items() if some)


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command, a section after the other."""
    for section, options in in_sections(command.get_params(ctx)):
        records = [
            record for option in options if (record := option.get_help_record(ctx)) is not None
        ]
        if records:
            with formatter.section(section):
                formatter.write_dl(records)


def write_commands(
    title: str,
    group: click.Group,
    names: Iterable[str],
    ctx: click.Context,
    formatter: click.HelpFormatter,
) -> None:
    """Write commands below a title, each with all of its first sentence."""
    found = ((name, group.get_command(ctx, name)) for name in names)
    with formatter.section(title):
        formatter.write_dl(
            [(name, first_sentence(command)) for name, command in found if command is not None]
        )


def first_sentence(command: click.Command) -> str:
    """Return the first paragraph of a command's help in one line."""
    return " ".join((command.help or "").split("\n\n")[0].split())
