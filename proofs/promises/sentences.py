"""Sentences of a page or of a docstring, and which of them a user relies on."""

import re
from itertools import groupby

WORDS = (
    *(
        "always",
        "never",
        "exactly",
        "at (?:most|least)",
        "no more than",
        "only if",
        "only once",
        "nothing else",
    ),
    *(
        "refuse[sd]?",
        "rejects?",
        "is an error",
        "are errors",
        r"fails the \w+",
        "is ignored",
        "(?:is|are) left out",
    ),
    *(
        r"ends with (?:exit code )?\d",
        r"exit codes? \d",
        r"exit codes?: \d",
        "the exit code",
        r"exit \d",
    ),
    *(
        "equal (?:bytes|files|output|answers|seeds)",
        "bit-exact",
        "byte for byte",
        "lossless",
        "(?:is|are) exact",
    ),
    *(
        "read-only",
        "not written",
        "nothing is written",
        "writes? nothing",
        "none is lost",
        "nothing is left behind",
    ),
    *(
        r"cannot (?:inject|send|change|exhaust|be made)",
        "the least possible",
        "(?:is|are) bounded",
        "worst first",
    ),
    *("whole or not at all", "that suggests", "no queue is"),
)
"""Words by which a sentence states what is so without exception."""
RELIED_ON = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
FENCE = re.compile(r"^([ \t]*)(```|~~~).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
HEADING = re.compile(r"^\|.*\n\|[-:| ]+\|$|^#.*$", re.MULTILINE)
BLOCK = re.compile(r"\n\s*\n|(?=^\s*(?:[-*+]|\d+\.) )|(?=^\|)|^(?::::|!!!).*$", re.MULTILINE)
BULLET = re.compile(r"^(?:[-*+]|\d+\.)\s+")
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\))?")
END = re.compile(r"(?<=[.!?])[*)]*\s+(?=[A-Z`\"'(\[*-])")
EXAMPLE = re.compile(r"^[ \t]*>>>.*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


def plain(text):
    """Return a text without the marks of Markdown, and with one blank where it has several."""
    return " ".join(re.sub(r"[`*\\]", "", LINK.sub(r"\1", text)).split())


def of_page(text):
    """Yield the sentences of a page; a row of a table is one, code and headings are left out."""
    for mark in (FENCE, COMMENT, HEADING, EXAMPLE):
        text = mark.sub("", text)
    for block in map(str.strip, BLOCK.split(text)):
        if block.startswith("|"):
            cells = re.split(r"(?<!\\)\|", block.strip("|"))
            yield " — ".join(filter(None, map(plain, cells)))
        else:
            yield from filter(None, map(plain, END.split(BULLET.sub("", block))))


def of_docstring(text):
    """Yield the sentences of a docstring: of its paragraphs, and of what stands below a name in its
    sections.
    """
    for paragraph in re.split(r"\n\s*\n|^\s*-{3,}$", EXAMPLE.sub("", text), flags=re.MULTILINE):
        lines = paragraph.strip("\n").splitlines()
        for _, block in groupby(lines, lambda line: len(line) - len(line.lstrip())):
            yield from filter(None, map(plain, END.split(" ".join(block))))
