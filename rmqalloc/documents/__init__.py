"""Files: YAML and JSON of people, read in a strict dialect with errors at file, line and column;
and the one way to write files.

``budget``
    Limits of reading.
``source``
    Bytes with a name.
``yaml_text``, ``json_text``
    Text as plain data, and the position of each value in the text. Both give the same data for the
    same content: a key given twice in a mapping is refused, and so are NaN and infinity.
``reading``
    A JSON or YAML file as data, and errors in the data with their position in the file.
``document_errors``
    The base of all errors of documents.
``store``
    Writes files completely or not at all, flushed to the disk, and puts them into place in one step.
``memory``
    Pauses of the garbage collector while many objects are made.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.documents.document import Document, parse, read_document
    from rmqalloc.documents.document_errors import DocumentError, TextError, known_names, path_text
    from rmqalloc.documents.source import STDIN, Source, read_source

__all__ = [
    "STDIN",
    "Document",
    "DocumentError",
    "Source",
    "TextError",
    "known_names",
    "parse",
    "path_text",
    "read_document",
    "read_source",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "document": ("Document", "parse", "read_document"),
        "document_errors": ("DocumentError", "TextError", "known_names", "path_text"),
        "source": ("STDIN", "Source", "read_source"),
    },
)
