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
from typing import Any, NamedTuple

from rmqalloc.documents import DocumentError, Source
from rmqalloc.snapshot.files.outputs._clean_text import cleaned
from rmqalloc.snapshot.files.outputs._client_log import has_results, has_statement, is_part_of_log
from rmqalloc.snapshot.files.outputs._console_requests import (
    READ_QUERIES,
    ConsoleRequest,
    request_in,
    request_of_name,
)
from rmqalloc.snapshot.files.outputs._formats import (
    BEGINNINGS,
    COMMAND_FAILED,
    COMMANDS,
    FAILURE,
    FORMATS,
    command_of_cut_head,
)
from rmqalloc.snapshot.snapshot import ReadSource

_COMMAND_LINE = re.compile(
    rf"\bmqadmin(?:\.\w+)?\s+(?P<command>{'|'.join(COMMANDS)})\b(?P<options>.*)"
    r"|^\s*(?:(?:sudo|sh|bash|exec)\s+)?(?:[\w./~-]*/)?mqadmin(?:\.\w+)?\s+(?P<another>[a-z]\w*)(?P<rest>.*)"
)
_READ = dict.fromkeys([
    *(f"{query}[.]query" for query in READ_QUERIES),
    *(form.command.split(" ")[0] for form in FORMATS),
    *READ_QUERIES,
])  # fmt: skip
_FILE_NAME = re.compile(
    rf"(?P<command>{'|'.join(_READ)})(?:\.(?P<asked>.+?))??(?:\.(?:txt|json|log|out))?"
)
_VALUE = r"[\s=]+['\"]?([^\s'\"]+)"
_GROUP = re.compile(rf"\s(?:-g|--(?:groupName|consumerGroup)){_VALUE}")
_TOPIC = re.compile(rf"\s(?:-t|--(?:topicName|topic)){_VALUE}")
_BROKER = re.compile(rf"\s(?:-b|--brokerAddr){_VALUE}")
_WITH_CLIENTS = re.compile(r"\s(?:-s|--showClientIP)[\s=]+true\b")

FAILED = "failure"
CUT = "cut"
NOTHING = "nothing"
"""A command line without its output: it and the lines below it."""
PASSED = "passed"
"""Lines that belong to no output."""
ABOVE = "above"
"""A line right above an output: a title, or a command that printed it."""
LOG = "client log"
"""Lines of a log of a Java client; of a file that has nothing else they are not taken apart."""
PART_OF_LOG = "part of a client log"
"""A log without results; it counts beside others that have some."""
_MAY_BE_OUTPUT = re.compile(r"\n[ \t]*(?:#[A-Z]|0{2,3}1[ \t]|get consumer status )")
"""Found fast in the many lines of a log; heads of tables, but JSON, begin so."""
_INTO_A_FILE = re.compile(r"(?<![0-9])>>?\s*[^\s&]|\|\s*tee\b")
_INTO_A_FILE_BY_CURL = re.compile(r"\s(?:-o|-O|--output|--remote-name)\b")
_ANY_TABLE = re.compile(
    "|".join(
        rf"^[ \t]*(?:{beginning.pattern})"
        for kind, beginning in BEGINNINGS.items()
        if kind != "json"
    )
    + rf"|^[ \t]*(?:{FAILURE.pattern})",
    re.MULTILINE,
)
_ANY_HEAD = re.compile(r"^[ \t]*#[A-Z].*", re.MULTILINE)
_JSON_OUTPUT = re.compile(
    r'"(?:brokerDatas|queueDatas|connectionSet|queueStatInfoList|mqTable|subGroupType)"\s*:'
    r"|/(?:consumer|topic|cluster)/\w{1,64}\.(?:query|refresh)\b"
)
"""Keys of JSON that is read, and requests to RocketMQ Console."""
_JSON_BELOW = re.compile(r'\{(?:\s*$|\s*")|\[\s*(?:$|\{)')


class CommandSubject(NamedTuple):
    """What a command was asked about."""

    command: str | None = None
    name: str | None = None  # the topic of topicRoute, the group of all others
    broker: str | None = None  # address of the broker that was asked, where one was chosen
    topic: str | None = None  # of consumerProgress: the only topic asked about
    with_clients: bool = False  # of consumerProgress: whether clients are to be shown
    client: str | None = None  # of running info: its client

    @property
    def is_of_console(self) -> bool:
        """Whether it is a request to RocketMQ Console rather than a command of mqadmin."""
        return self.command is not None and self.command.endswith(".query")


