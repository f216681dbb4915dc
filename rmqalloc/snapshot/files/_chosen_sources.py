"""Which of the given sources make the snapshot: outputs of tools are joined, a document of a
snapshot stands alone, and what is left out is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rmqalloc.documents import DocumentError, Source
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files import outputs
from rmqalloc.snapshot.files._file_forms import AUTO, OUTPUTS, form_of, form_or_none, is_snapshot
from rmqalloc.snapshot.files.given_sources import GivenSource
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.text import counted

_MOST_NAMED = 20
"""Files that are left out and named, each in a warning of its own."""


class LeftOut(NamedTuple):
    """A source that is not in the snapshot, and why, as a sentence that names it."""

    source: Source
    reason: str


class ChosenSources(NamedTuple):
    """The sources that make one snapshot, all of one form."""

    form: str
    sources: tuple[Source, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why sources are left out, of many the first ones."""
        reasons = [entry.reason for entry in self.left_out[:_MOST_NAMED]]
        if n_more := len(self.left_out) - len(reasons):
            reasons.append(f"{counted(n_more, 'more file is', 'more files are')} left out")
        return tuple(reasons)


class _Formed(NamedTuple):
    """A source whose form is known."""

    source: Source
    form: str
    is_in_folder: bool


def chosen_sources(given: Sequence[GivenSource], form: str = AUTO) -> ChosenSources:
    """Return the sources that make the snapshot.

    Parameters
    ----------
    given : sequence of GivenSource
    form : str
        The form of all of them, or ``auto``.

    Raises
    ------
    SnapshotError
        If none of them can be read, or a document of a snapshot is given beside another source.
    """
    if len(given) == 1 and given[0].problem is None:
        source = given[0].source
        return ChosenSources(form_of(source) if form == AUTO else form, (source,))
    found = [_formed(entry, form) for entry in given]
    formed = [entry for entry in found if isinstance(entry, _Formed)]
    left_out = [entry for entry in found if isinstance(entry, LeftOut)]
    return _chosen(formed, left_out)


def not_read(source: Source) -> str:
    """Return why a file of unknown form is not read, as a sentence that names it."""
    return f"{source.name}: {outputs.not_read(source.text(), source.path)}; it is left out"


def _formed(given: GivenSource, form: str) -> _Formed | LeftOut:
    """Return a source with its form, or why it is left out."""
    source = given.source
    if given.problem is not None:
        return LeftOut(source, f"{source.name}: {given.problem}; it is left out")
    if form != AUTO:
        return _Formed(source, form, given.is_in_folder)
    try:
        found = form_or_none(source)
        is_read = found == OUTPUTS or (found is not None and is_snapshot(source, found))
    except DocumentError as error:
        return LeftOut(source, f"{error}; it is left out")
    if found is None or not is_read:
        return LeftOut(source, not_read(source))
    return _Formed(source, found, given.is_in_folder)


def _chosen(formed: list[_Formed], left_out: list[LeftOut]) -> ChosenSources:
    documents = [entry for entry in formed if entry.form != OUTPUTS]
    joined = tuple(entry.source for entry in formed if entry.form == OUTPUTS)
    if not formed:
        raise SnapshotError(_nothing(left_out))
    if not documents:
        return ChosenSources(OUTPUTS, joined, tuple(left_out))
    if joined and all(entry.is_in_folder for entry in documents):
        left_out = [*left_out, *map(_beside_outputs, documents)]
        return ChosenSources(OUTPUTS, joined, tuple(left_out))
    if len(formed) > 1:
        raise SnapshotError(_several(formed))
    return ChosenSources(documents[0].form, (documents[0].source,), tuple(left_out))


def _beside_outputs(document: _Formed) -> LeftOut:
    source = document.source
    reason = f"{source.name}: a snapshot ({document.form}) is not joined with outputs of tools"
    return LeftOut(source, f"{reason}; it is left out")


def _several(formed: list[_Formed]) -> str:
    first_documents = sorted(formed, key=lambda entry: entry.form == OUTPUTS)
    shown = [f"{entry.source.name} ({entry.form})" for entry in first_documents]
    return f"several files are allowed for outputs of tools only; give one file, got {named(shown)}"


def _nothing(left_out: list[LeftOut]) -> str:
    if not left_out:
        return "several files are allowed for outputs of tools only; give one file, got none"
    first, *others = left_out
    if not others:
        return first.reason
    return f"nothing can be read of {named([entry.source.name for entry in left_out], 10)}; {first.reason}"
