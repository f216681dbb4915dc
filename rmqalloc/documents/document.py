"""Documents: the data of a YAML or JSON file, and errors in the data as errors at their place in
the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import json_text, yaml_text
from rmqalloc.documents.document_errors import DocumentError, TextError
from rmqalloc.documents.source import Source, read_source

FORMS = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
"""What a file holds by the end of its name."""

SCHEMA = "$schema"
"""A key that every document may have, for editors: where its JSON Schema is. It is left out of the data."""

_LANGUAGES = {"json": json_text, "yaml": yaml_text}


@dataclass(frozen=True)
class Document:
    """Data of a file.

    Attributes
    ----------
    source : Source
        The file.
    form : {"json", "yaml"}
    data : object
        Mappings (with text as keys), lists, text, whole numbers, finite floats, booleans and None.
    """

    source: Source
    form: str
    data: Any

    def located(self, error: DocumentError) -> DocumentError:
        """Return an error in the data as an error of the file, with the line and column of its
        parts.
        """
        return self.source.error(
            str(error), *_LANGUAGES[self.form].place(self.source.text(), error.parts)
        )

    def places(self, key: str) -> list[tuple[int, int]]:
        """Return lines and columns of the elements of the list under a key."""
        text = self.source.text()
        return yaml_text.places(text, key) if self.form == "yaml" else json_text.places(text, key)


def read_document(
    path: str | os.PathLike[str],
    error: type[DocumentError],
    otherwise: str = "json",
    words: bool = False,
) -> Document:
    """Read a YAML or JSON file; the suffix selects the format.

    Parameters
    ----------
    path : path
    error : type of DocumentError
        Class of the error to raise if the file cannot be read.
    otherwise : {"json", "yaml"}
        Format of a file with any other suffix.
    words : bool
        As `parse`.

    Raises
    ------
    OSError
        The file cannot be read.
    DocumentError
        As ``error``: it is not of its form, has a key twice, or is too large; the message names
        file, line and column.
    ModuleNotFoundError
        It is YAML, and PyYAML is not installed.
    """
    form = FORMS.get(Path(path).suffix.lower(), otherwise)
    return parse(read_source(Path(path), error), form, words)


def parse(source: Source, form: str, words: bool = False) -> Document:
    """Return the data of a file.

    Parameters
    ----------
    source : Source
        Its ``error_class`` is what is raised.
    form : {"json", "yaml"}
    words : bool
        In YAML, keep numbers, true and false as text: a password of digits may begin with a zero.

    Raises
    ------
    DocumentError, ModuleNotFoundError
        As `read_document`.

    Examples
    --------
    >>> parse(Source("s.yaml", b"on: [no, 010, 1_000, 12:30, 2026-01-01, 10]"), "yaml").data
    {'on': ['no', '010', '1_000', '12:30', '2026-01-01', 10]}
    >>> parse(Source("s.json", b'{"a": 1,\\n "a": 2}'), "json")
    Traceback (most recent call last):
    rmqalloc.documents.document_errors.DocumentError: s.json:2:2: key 'a' is given twice, first in line 1; give it once
    """
    text = source.text()
    try:
        data = yaml_text.loads(text, words) if form == "yaml" else json_text.loads(text)
    except TextError as error:
        raise source.error(error.what, error.line, error.column) from None
    if isinstance(data, dict):
        data.pop(SCHEMA, None)
    return Document(source, form, data)
