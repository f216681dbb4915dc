"""Commands in pages and help texts can be pasted into a shell: they parse, and rmqalloc knows their
options.
"""

import re
import shlex

import click
import pytest
from checkout import ROOT
from cli_commands import COMMANDS

from rmqalloc.cli._app import VERBS, app

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPERATORS = ";&|<>"
PATTERNS = "*?["
NO_FILE = re.compile(r"(^|\s)(-g|-t|-c)\s+\S*$")


def commands_of(text):
    """Commands of a page: all lines of shell blocks, lines after a prompt, and indented ones that
    call rmqalloc.
    """
    text = text.replace("\\\n", " ")
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        if kind == "console":
            yield from (line[2:] for line in lines if line.startswith("$ "))
        elif kind in ("bash", "sh", "shell"):
            yield from lines
    yield from (line.strip() for line in text.splitlines() if re.match(r"    +rmqalloc ", line))
    yield from (one for one in re.findall(r"`(rmqalloc [^`]+)`", text) if " -" in one)


def help_lines():
    for path, command in COMMANDS.items():
        for line in (command.help or "").splitlines():
            if found := re.match(r"\s*(?:\w+:\s+)?(rmqalloc .*|mqadmin .*)", line):
                yield pytest.param(found[1], id=f"{' '.join(path)}: {found[1]}"[:70])


def faults(command):
    """Characters of a command that a shell takes for more than text, where that is not plainly
    meant.

    Operators are meant where they stand between blanks, as ``a > b`` and ``a; b`` do; patterns in
    words of files. A name between ``<`` and ``>`` is for people, not for a shell.
    """
    quote, found, word = "", [], ""
    for at, c in enumerate(command):
        if quote:
            quote = "" if c == quote else quote
            word += c
        elif c == "#" and not word:
            break
        elif c in "'\"":
            quote, word = c, word + c
        elif (c in OPERATORS and not is_meant(command, at)) or (
            c in PATTERNS and is_no_file(c, word, command[:at])
        ):
            found.append(command[max(at - 8, 0) : at + 8])
        else:
            word = "" if c.isspace() else word + c
    return found + [f"{quote} is not closed"] * bool(quote)


def is_no_file(c, word, before):
    """Whether a pattern stands where no name of a file does: in an option, a group, a topic, an
    extra of a package.
    """
    return (
        word.startswith("-") or bool(NO_FILE.search(before)) or (c == "[" and "install " in before)
    )


def is_meant(command, at):
    """Whether the run of operators around a character stands between blanks."""
    start, end = at, at + 1
    while start and command[start - 1] in OPERATORS:
        start -= 1
    while end < len(command) and command[end] in OPERATORS:
        end += 1
    before, after = command[start - 1 : start], command[end : end + 1]
    if command[start - 1 : end + 1] == "2>&1":
        return True
    is_free = not after.strip()
    return is_free and (
        command[start:end] == ";" or not before.strip() or (before == "2" and command[start] == ">")
    )


def check_options(command):
    """Raise unless rmqalloc knows the verb and all options of a command."""
    words = shlex.split(command, comments=True)
    ends = [i for i, word in enumerate(words) if word in ("|", ">", "&&", ";", "<")]
    words = words[1 : ends[0] if ends else None]
    group, context = app, click.Context(app, info_name="rmqalloc", **app.context_settings)
    while words and isinstance(group, click.Group) and not words[0].startswith("-"):
        group = group.get_command(context, words[0])
        assert group is not None, command
        context, words = click.Context(group, info_name=words[0], parent=context), words[1:]
    if isinstance(group, click.Group):
        return
    group.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_are_what_a_shell_takes_them_for(page):
    commands = list(commands_of(page.read_text(encoding="utf-8")))
    assert [command for command in commands if faults(command)] == []
    for command in commands:
        shlex.split(command, comments=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_rmqalloc_knows_the_options_that_a_page_shows(page):
    for command in commands_of(page.read_text(encoding="utf-8")):
        verb = command.split()[1:2]
        if (
            command.lstrip().startswith("rmqalloc ")
            and "..." not in command
            and verb != ["pln"]
            and verb[0] in VERBS
        ):
            check_options(command)


@pytest.mark.parametrize("command", list(help_lines()))
def test_commands_of_help_texts_are_what_a_shell_takes_them_for(command):
    assert not faults(command)
    if command.startswith("rmqalloc "):
        check_options(command)


@pytest.mark.parametrize("command", [
    "rmqalloc check -n a:1;b:1", "rmqalloc plan -f <file>", "rmqalloc plan -g order-*", "pip install rmqalloc[cli]", "a 'b",
    "rmqalloc plan --max-moved N|P%", "a&b",
])  # fmt: skip
def test_the_rule_sees_what_a_shell_would_take_apart(command):
    assert faults(command)


@pytest.mark.parametrize("command", [
    "rmqalloc check -n 'a:1;b:1'", "a > b", "a 2>&1 | b", "for s in a b; do", "a && b", "rmqalloc convert topicRoute.* --out x",
    'pip install "rmqalloc[cli]"', "rmqalloc plan   # a;b",
])  # fmt: skip
def test_the_rule_lets_pass_what_is_meant(command):
    assert not faults(command)


def test_the_rule_sees_an_option_that_is_not_there():
    with pytest.raises(click.NoSuchOption):
        check_options("rmqalloc plan -f example:seed --scal 3")
