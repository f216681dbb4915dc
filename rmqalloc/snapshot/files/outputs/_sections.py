"""Which lines of a file are the output of which mqadmin command, and what the command was asked
about.

mqadmin does not print the topic or group that it was asked about. So it is taken from a line with
the command above its output (a shell's prompt, say), else from a file name such as
``topicRoute.orders.txt``. Neither names several outputs of one kind: of a loop over topics nobody
can tell which is which.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import NamedTuple

from rmqalloc.documents import DocumentError, Source
from rmqalloc.snapshot.files.outputs._formats import (
    BEGINNINGS,
    COMMAND_FAILED,
    COMMANDS,
    FAILURE,
    FORMATS,
)

_COMMAND_LINE = re.compile(
    rf"\bmqadmin(?:\.\w+)?\s+(?P<command>{'|'.join(COMMANDS)})\b(?P<options>.*)"
)
_READ = "|".join(dict.fromkeys(one.command.split(" ")[0] for one in FORMATS))
_FILE_NAME = re.compile(rf"(?P<command>{_READ})\.(?P<asked>.+?)(?:\.(?:txt|json|log|out))?")
_VALUE = r"[\s=]+['\"]?([^\s'\"]+)"
_GROUP = re.compile(rf"\s(?:-g|--(?:groupName|consumerGroup)){_VALUE}")
_TOPIC = re.compile(rf"\s(?:-t|--(?:topicName|topic)){_VALUE}")
_BROKER = re.compile(rf"\s(?:-b|--brokerAddr){_VALUE}")

FAILED = "failure"
_ANY_TABLE = re.compile(
    "|".join(rf"^[ \t]*(?:{one.pattern})" for kind, one in BEGINNINGS.items() if kind != "json")
    + rf"|^[ \t]*(?:{FAILURE.pattern})",
    re.MULTILINE,
)
_JSON_BELOW = re.compile(r'\{(?:\s*$|\s*")')


class CommandSubject(NamedTuple):
    """What a command was asked about."""

    command: str | None = None
    name: str | None = None  # the topic of topicRoute, the group of all others
    broker: str | None = None  # address of the broker that was asked, where one was chosen
    topic: str | None = None  # of consumerProgress: the only topic asked about


@dataclass(slots=True)
class Section:
    """The output of one command."""

    source: Source
    line: int  # line of the file, from 1, that is the first of ``lines``
    kind: str  # one of the kinds of output distinguished by their first line, or `FAILED`
    asked: CommandSubject
    indentation: str = ""
    before: list[str] = field(default_factory=list)  # lines above it that belong to no output
    lines: list[str] = field(default_factory=list)  # without the indentation of the first
    n_alike: int = 1  # outputs of the same kind that the command line above it, or the name of the file, stands for

    @property
    def name(self) -> str | None:
        """The topic or group that the command was asked about, where known."""
        return self.asked.name

    def place(self, offset: int = 0) -> str:
        """Return where one of the lines stands."""
        return f"{self.source.name}:{self.line + offset}"

    def error(self, what: str, offset: int = 0) -> DocumentError:
        """Return an error at one of the lines."""
        return self.source.error(what, self.line + offset)

    def note(self, what: str, offset: int = 0) -> str:
        """Return a warning about the output."""
        return str(self.error(what, offset))


def is_output(text: str) -> bool:
    """Return whether a text has outputs of mqadmin, JSON aside, or something that is to be refused
    as such.

    Examples
    --------
    >>> is_output("#ClientId                            #ClientAddr            #Language  #Version")
    True
    """
    return _ANY_TABLE.search(text) is not None


def is_named_as_output(path: str) -> bool:
    """Return whether a file is named as the output of a command.

    Examples
    --------
    >>> is_named_as_output("out/consumerProgress.order-svc.txt"), is_named_as_output("orders.txt")
    (True, False)
    """
    return _FILE_NAME.fullmatch(PurePath(path).name) is not None


def sections(source: Source) -> Iterator[Section]:
    """Yield the outputs that a file holds; lines before them, such as those of logging, are passed
    over.
    """
    cutter = _Cutter(source)
    for number, line in enumerate(source.text().split("\n"), 1):
        cutter.take(number, line.rstrip("\r"))
    cutter.close()
    counts = Counter((id(one.asked), one.kind) for one in cutter.found)
    for one in cutter.found:
        yield replace(one, n_alike=counts[id(one.asked), one.kind])


class _Cutter:
    """Cuts a file into outputs, line by line."""

    def __init__(self, source: Source) -> None:
        named = _FILE_NAME.fullmatch(PurePath(source.path).name)
        self.found: list[Section] = []
        self._source = source
        self._asked = (
            CommandSubject(named["command"], named["asked"]) if named else CommandSubject()
        )
        self._section: Section | None = None
        self._passed: list[str] = []

    def take(self, number: int, line: str) -> None:
        """Go on to a line: a command, the first of an output, or one more of it."""
        if command := _COMMAND_LINE.search(line):
            self.close()
            self._asked = _asked(command["command"], command["options"])
            return
        bare = line.lstrip(" \t")
        indentation = line[: len(line) - len(bare)]
        kind = _kind(bare)
        if kind is not None and self._begins(kind, bare, indentation):
            before = self._above(kind)
            self._section = Section(self._source, number, kind, self._asked, indentation, before)
        if self._section is not None:
            self._section.lines.append(line.removeprefix(self._section.indentation))
        else:
            self._passed.append(line)

    def close(self) -> None:
        """End the output, if there is one."""
        if self._section is not None:
            self.found.append(self._section)
        self._section, self._passed = None, []

    def _begins(self, kind: str, line: str, indentation: str) -> bool:
        """Return whether a line that looks like the first of an output is that."""
        now = self._section
        if now is None:
            return True
        if kind == FAILED:
            return _failed(line, "clients" if now.kind == FAILED else now.kind)
        if kind == "json":
            is_inside = now.kind == "running info" or (
                now.kind == "json" and indentation != now.indentation
            )
            return not is_inside and _JSON_BELOW.match(line) is not None
        return True

    def _above(self, kind: str) -> list[str]:
        """Return lines above an output: a stack trace there does not mean that the command failed,
        if its output follows.
        """
        now = self._section
        if now is not None and now.kind == FAILED and not _failed(now.lines[0], kind):
            return [*now.before, *now.lines]
        passed = self._passed
        self.close()
        return passed


def _failed(line: str, kind: str) -> bool:
    """Return whether a stack trace is that of a command; consumerStatus (clients) goes on where one
    client does not answer.
    """
    return COMMAND_FAILED.match(line) is not None and (
        kind != "clients" or "SubCommandException" in line
    )


def _asked(command: str, options: str) -> CommandSubject:
    pattern = _TOPIC if command in ("topicRoute", "topicStatus") else _GROUP
    name, broker = _value(pattern, options), _value(_BROKER, options)
    return CommandSubject(
        command, name, broker, _value(_TOPIC, options) if command == "consumerProgress" else None
    )


def _value(pattern: re.Pattern[str], options: str) -> str | None:
    """Return the value of an option, None if it is missing or a shell's variable."""
    found = pattern.search(options)
    value = found[1].rstrip(";") if found else ""
    return value if value and "$" not in value else None


def _kind(line: str) -> str | None:
    found = next((kind for kind, beginning in BEGINNINGS.items() if beginning.match(line)), None)
    return found or (FAILED if FAILURE.match(line) else None)
