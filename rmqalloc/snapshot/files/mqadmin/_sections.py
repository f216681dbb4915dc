"""Which lines of a file are the output of which mqadmin command, and what the command was asked about.

mqadmin does not print the topic or group that it was asked about. So it is taken from a line with the command above its output
(a shell's prompt, say), else from a file name such as ``topicRoute.orders.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from rmqalloc.documents import DocumentError, Source

_COMMANDS = "topicRoute|consumerConnection|consumerProgress|consumerStatus|allocateMQ"
_COMMAND_LINE = re.compile(rf"\bmqadmin(?:\.\w+)?\s+(?P<command>{_COMMANDS})\b(?P<options>.*)")
_ASKED = re.compile(r"\s(?:-[gt]|--(?:groupName|consumerGroup|topic))[\s=]+['\"]?([^\s'\"]+)")
_FILE_NAME = re.compile(rf"(?P<command>{_COMMANDS})\.(?P<asked>.+?)(?:\.(?:txt|json|log|out))?")
_BEGINNINGS = {
    "routes": re.compile(r"#ClusterName\s+#BrokerName\s"),
    "progress": re.compile(r"#Topic\s+#Broker Name\s+#QID\s+#Broker Offset\s"),
    "connections": re.compile(r"#ClientId\s+#ClientAddr\s"),
    "clients": re.compile(r"#Index\s+#ClientId\s"),
    "running info": re.compile(r"#Consumer Properties#"),
    "all groups": re.compile(r"#Group\s+#Count\s"),
    "json": re.compile(r"\{"),
}
_ANY_TABLE = re.compile(
    "|".join(f"^{one.pattern}" for kind, one in _BEGINNINGS.items() if kind != "json"), re.MULTILINE
)


@dataclass(slots=True)
class Section:
    """The output of one command.

    Attributes
    ----------
    source : Source
    line : int
        Line of the file, from 1, that is the first of ``lines``.
    kind : str
        One of the kinds of output distinguished by their first line.
    asked : str or None
        Topic or group that the command was asked about, where known.
    lines : list of str
    """

    source: Source
    line: int
    kind: str
    asked: str | None
    is_from_command_line: bool
    lines: list[str] = field(default_factory=list)

    def error(self, what: str, offset: int = 0) -> DocumentError:
        """An error at one of the lines."""
        return self.source.error(what, self.line + offset)

    def note(self, what: str) -> str:
        """A warning about the output."""
        return str(self.error(what))


def is_output(text: str) -> bool:
    """Whether some line looks like the first of an output of mqadmin, JSON aside.

    Examples
    --------
    >>> is_output("#ClientId                            #ClientAddr            #Language  #Version")
    True
    """
    return _ANY_TABLE.search(text) is not None


def sections(source: Source) -> Iterator[Section]:
    """The outputs that a file holds; lines before them, such as those of logging, are passed over.

    Raises
    ------
    SnapshotError
        If the file is not UTF-8.
    """
    named = _FILE_NAME.fullmatch(PurePath(source.path).name)
    asked, from_command_line = (named["asked"] if named else None), False
    section: Section | None = None
    for number, line in enumerate(source.text().split("\n"), 1):
        line = line.rstrip("\r")
        if command := _COMMAND_LINE.search(line):
            if section is not None:
                yield section
            found = _ASKED.search(command["options"])
            section, asked, from_command_line = None, found and found[1], True
            continue
        kind = _kind(line)
        if kind is not None and (section is None or kind != "json"):
            if section is not None:
                yield section
            section = Section(source, number, kind, asked, from_command_line)
        if section is not None:
            section.lines.append(line)
    if section is not None:
        yield section


def _kind(line: str) -> str | None:
    return next((kind for kind, beginning in _BEGINNINGS.items() if beginning.match(line)), None)
