"""What a machine-made mutant is, and its name."""

import hashlib
from typing import NamedTuple


class Edit(NamedTuple):
    """One change of a text.

    Attributes
    ----------
    scope : str
        Qualified name of the function around it; empty at the top of a file.
    operator : str
    start, end : int
        What is replaced, in characters of the file.
    new : str
    """

    scope: str
    operator: str
    start: int
    end: int
    new: str


class Mutant(NamedTuple):
    """An edit of one file.

    Attributes
    ----------
    key : str
        Its name: ``file::function::operator::n``, the n-th edit of this kind in the function. It
        does not change with code elsewhere.
    file : str
    line : int
    change : str
        The line before and after.
    edit : Edit
    """

    key: str
    file: str
    line: int
    change: str
    edit: Edit

    def rank(self, seed):
        """Its place in the sample of a seed: it depends on the name alone, so that new code moves
        few others.
        """
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()

    def applied(self, text):
        return text[: self.edit.start] + self.edit.new + text[self.edit.end :]


def line_of(text, start, end):
    """The whole lines around a part of a text, without blanks at the ends."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    return " ".join(text[first : last if last >= 0 else len(text)].split())


def named(file, text, edits):
    """Mutants of a file, in the order of the text."""
    seen, made = {}, []
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end, edit.operator)):
        kind = edit.scope, edit.operator
        seen[kind] = seen.get(kind, 0) + 1
        key = f"{file}::{edit.scope}::{edit.operator}::{seen[kind]}"
        after = text[: edit.start] + edit.new + text[edit.end :]
        old, new = (
            line_of(text, edit.start, edit.end),
            line_of(after, edit.start, edit.start + len(edit.new)),
        )
        line = text.count("\n", 0, edit.start) + 1
        made.append(Mutant(key, file, line, f"{old} -> {new}", edit))
    return made