@dataclass(slots=True)
class Section:
    """The output of one command."""

    source: Source
    line: int  # line of the file, from 1, that is the first of ``lines``
    # one of the kinds of output distinguished by their first line, or `FAILED`, `CUT`, `NOTHING`,
    # `PASSED`
    kind: str
    asked: CommandSubject
    indentation: str = ""
    before: list[str] = field(default_factory=list)  # lines above it that belong to no output
    lines: list[str] = field(default_factory=list)  # without the indentation of the first
    n_alike: int = 1  # outputs of the same kind that the command line above it, or the name of the file, stands for
    n_read: int | None = None  # lines that belong to the output, where it ends before the last line
    content: Any = None  # of JSON

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

    def as_source(self, what: str, contents: str, left_out: str | None = None) -> ReadSource:
        """Return which lines these are, and what was read of them."""
        n_lines = len(self.lines) if self.n_read is None else self.n_read
        last = self.line + max(n_lines, 1) - 1
        return ReadSource(self.source.name, self.line, last, what, contents, left_out)

    def rest(self) -> Section:
        """Return the lines below the output that do not belong to it."""
        n_read = len(self.lines) if self.n_read is None else self.n_read
        return Section(
            self.source, self.line + n_read, PASSED, CommandSubject(), lines=self.lines[n_read:]
        )


def is_output(text: str) -> bool:
    """Return whether a text has outputs of mqadmin, JSON aside, or results in a client's log, or
    something that is to be refused as such.

    Examples
    --------
    >>> is_output("#ClientId                            #ClientAddr            #Language  #Version")
    True
    """
    if has_results(text):
        return True
    text = cleaned(text)
    if has_results(text) or _ANY_TABLE.search(text) is not None:
        return True
    return any(command_of_cut_head(line[0]) for line in _ANY_HEAD.finditer(text))


def is_named_as_output(path: str) -> bool:
    """Return whether a file is named as the output of a command.

    Examples
    --------
    >>> is_named_as_output("out/consumerProgress.order-svc.txt"), is_named_as_output("orders.txt")
    (True, False)
    """
    return _subject_of_name(path) is not None


def sections(source: Source) -> Iterator[Section]:
    """Yield the outputs that a file holds, and what stands between them: lines that belong to no
    output (`PASSED`), and commands without one (`NOTHING`).
    """
    text = source.text()
    is_plain = "\x1b" not in text
    is_log = is_plain and (has_results(text) or is_part_of_log(text))
    text = text if is_log else cleaned(text)
    has_log = has_results(text)
    if (has_log or is_part_of_log(text)) and not _has_other_output(text):
        kind, lines = LOG if has_log else PART_OF_LOG, [] if is_log else [text]
        yield Section(source, 1, kind, CommandSubject(), lines=lines, n_read=source.n_lines)
        return
    cutter = _Cutter(source, has_log)
    lines = cleaned(text).split("\n")
    for number, line in enumerate(lines, 1):
        cutter.take(number, line)
    cutter.end(len(lines) + 1)
    counts = Counter((id(found.asked), found.kind) for found in cutter.found)
    for found in cutter.found:
        yield replace(found, n_alike=counts[id(found.asked), found.kind])


def _has_other_output(text: str) -> bool:
    """Check whether a log may have outputs of mqadmin as well."""
    first = f"\n{text[: text.find(chr(10))]}"
    is_likely = "mqadmin" in text or _MAY_BE_OUTPUT.match(first) or _MAY_BE_OUTPUT.search(text)
    if is_likely and (_ANY_TABLE.search(text) or _COMMAND_LINE.search(text)):
        return True
    return _JSON_OUTPUT.search(text) is not None


