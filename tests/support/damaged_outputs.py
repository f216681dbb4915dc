"""Outputs of tools as they arrive: with rows, columns, files and whole outputs missing, lines cut or
folded, colours, prompts and blanks of other kinds, and put into other files.

A damage changes the text of some files and knows nothing of how they are read. Those of `KEPT` lose
nothing that a reader needs: the answer must be the same.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from checkout import DATA

WIDTHS = range(60, 133)
"""Columns of terminals, at which lines are cut and folded."""

COMMAND_LINE = re.compile(r"\bmqadmin(?:\.\w+)?[ \t]+(?P<command>[a-zA-Z]+)\b(?P<options>.*)")
_FILE_NAME = re.compile(
    r"(?P<command>topicRoute|topicStatus|consumer[A-Z][a-z]+)\.(?P<name>(?!(?:txt|json|log|out)$).+?)(?:\.(?:txt|json|log|out))?"
)
_SUBJECT = re.compile(r" -[gt] (\S+)")
_TOPIC_COMMANDS = ("topicRoute", "topicStatus")
_CLIENT_GROUP = re.compile(r"^consumerGroup +: (\S+)", re.MULTILINE)
_HEAD = re.compile(r"#\w[\w ]*?(?=  +#| #|\s*$)")
_NO_FACT = re.compile(r"^\s*(?:#.*|)$")


class OutputFile(NamedTuple):
    """A file that is given, by its path."""

    name: str
    text: str

    @property
    def base_name(self) -> str:
        """The name without its folders."""
        return self.name.rpartition("/")[2]


Files = tuple[OutputFile, ...]


class Damage(NamedTuple):
    """Files after a change of some kind.

    Attributes
    ----------
    kind : str
        A key of `KINDS`.
    where : str
        What was changed, such as a file and a line.
    files : tuple of OutputFile
    lost : str
        The row that is missing, or the lines that are cut.
    """

    kind: str
    where: str
    files: Files
    lost: str = ""


class Output(NamedTuple):
    """The output of one command; without its command line where none stands above it."""

    command_line: str | None
    lines: tuple[str, ...]

    @property
    def all_lines(self) -> tuple[str, ...]:
        """The command line and the output."""
        return self.lines if self.command_line is None else (self.command_line, *self.lines)


def outputs_of(text: str) -> list[Output]:
    """Return the outputs of a text: each command line begins one."""
    found: list[Output] = []
    command_line: str | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        if COMMAND_LINE.search(line):
            found.append(Output(command_line, tuple(lines)))
            command_line, lines = line, []
        else:
            lines.append(line)
    found.append(Output(command_line, tuple(lines)))
    return [output for output in found if output.command_line or any(output.lines)]


def text_of(outputs: list[Output]) -> str:
    """Return the text of outputs, one below the other."""
    return "\n".join(chain.from_iterable(output.all_lines for output in outputs))


def _with(files: Files, place: int, text: str) -> Files:
    changed = files[place]._replace(text=text)
    return (*files[:place], changed, *files[place + 1 :])


def _without(files: Files, place: int) -> Files:
    return files[:place] + files[place + 1 :]


# --- What is missing ---


def without_row(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each line that is neither blank nor a command line."""
    for place, file in enumerate(files):
        lines = file.text.split("\n")
        for number, line in enumerate(lines):
            if line.strip() and not COMMAND_LINE.search(line):
                rest = lines[:number] + lines[number + 1 :]
                yield f"{file.name}:{number + 1}", _with(files, place, "\n".join(rest))


