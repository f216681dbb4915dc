"""The page of all commands and options and the table of rules: ``python
tests/support/command_reference.py``.
"""

import inspect
import re
from collections import Counter

import click
from checkout import ROOT
from cli_commands import COMMANDS

from rmqalloc.audit import RULES
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.cli._help_sections import SECTIONS, section_of

PAGE = ROOT / "docs" / "commands.md"
RULES_PAGE = ROOT / "docs" / "check.md"
HEAD = """# All commands

Every verb with its options in sections, made from the commands by `python tests/support/command_reference.py`;
`rmqalloc VERB --help` prints the same. Options that several verbs share come first; a verb then names the sections it
shares. [Exit codes](command-line.md#exit-codes) of all verbs stand in one table.
"""
WITH_SHARED = 4
"""An option that is the same in so many commands stands with the shared ones."""


def page():
    """The text of the page."""
    counted = Counter(row(option) for command in COMMANDS.values() for option in options(command))
    shared = {text: section_of(option) for command in COMMANDS.values() for option in options(command)
              if counted[text := row(option)] >= WITH_SHARED}  # fmt: skip
    parts = [HEAD, "## Shared options\n"]
    for section in SECTIONS:
        parts += table(
            f"### {section}\n", sorted(one for one, at in shared.items() if at == section)
        )
    for words, command in COMMANDS.items():
        parts += [f"\n{'#' * (len(words) + 1)} {' '.join(words)}\n", *helped(command)]
        if command.collect_usage_pieces(click.Context(command)) != ["[OPTIONS]"]:
            parts += ["```text", usage(words, command), "```\n"]
        for section in SECTIONS:
            mine = [row(option) for option in options(command) if section_of(option) == section]
            parts += table(f"**{section}**\n", [one for one in mine if one not in shared])
        if also := shared_with(command, shared):
            parts.append(f"Shared: {also}.\n")
    return "\n".join(parts).rstrip("\n") + "\n"


def table(title, rows):
    """A table below its title, or nothing."""
    return (
        [title, "| option | default | meaning |\n| --- | --- | --- |\n" + "".join(rows)]
        if rows
        else []
    )


def shared_with(command, shared):
    """The sections whose options a command shares, each with the fewer: those that it has, or those
    that it lacks.
    """
    mine = {row(option) for option in options(command)}
    named = {name_in(one) for one in mine}
    found = []
    for section in dict.fromkeys(at for one, at in shared.items() if one in mine):
        of = [one for one, at in shared.items() if at == section]
        has = [name_in(one) for one in of if one in mine]
        lacks = [name for one in of if (name := name_in(one)) not in named]
        which = (
            f" ({', '.join(has)})"
            if len(has) <= len(lacks)
            else f", all but {', '.join(lacks)}"
            if lacks
            else ""
        )
        found.append(f"[{section}](#{section.lower().replace(' ', '-')}){which}")
    return "; ".join(found)


def name_in(text):
    """The long name of the option in a row."""
    return f"`{re.search('`(--[a-z-]+)`', text)[1]}`"


def options(command):
    """Options that are shown, without --help."""
    return [one for one in command.params if isinstance(one, click.Option) and not one.hidden]


def helped(command):
    """The help text as Markdown; what click leaves in its lines becomes a block."""
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        if paragraph.startswith("\b"):
            lines = "\n".join(line.strip() for line in paragraph.splitlines()[1:])
            kind = "bash" if lines.startswith("rmqalloc ") else "text"
            yield f"```{kind}\n{lines}\n```\n"
        else:
            yield f"{plain(paragraph)}\n"


def usage(words, command):
    """The line of usage."""
    context = click.Context(
        command, info_name=f"rmqalloc {' '.join(words)}", help_option_names=["-h", "--help"]
    )  # click keeps it
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def row(option):
    """One option as a row of a table."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    takes = (
        ""
        if option.is_flag
        else f" `{option.make_metavar(click.Context(click.Command('x')))}`".replace("|", "\\|")
    )
    default = option.to_info_dict()["default"]  # None where nothing is set
    is_shown = option.show_default and not callable(default) and default not in (None, (), [], "")
    value = (
        f"`{option_default(option, default)}`"
        if is_shown
        else "**needed**"
        if option.required
        else ""
    )
    return f"| {names}{takes} | {value} | {plain(option.help or '')} |\n"


def option_default(option, default):
    """How click shows a default."""
    if option.secondary_opts:
        return (option.opts if default else option.secondary_opts)[0].lstrip("-")
    return default


def plain(text):
    """Text in which Markdown finds no marks, but for backquotes."""
    text = re.sub(r"\s+", " ", text)
    return "".join(
        part if i % 2 else re.sub(r"([*_<>|\[\]])", r"\\\1", part)
        for i, part in enumerate(re.split("(`[^`]*`)", text))
    )


def rules_page():
    """The page of the audit with the table of all rules as they are now."""
    rows = [
        f"| `{key}` | {rule.severity} | {rule.description} | {rule.help} |"
        for key, rule in RULES.items()
    ]
    table = "\n".join(
        ["| rule | severity | found | what to do |", "| --- | --- | --- | --- |", *rows]
    )
    return between(
        between(RULES_PAGE.read_text(encoding="utf-8"), "rules", table), "reasons", reasons_table()
    )


def reasons_table():
    """All answers to who reads a queue."""
    rows = [
        f"| {one.state} | `{key}` | {one.meaning} | {one.help} |" for key, one in REASONS.items()
    ]
    return "\n".join(
        ["| | reason | who reads the queue | what to do |", "| --- | --- | --- | --- |", *rows]
    )


def between(page, marks, text):
    """A page with other text between two marks."""
    head, begin, rest = page.partition(f"<!-- {marks}:begin -->\n")
    _, end, tail = rest.partition(f"\n<!-- {marks}:end -->")
    return f"{head}{begin}{text}{end}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    RULES_PAGE.write_text(rules_page(), encoding="utf-8")
