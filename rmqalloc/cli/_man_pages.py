"""Manual pages, in roff, of what ``--help`` prints: click writes a command's help into a formatter,
and `ManFormatter` is one.

So a page has the usage, the paragraphs, the sections of options and the exit codes that the help
has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._help_sections import first_sentence
from rmqalloc.version import __version__

_SPECIAL = {
    "\\": r"\(rs",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    "|": r"|\:",
}
_PARTS = ("format_usage", "format_help_text", "format_arguments", "format_options")


def pages(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the pages of a command and of those below it."""
    name = ctx.command_path.replace(" ", "-")
    yield f"{name}.1", page(command, ctx)
    if isinstance(command, click.Group):
        for word in command.list_commands(ctx):
            if (inner := command.get_command(ctx, word)) is not None:
                yield from pages(inner, click.Context(inner, parent=ctx, info_name=word))


def page(command: click.Command, ctx: click.Context) -> str:
    """Return the page of one command."""
    name = ctx.command_path.replace(" ", "-")
    formatter = ManFormatter()
    formatter.line(f'.TH "{escaped(name.upper())}" 1 "" "rmqalloc {__version__}"\n.nh\n.ad l')
    formatter.write_heading("Name")
    formatter.line(escaped(name) + r" \- " + escaped(first_sentence(command).rstrip(".")))
    for part in _PARTS:  # releases of click before 8.4 have no part of arguments
        getattr(command, part, lambda *_: None)(ctx, formatter)
    _, *words = ctx.command_path.split()
    codes = exit_codes.codes_of(words[0]) if words else exit_codes.MEANINGS
    with formatter.section("Exit status"):
        formatter.write_dl([(str(code), meaning) for code, meaning in codes.items()])
    if ctx.parent is not None:
        formatter.write_heading("See also")
        formatter.line(rf"\fB{escaped(ctx.parent.command_path.replace(' ', '-'))}\fR(1)")
    return formatter.getvalue()


class ManFormatter(click.HelpFormatter):
    """What click writes a help into, as roff."""

    def line(self, text: str) -> None:
        """Write a line of roff."""
        self.write(f"{text}\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the section of usage; what click writes next is the description."""
        self.write_heading("Synopsis")
        self.line(rf"\fB{escaped(prog)}\fR {escaped(args)}")
        self.write_heading("Description")

    def write_heading(self, heading: str) -> None:
        """Write the title of a section."""
        self.line(f'.SH "{escaped(heading.upper())}"')

    def write_paragraph(self) -> None:
        """Write nothing: every paragraph begins with a request."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; one behind a backspace keeps its lines, as in the help."""
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("\b"):
                kept = map(escaped, paragraph.splitlines()[1:])
                self.line("\n".join([".PP", ".RS 4", ".nf", *kept, ".fi", ".RE"]))
            else:
                self.line(f".PP\n{escaped(' '.join(paragraph.split()))}")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write terms, each with what it means."""
        for term, meaning in rows:
            self.line(f".TP\n\\fB{escaped(term)}\\fR\n{escaped(' '.join(meaning.split()))}")


def escaped(text: str) -> str:
    r"""Return text in which roff finds neither requests nor escapes, in ASCII.

    Examples
    --------
    >>> escaped("-n 'a\\b' µ"), escaped(".TH")
    ('\\-n \\(aqa\\(rsb\\(aq \\[u00B5]', '\\&.TH')
    """
    shown = "".join(
        _SPECIAL.get(one, one if one.isascii() else rf"\[u{ord(one):04X}]") for one in text
    )
    return rf"\&{shown}" if shown.startswith((".", " ")) else shown