def without_command_line(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each command line, while its output stays."""
    for place, file in enumerate(files):
        lines = file.text.split("\n")
        for number, line in enumerate(lines):
            if COMMAND_LINE.search(line):
                rest = lines[:number] + lines[number + 1 :]
                yield f"{file.name}:{number + 1}", _with(files, place, "\n".join(rest))


def without_json_entry(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each object of a list in JSON that mqadmin prints on several lines."""
    entry = re.compile(r"^\t\t\{\n(?:\t\t\t?.*\n)*?\t\t\},?\n", re.MULTILINE)
    for place, file in enumerate(files):
        for found in entry.finditer(file.text):
            before, after = file.text[: found.start()], file.text[found.end() :]
            if not found[0].endswith(",\n"):
                before = re.sub(r",\n\Z", "\n", before)
            line = file.text.count("\n", 0, found.start()) + 1
            yield f"{file.name}:{line}", _with(files, place, before + after)


def without_file(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each file, if there are several."""
    if len(files) > 1:
        for place, file in enumerate(files):
            yield file.name, _without(files, place)


def without_output(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each output below a command line, with this line."""
    for place, file in enumerate(files):
        outputs = outputs_of(file.text)
        for number, output in enumerate(outputs):
            if output.command_line and len(outputs) > 1:
                rest = outputs[:number] + outputs[number + 1 :]
                yield f"{file.name}: {output.command_line}", _with(files, place, text_of(rest))


def with_command_line_alone(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each output below a command line, which stays."""
    for place, file in enumerate(files):
        outputs = outputs_of(file.text)
        for number, output in enumerate(outputs):
            if output.command_line and any(output.lines):
                rest = [*outputs]
                rest[number] = Output(output.command_line, ("",))
                yield f"{file.name}: {output.command_line}", _with(files, place, text_of(rest))


def with_empty_file(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave a file without its text, as a command writes that failed."""
    for place, file in enumerate(files):
        yield file.name, _with(files, place, "")


def without_column(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each column of each table with a head, as ``cut -c`` does."""
    for place, file in enumerate(files):
        lines = file.text.split("\n")
        for number, line in enumerate(lines):
            heads = list(_HEAD.finditer(line)) if line.startswith("#") else []
            starts = [head.start() for head in heads]
            if len(starts) < 2:
                continue
            end = next((at for at in range(number, len(lines)) if not lines[at].strip()), None)
            for start, stop in zip(starts, [*starts[1:], None], strict=True):
                table = [row[:start] + (row[stop:] if stop else "") for row in lines[number:end]]
                rest = lines[:number] + table + (lines[end:] if end is not None else [])
                where = f"{file.name}:{number + 1} {line[start:stop].strip()}"
                yield where, _with(files, place, "\n".join(rest))


def without_word(files: Files) -> Iterator[tuple[str, Files]]:
    """Leave out each column of each table, with a head or without, as ``awk`` does that prints some
    fields.
    """
    for place, file in enumerate(files):
        lines = file.text.split("\n")
        for first, stop in _tables(lines):
            rows = [_cells(row) for row in lines[first:stop]]
            for column in range(max(map(len, rows))):
                table = [" ".join(row[:column] + row[column + 1 :]) for row in rows]
                rest = lines[:first] + table + lines[stop:]
                yield (
                    f"{file.name}:{first + 1} word {column + 1}",
                    _with(files, place, "\n".join(rest)),
                )


def _tables(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each table, and the one behind it."""
    first = None
    for number, line in enumerate([*lines, ""]):
        is_row = len(_cells(line)) > 2 and line[0] not in "{}[] \t" and ": " not in line
        is_row = is_row and not COMMAND_LINE.search(line)
        if is_row and first is None:
            first = number
        elif not is_row and first is not None:
            yield first, number
            first = None


def _cells(line: str) -> list[str]:
    return re.findall(r"#\w+(?: [A-Z]\w*)*|\S+", line)


# --- What a terminal, a mail or a chat makes of it ---


def cut(files: Files) -> Iterator[tuple[str, Files]]:
    """Cut all lines at each of the widths."""
    for width in WIDTHS:
        changed = _lines_changed(files, lambda line: line[:width])  # noqa: B023 (called at once)
        if changed != files:
            yield f"{width} columns", changed


def folded(files: Files) -> Iterator[tuple[str, Files]]:
    """Put what is behind each of the widths on lines of its own."""
    for width in WIDTHS:
        pieces = re.compile(f"(.{{{width}}})(?=.)")
        changed = _lines_changed(files, lambda line: pieces.sub(r"\1\n", line))  # noqa: B023
        if changed != files:
            yield f"{width} columns", changed


def _lines_changed(files: Files, change: Callable[[str], str]) -> Files:
    return tuple(
        file._replace(text="\n".join(map(change, file.text.split("\n")))) for file in files
    )


def _texts_changed(files: Files, change: Callable[[str], str]) -> Files:
    return tuple(file._replace(text=change(file.text)) for file in files)


def coloured(files: Files) -> Iterator[tuple[str, Files]]:
    """Colour words as ``grep --color``, ``ls --color`` and ``jq -C`` do."""
    words = {word for file in files for word in re.findall(r"[\w%@.-]{4,}", file.text)}
    frequent = sorted(
        words, key=lambda word: (-sum(word in f.text for f in files), len(word), word)
    )
    for word in frequent[:6]:
        painted = f"\x1b[01;31m\x1b[K{word}\x1b[m\x1b[K"
        yield f"grep {word}", _texts_changed(files, lambda text: text.replace(word, painted))  # noqa: B023
    cell = re.compile(r"(?<=\s)([^\s{}\[\]\",:]+)(?=\s)")
    yield "ls", _texts_changed(files, lambda text: cell.sub("\x1b[0m\x1b[01;34m\\1\x1b[0m", text))
    part = re.compile(r'("[^"\n]*"|[{}\[\],:]|\b\d+\b)')
    if any(file.text.lstrip().startswith("{") for file in files):
        yield (
            "jq",
            tuple(
                file._replace(text=part.sub("\x1b[0;32m\\1\x1b[0m", file.text))
                if file.text.lstrip().startswith("{")
                else file
                for file in files
            ),
        )


def prompted(files: Files) -> Iterator[tuple[str, Files]]:
    """Put a prompt before each line."""
    for prompt in ("> ", "$ ", "[root@mq-1 bin]# ", "sh-4.2$ "):
        yield prompt, _lines_changed(files, lambda line: prompt + line)  # noqa: B023


def with_other_blanks(files: Files) -> Iterator[tuple[str, Files]]:
    """Use no-break spaces, and spaces without a width."""
    yield "no-break", _texts_changed(files, lambda text: text.replace(" ", "\u00a0"))
    double = re.compile(" (?= )")
    yield "some no-break", _texts_changed(files, lambda text: double.sub("\u00a0", text))
    for name, character in (("U+200B", "\u200b"), ("U+FEFF", "\ufeff"), ("U+2060", "\u2060")):
        yield f"{name} at line starts", _lines_changed(files, lambda line: character + line)  # noqa: B023
        words = re.compile(r"(?<=\S)(?=\s)")
        yield f"{name} behind words", _texts_changed(files, lambda text: words.sub(character, text))  # noqa: B023


def with_other_line_ends(files: Files) -> Iterator[tuple[str, Files]]:
    """Use the marks of other systems: of UTF-8, of line ends."""
    yield "BOM", _texts_changed(files, lambda text: "\ufeff" + text.removeprefix("\ufeff"))
    yield "CR LF", _texts_changed(files, lambda text: re.sub(r"\r?\n", "\r\n", text))
    yield (
        "BOM, CR LF",
        _texts_changed(
            files, lambda text: "\ufeff" + re.sub(r"\r?\n", "\r\n", text.removeprefix("\ufeff"))
        ),
    )
    yield "blanks at line ends", _lines_changed(files, lambda line: line.rstrip("\r") + "   ")
    yield "no blanks at line ends", _lines_changed(files, lambda line: line.rstrip())
    yield "no line end at the end", _texts_changed(files, lambda text: text.rstrip("\n"))


# --- Other files ---


def in_another_order(files: Files) -> Iterator[tuple[str, Files]]:
    """Turn round the order of files, and of outputs in each."""
    if len(files) > 1:
        yield "files", files[::-1]
        yield "first file last", files[1:] + files[:1]
    for place, file in enumerate(files):
        outputs = outputs_of(file.text)
        if len(outputs) > 1 and all(output.command_line for output in outputs):
            text = text_of([*_ended(outputs[::-1])])
            yield file.name, _with(files, place, text)


def _ended(outputs: list[Output]) -> Iterator[Output]:
    """Yield outputs that end with an empty line."""
    for output in outputs:
        yield (
            output
            if not output.lines or not output.lines[-1]
            else Output(output.command_line, (*output.lines, ""))
        )


def in_one_file(files: Files) -> Iterator[tuple[str, Files]]:
    """Put all outputs into one file, each below its command line; also through a pipe."""
    found = []
    for file in files:
        for output in outputs_of(file.text):
            line = output.command_line or command_line_of(file)
            if line is None:
                return
            found.append(Output(line, output.lines))
    text = text_of([*_ended(found)])
    yield "one file", (OutputFile("all.txt", text),)
    yield "pipe", (OutputFile("-", text),)


def in_several_files(files: Files) -> Iterator[tuple[str, Files]]:
    """Put each output into a file of its own: named after its command, or with its command line."""
    outputs = [(file, output) for file in files for output in outputs_of(file.text)]
    if len(outputs) == len(files) or any(output.command_line is None for _, output in outputs):
        return
    kept = [
        OutputFile(f"{number}/{number}.txt", text_of([output]))
        for number, (_, output) in enumerate(outputs)
    ]
    yield "with command lines", tuple(kept)
    named = [_named_file(number, output) for number, (_, output) in enumerate(outputs)]
    yield "named", tuple(named)


def _named_file(number: int, output: Output) -> OutputFile:
    assert output.command_line is not None
    found = COMMAND_LINE.search(output.command_line)
    assert found is not None
    subject = _SUBJECT.search(found["options"])
    has_more = re.search(r" -[bic] ", found["options"]) or (
        found["command"] == "consumerProgress" and " -t " in found["options"]
    )
    is_name = subject is not None and re.fullmatch(r"[\w%.-]+", subject[1])
    if subject is None or has_more or not is_name:
        return OutputFile(f"{number}/{number}.txt", text_of([output]))
    return OutputFile(f"{number}/{found['command']}.{subject[1]}.txt", "\n".join(output.lines))


def command_line_of(file: OutputFile) -> str | None:
    """Return the command line that printed a file, as its name says or the file of a client does;
    None if neither does.
    """
    named = _FILE_NAME.fullmatch(file.base_name)
    group = _CLIENT_GROUP.search(file.text)
    if file.text.lstrip().startswith("#Consumer Properties#") and group:
        client = "" if named else f" -i {file.base_name}"
        return f"$ mqadmin consumerStatus -g {group[1]}{client} -n 10.0.0.1:9876"
    if file.base_name == "consumerProgress.txt":
        return "$ mqadmin consumerProgress -n 10.0.0.1:9876"
    if named is None:
        return None
    option = "-t" if named["command"] in _TOPIC_COMMANDS else "-g"
    more = " -s true" if "#Client IP" in file.text else ""
    more += " -l" if "#ClusterName" in file.text else ""
    return f"$ mqadmin {named['command']} {option} {named['name']}{more} -n 10.0.0.1:9876"


LOSING = {
    "row deleted": without_row,
    "command line deleted": without_command_line,
    "JSON entry deleted": without_json_entry,
    "file deleted": without_file,
    "file emptied": with_empty_file,
    "output and command line deleted": without_output,
    "output deleted, command line kept": with_command_line_alone,
    "column deleted": without_column,
    "word deleted": without_word,
    "cut": cut,
    "folded": folded,
}
"""Damages that lose something."""

KEPT = {
    "coloured": coloured,
    "prompted": prompted,
    "other blanks": with_other_blanks,
    "other line ends": with_other_line_ends,
    "another order": in_another_order,
    "one file": in_one_file,
    "several files": in_several_files,
}
"""Damages that keep the meaning."""

KINDS: dict[str, Callable[[Files], Iterator[tuple[str, Files]]]] = LOSING | KEPT


def damages(kind: str, files: Files) -> Iterator[Damage]:
    """Yield every damage of a kind."""
    for where, changed in KINDS[kind](files):
        if changed != files:
            yield Damage(kind, where, changed, _lost(kind, files, changed))


def _lost(kind: str, files: Files, changed: Files) -> str:
    """Return lines that are not there any more, where only lines are missing or cut."""
    if kind not in ("row deleted", "cut"):
        return ""
    lost = []
    for file, left in zip(files, changed, strict=True):
        if left is not file:
            rest = Counter(left.text.split("\n"))
            for line in file.text.split("\n"):
                if rest[line]:
                    rest[line] -= 1
                else:
                    lost.append(line)
    return "\n".join(lost)


# --- Undamaged ---


def given_cases() -> dict[str, Files]:
    """Return the outputs that the tests hold, by the name of the case: of every folder all files,
    and each file alone.
    """
    found: dict[str, Files] = {}
    for folder in sorted((DATA / "cases").glob("*/*")):
        if folder.is_dir() and not folder.name.startswith("."):
            found |= _of_folder(folder.relative_to(DATA / "cases").as_posix(), folder)
    found |= _of_folder("mqadmin", DATA / "mqadmin", skipped=("formats",))
    for folder in sorted((DATA / "mqadmin" / "formats").iterdir()):
        found |= _of_folder(f"formats/{folder.name}", folder, skipped=("failed", "with-clients"))
        for part in ("failed", "with-clients"):
            if (folder / part).is_dir():
                found |= _of_folder(f"formats/{folder.name}/{part}", folder / part)
    return found


_NO_OUTPUTS = ("RIGHT.txt", "RIGHT.md", "owns.json")
_OF_OTHER_CLUSTERS = ("allocateMQ", "consumerProgress.cut", "with_clients")


def _of_folder(name: str, folder: Path, skipped: tuple[str, ...] = ()) -> dict[str, Files]:
    """Return a folder's files together, and each of them alone; those that are not text are left
    out.
    """
    files = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and path.name not in _NO_OUTPUTS and relative.parts[0] not in skipped:
            with suppress(UnicodeDecodeError):
                files.append(OutputFile(relative.as_posix(), _text(path)))
    whole = tuple(file for file in files if not file.base_name.startswith(_OF_OTHER_CLUSTERS))
    found = {f"{name}/{file.name}": (file,) for file in files}
    return found | {name: whole} if len(whole) > 1 else found


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")
