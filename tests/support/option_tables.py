"""The tables of docs/reference/options.md: options that verbs share, variables of the environment,
and exit codes.

``python tests/support/option_tables.py`` writes them there.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
from checkout import ROOT
from cli_commands import COMMANDS
from command_reference import between

from rmqalloc.cli._environment import VARIABLES
from rmqalloc.cli._exit_codes import MEANINGS
from rmqalloc.cli._options import SHARED, Shared
from rmqalloc.cli._verbs import VERBS

PAGE = ROOT / "docs" / "reference" / "options.md"


def verbs_of(shared: Shared) -> list[str]:
    """Return the verbs that have an option, in their order."""
    long = shared.flags.split()[-1]
    found = (words[0] for words, command in COMMANDS.items() if _has(command, long))
    return list(dict.fromkeys(found))


def _has(command: click.Command, flag: str) -> bool:
    return any(flag in option.opts for option in command.params)


def tables() -> str:
    """Return the tables as Markdown."""
    return "\n".join(line for title in SHARED for line in _table(title))


def _table(title: str) -> Iterator[str]:
    yield from (
        f"**{title}**",
        "",
        "| option | in every verb that has it | verbs |",
        "| --- | --- | --- |",
    )
    for shared in SHARED[title]:
        flags = ", ".join(f"`{flag}`" for flag in shared.flags.split())
        value = f" `{shared.metavar}`" if shared.metavar else ""
        means = shared.means.replace("|", "\\|").replace("*", "\\*")
        yield f"| {flags}{value} | {means} | {' '.join(verbs_of(shared))} |"
    yield ""


def codes() -> str:
    """Return the table of what exit codes mean for single verbs."""
    lines = ["| verb | code | means |", "| --- | --- | --- |"]
    for verb, own in VERBS.items():
        lines += [f"| `{verb}` | {code} | {means} |" for code, means in own.items()]
    return "\n".join(lines)


def variables() -> str:
    """Return the table of variables of the environment."""
    rows = (f"| `{name}` | {means} |" for name, means in VARIABLES.items())
    return "\n".join(["| variable | meaning |", "| --- | --- |", *rows])


def meanings() -> str:
    """Return the table of what exit codes mean."""
    rows = (f"| {code} | {means} |" for code, means in MEANINGS.items())
    return "\n".join(["| code | meaning |", "| --- | --- |", *rows])


def with_tables(page: str) -> str:
    """Return a page with the tables between its marks."""
    page = between(page, "options", f"\n{tables()}")
    page = between(page, "variables", f"\n{variables()}\n")
    page = between(page, "meanings", f"\n{meanings()}\n")
    return between(page, "codes", f"\n{codes()}\n")


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
