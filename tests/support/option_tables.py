"""The tables of options that verbs share, as docs/command-line.md has them.

``python tests/support/option_tables.py`` writes them there.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
from checkout import ROOT
from cli_commands import COMMANDS

from rmqalloc.cli._options import SHARED, Shared

PAGE = ROOT / "docs" / "command-line.md"
BEGIN, END = "<!-- options:begin -->\n", "<!-- options:end -->"


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


def with_tables(page: str) -> str:
    """Return a page with the tables between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
