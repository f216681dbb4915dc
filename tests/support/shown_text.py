"""What pages show: files, commands and their output."""

import re

FILE = re.compile(r"^<!-- file: ([^\n]*?) -->\n\n?```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def files(page: str) -> dict[str, str]:
    """Return the files that a page shows, by name.

    >>> files("<!-- file: a.txt -->\\n```text\\nb\\n```\\n")
    {'a.txt': 'b\\n'}
    """
    return {found[1]: found[2] for found in FILE.finditer(page)}


def commands(page: str) -> list[tuple[str, str]]:
    """Return the commands of rmqalloc that a page shows, each with its output."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("rmqalloc "):
                found.append((command.partition(" #")[0].strip(), output.strip("\n")))
    return found


def fits(shown: str, printed: str) -> bool:
    """Return True if a page shows what was printed, except for blanks and dots.

    >>> fits("a  b\\n... d", "a b c d"), fits("a", "b")
    (True, False)
    """
    pattern = r"\s+".join(re.escape(word) for word in shown.split()).replace(
        re.escape("..."), ".*?"
    )
    return re.fullmatch(rf"\s*{pattern}\s*", printed, re.DOTALL) is not None
