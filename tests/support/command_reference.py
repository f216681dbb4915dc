"""The page of all commands, which docs/site/hooks.py puts into the guide, and the tables in
docs/reference/findings.md, which ``python tests/support/command_reference.py`` writes.
"""

import inspect
import re

import click
from checkout import ROOT
from cli_commands import COMMANDS

from rmqalloc.audit import RULES
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.cli._app import app
from rmqalloc.cli._help_sections import SECTIONS, section_of
from rmqalloc.evidence import Verb
from rmqalloc.evidence.decisions import ROWS

RULES_PAGE = ROOT / "docs" / "reference" / "findings.md"
HEAD = """# All commands

Every verb with its options in sections; `rmqalloc VERB --help` prints the same.
[Exit codes](options.md#exit-codes) of all verbs stand in one table.
"""


def page():
    """The text of the page."""
    parts = [HEAD]
    for words, command in COMMANDS.items():
        names = app.context_settings[
            "help_option_names"
        ]  # a command keeps those it is asked for first
        context = click.Context(
            command, info_name=f"rmqalloc {' '.join(words)}", help_option_names=names
        )
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        parts.append(f"{'#' * (len(words) + 1)} {' '.join(words)}\n")
        parts += [*helped(command), f"```text\n{usage}\n```\n"]
        shown = [param for param in command.params if isinstance(param, click.Option)]
        for section in SECTIONS:
            rows = [
                [names_of(option), default_of(option), plain(option.help or "")]
                for option in shown
                if section_of(option) == section and not option.hidden
            ]
            if rows:
                heading = ["option", "default", "meaning"]
                parts += [f"**{section}**\n", f"{table(heading, rows)}\n"]
    return "\n".join(parts)


def table(heading, rows):
    """A table of Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def helped(command):
    """The help text as Markdown; what click leaves in its lines becomes a block."""
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        if paragraph.startswith("\b"):
            lines = "\n".join(line.strip() for line in paragraph.splitlines()[1:])
            kind = "bash" if lines.startswith("rmqalloc ") else "text"
            yield f"```{kind}\n{lines}\n```\n"
        else:
            yield f"{plain(paragraph)}\n"


def names_of(option):
    """The names of an option, and what it takes."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    takes = option.make_metavar(click.Context(click.Command("x")))
    return f"{names} `{takes}`".replace("|", "\\|")


def default_of(option):
    """The default of an option, as click shows it."""
    if option.required:
        return "**needed**"
    default = option.to_info_dict()["default"]  # None where nothing is set
    if not option.show_default or callable(default) or default in (None, (), [], ""):
        return ""
    if option.secondary_opts:
        default = (option.opts if default else option.secondary_opts)[0].lstrip("-")
    return f"`{default}`"


def plain(text):
    """Text in which Markdown finds no marks, but for backquotes."""
    parts = re.split("(`[^`]*`)", re.sub(r"\s+", " ", text))
    parts[::2] = [re.sub(r"([*_<>|\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def rules_page():
    """The page of the audit with the tables of all rules and reasons as they are now."""
    rules = [
        [f"`{key}`", rule.severity, rule.description, rule.help] for key, rule in RULES.items()
    ]
    reasons = [
        [reason.state, f"`{key}`", reason.meaning, reason.help] for key, reason in REASONS.items()
    ]
    text = RULES_PAGE.read_text(encoding="utf-8")
    text = between(text, "rules", table(["rule", "severity", "found", "what to do"], rules))
    heading = ["state", "reason", "who reads the queue", "what to do"]
    text = between(text, "reasons", table(heading, reasons))
    decisions = [[row.what, *row.outcomes, row.allows] for row in ROWS]
    heading = ["what holds of the group", *Verb, "what allows an answer"]
    return between(text, "decisions", table(heading, decisions))


def between(page, marks, text):
    """A page with other text between two marks."""
    head, begin, rest = page.partition(f"<!-- {marks}:begin -->\n")
    _, end, tail = rest.partition(f"\n<!-- {marks}:end -->")
    assert begin and end, (
        f"no lines <!-- {marks}:begin --> and <!-- {marks}:end --> with one between"
    )
    return f"{head}{begin}{text}{end}{tail}"


if __name__ == "__main__":
    RULES_PAGE.write_text(rules_page(), encoding="utf-8")