class _Cutter:
    """Cuts a file into outputs, line by line."""

    def __init__(self, source: Source, has_log: bool) -> None:
        self.found: list[Section] = []
        self._source, self._has_log = source, has_log
        self._asked = _subject_of_name(source.path) or CommandSubject()
        self._section: Section | None = None
        self._command: Section | None = None  # a command line that has no output yet
        self._passed: list[str] = []

    def take(self, number: int, line: str) -> None:
        """Go on to a line: a command, the first of an output, or one more of it."""
        command = _COMMAND_LINE.search(line) if "mqadmin" in line else None
        if command is not None:
            name = command["command"] or command["another"]
            self._begin_command(
                number, line, _asked(name, command["options"] or command["rest"] or "")
            )
        elif request := request_in(line):
            # curl leaves the next prompt and command on the last line of an answer.
            above = line[: line.rfind("}", 0, request.start) + 1]
            if above.startswith("{"):
                self._add(number, above)
            self._begin_command(number, line, _asked_console(request))
        else:
            self._add(number, line)

    def _begin_command(self, number: int, line: str, asked: CommandSubject) -> None:
        """Go on to a line with a command."""
        self.end(number)
        self._asked = asked
        self._command = Section(self._source, number, NOTHING, asked, lines=[line])

    def _add(self, number: int, line: str) -> None:
        """Go on to a line without a command."""
        bare = line.lstrip(" \t")
        indentation = line[: len(line) - len(bare)]
        kind = LOG if self._has_log and has_statement(bare) else _kind(bare)
        if kind is not None and self._begins(kind, bare, indentation):
            before = self._above(kind, number)
            self._section = Section(self._source, number, kind, self._asked, indentation, before)
        if self._section is not None:
            self._section.lines.append(line.removeprefix(self._section.indentation))
            if self._section.kind == LOG and has_statement(line):
                self._section.n_read = len(self._section.lines)
        else:
            self._passed.append(line)

    def end(self, number: int) -> None:
        """End what the line before ``number`` belongs to: a command, or the file."""
        if self._section is None and self._command is not None:
            self._command.lines += self._passed
            self._passed = []
            if not _goes_into_a_file(self._command):
                self.found.append(self._command)
        self._close(number)

    def _close(self, number: int) -> None:
        """End the output, if there is one, or the lines that belong to none."""
        if self._section is not None:
            self.found.append(self._section)
        elif any(map(str.strip, self._passed)):
            first = number - len(self._passed)
            self.found.append(
                Section(self._source, first, PASSED, CommandSubject(), lines=self._passed)
            )
        self._section, self._command, self._passed = None, None, []

    def _begins(self, kind: str, line: str, indentation: str) -> bool:
        """Return whether a line that looks like the first of an output is that."""
        now = self._section
        if now is None:
            return True
        if now.kind == LOG:
            return kind not in (LOG, FAILED, "json")
        if kind == FAILED:
            return _failed(line, "clients" if now.kind == FAILED else now.kind)
        if kind == "json":
            is_inside = now.kind == "running info" or (
                now.kind == "json" and indentation != now.indentation
            )
            return not is_inside and _JSON_BELOW.match(line) is not None
        return True

    def _above(self, kind: str, number: int) -> list[str]:
        """Return lines above an output: a stack trace there does not mean that the command failed,
        if its output follows.
        """
        if kind == LOG:
            self.end(number)
            return []
        now = self._section
        if now is not None and now.kind == FAILED and not _failed(now.lines[0], kind):
            if kind != "clients":
                now.kind = PASSED
                self._close(number)
                return []
            return [*now.before, *now.lines]
        passed = self._passed
        self._close(number)
        if self.found and self.found[-1].kind == PASSED and sum(map(bool, passed)) == 1:
            self.found[-1].kind = ABOVE
        return passed


def _goes_into_a_file(command: Section) -> bool:
    """Return whether what a command prints went elsewhere."""
    if any(map(str.strip, command.lines[1:])):
        return False
    line = command.lines[0]
    by_curl = command.asked.is_of_console and _INTO_A_FILE_BY_CURL.search(line) is not None
    return by_curl or _INTO_A_FILE.search(line) is not None


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
    if command != "consumerProgress":
        return CommandSubject(command, name, broker)
    with_clients = _WITH_CLIENTS.search(options) is not None
    return CommandSubject(command, name, broker, _value(_TOPIC, options), with_clients)


def _asked_console(request: ConsoleRequest) -> CommandSubject:
    addresses = request.fields.get("address", "").split(",")
    return CommandSubject(
        f"{request.query}.query",
        request.subject,
        addresses[0] or None,
        client=request.fields.get("clientId"),
    )


def _subject_of_name(path: str) -> CommandSubject | None:
    """Return what a file is named after, None for any other name."""
    name = PurePath(path).name
    if request := request_of_name(name):
        return _asked_console(request)
    found = _FILE_NAME.fullmatch(name)
    return CommandSubject(found["command"], found["asked"]) if found else None


def _value(pattern: re.Pattern[str], options: str) -> str | None:
    """Return the value of an option, None if it is missing or a shell's variable."""
    found = pattern.search(options)
    value = found[1].rstrip(";") if found else ""
    return value if value and "$" not in value else None


def _kind(line: str) -> str | None:
    if command_of_cut_head(line):
        return CUT
    found = next((kind for kind, beginning in BEGINNINGS.items() if beginning.match(line)), None)
    return found or (FAILED if FAILURE.match(line) else None)
