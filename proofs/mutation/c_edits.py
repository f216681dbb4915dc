"""Edits of C and Cython files, over their tokens: inside functions, beside comments, texts and
lines of the preprocessor.
"""

import re

from mutation.mutant import Edit

WORDS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "&": "|",
    "|": "&",
    "^": "|",
    "<<": ">>",
    ">>": "<<",
    "&&": "||",
    "||": "&&",
    "+=": "-=",
    "-=": "+=",
    "|=": "&=",
    "^=": "|=",
    "and": "or",
    "or": "and",
}
# An operator has a blank on both sides, which pointers, casts and memory views have not.
OPERATOR = re.compile(
    r"(?<= )(?:" + "|".join(map(re.escape, sorted(WORDS, key=len, reverse=True))) + r")(?= )"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
C_BLANKED = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*',
    re.S | re.M,
)
PYX_BLANKED = re.compile(r'r?""".*?"""|"(?:\\.|[^"\\\n])*"|#[^\n]*', re.S)
# `NAME(sort)(...)` is a function of a file that is compiled once for every instruction set.
C_FUNCTION = re.compile(
    r"(?:\b(?:NAME|ISA)\((\w+)\)|(\w+))\s*\([^;{}]*\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?$", re.S
)
PYX_FUNCTION = re.compile(r"^(?:cpdef|cdef|def)\b[^=\n]*?(\w+)\(", re.M)


def blanked(pattern, text):
    """The text with blanks for what is not to be changed, of the same length."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def c_bodies(text):
    """Name, start and end of every function's body."""
    depth, start = 0, 0
    for place in (match.start() for match in re.finditer(r"[{}]", text)):
        if text[place] == "{":
            start = place if depth == 0 else start
            depth += 1
        else:
            depth -= 1
            before = text[
                max(text.rfind("}", 0, start), text.rfind(";", 0, start)) + 1 : start
            ].strip()
            if depth == 0 and (name := C_FUNCTION.search(before)):
                yield name[1] or name[2], start, place


def pyx_bodies(text):
    """The same in Cython: from the end of the head, which is the first line that ends in a colon,
    to the next head.
    """
    heads = list(PYX_FUNCTION.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = re.compile(r":[ \t]*$", re.M).search(text, head.end())
        stop = following.start() if following else len(text)
        if body and body.end() < stop:
            yield head[1], body.end(), stop


def edits_of(file, text):
    """All edits of a file; some may not compile."""
    is_c = not file.endswith(".pyx")
    plain = blanked(C_BLANKED if is_c else PYX_BLANKED, text)
    for name, start, end in (c_bodies if is_c else pyx_bodies)(plain):
        for match in OPERATOR.finditer(plain, start, end):
            new = WORDS[match[0]]
            yield Edit(name, f"{match[0]} to {new}", match.start(), match.end(), new)
        for match in NUMBER.finditer(plain, start, end):
            yield Edit(name, "constant + 1", match.start(), match.end(), str(int(match[0]) + 1))
