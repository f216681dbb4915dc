"""Files: what people write, read by one strict dialect of YAML and JSON with errors at file, line
and column; and the one way to write any file.

``budget``
    How much is read of anything.
``source``
    Bytes with a name.
``yaml_text``, ``json_text``
    Text as plain data, and where in the text a piece of it stands. Both give the same data for the
    same content: a key given twice in one mapping is refused, and so is a number that is none (NaN,
    infinity).
``reading``
    A file of either as data, and errors in the data as errors at their place in the file.
``document_errors``
    What every error of a document knows.
``store``
    Files are written whole or not at all, on the disk, and put into place in one step.
``memory``
    Pauses of the garbage collector while much is made.
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
